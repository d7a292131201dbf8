"""Says hello and then writes on stderr without end; with an argument it answers between the lines."""

import os
import sys

from conformance.tests.fakes.honest import Request, answer, say, serve


def react(request: Request) -> None:
    """Complain."""
    while True:
        for _ in range(16):
            os.write(2, b"deprecated! " * 5000)
        if len(sys.argv) > 1:
            return say(answer(request))


serve(react)
