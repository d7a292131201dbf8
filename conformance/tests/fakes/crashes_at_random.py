"""Exits on one call in fifteen, whichever."""

import os
import random

from conformance.tests.fakes.honest import Request, answer, say, serve


def react(request: Request) -> None:
    """Crash now and then."""
    if random.randrange(15) == 0:
        os._exit(1)
    say(answer(request))


serve(react)
