"""Is ended by a signal when it is asked for 7."""

import os
import signal

from conformance.tests.fakes.honest import Request, answer, number, say, serve


def react(request: Request) -> None:
    """Die on 7."""
    if number(request) == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    say(answer(request))


serve(react)
