"""Closes its stdout and runs on when it is asked for 7."""

import os
import time

from conformance.tests.fakes.honest import Request, answer, number, say, serve


def react(request: Request) -> None:
    """Fall silent for good on 7."""
    if number(request) == 7:
        os.close(1)
        time.sleep(60)
    say(answer(request))


serve(react)
