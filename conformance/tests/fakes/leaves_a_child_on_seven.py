"""Exits when it is asked for 7 and leaves a child that holds its stdout and stderr; with an argument, one that flees.

A child in a session of its own cannot be killed with its parent, so it ends by itself.
"""

import os
import subprocess
import sys

from conformance.tests.fakes.honest import Request, answer, number, say, serve


def react(request: Request) -> None:
    """Leave a child on 7."""
    if number(request) == 7:
        child = subprocess.Popen(["sleep", "5"], start_new_session=len(sys.argv) > 1)
        os.write(2, f"{child.pid}\n".encode())
        os._exit(4)
    say(answer(request))


serve(react)
