"""Never answers when it is asked for 7, nor anything after it."""

import time

from conformance.tests.fakes.honest import Request, answer, number, say, serve


def react(request: Request) -> None:
    """Sleep on 7."""
    if number(request) == 7:
        time.sleep(60)
    say(answer(request))


serve(react)
