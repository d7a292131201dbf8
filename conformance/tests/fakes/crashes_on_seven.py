"""Exits with status 3 when it is asked for 7."""

import os

from conformance.tests.fakes.honest import Request, answer, number, say, serve


def react(request: Request) -> None:
    """Crash on 7."""
    if number(request) == 7:
        os.write(2, b"seven is too much for me\n")
        os._exit(3)
    say(answer(request))


serve(react)
