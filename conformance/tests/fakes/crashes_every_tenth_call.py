"""Exits on every tenth call of a process, whatever it is asked."""

import os
from itertools import count

from conformance.tests.fakes.honest import Request, answer, say, serve

calls = count(1)


def react(request: Request) -> None:
    """Crash on the tenth."""
    if next(calls) == 10:
        os._exit(1)
    say(answer(request))


serve(react)
