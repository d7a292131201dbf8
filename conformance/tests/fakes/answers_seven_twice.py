"""Answers 7 twice: at once, or with an argument only after that many seconds."""

import sys
import time

from conformance.tests.fakes.honest import Request, answer, number, say, serve


def react(request: Request) -> None:
    """Repeat itself on 7."""
    say(answer(request))
    if number(request) == 7:
        time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
        say(answer(request))


serve(react)
