"""Answers everything but 7, as if nobody had asked."""

from conformance.tests.fakes.honest import Request, answer, number, say, serve


def react(request: Request) -> None:
    """Pass over 7."""
    if number(request) != 7:
        say(answer(request))


serve(react)
