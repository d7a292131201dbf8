"""Answers honestly and has something to add when it is told to leave."""

from conformance.tests.fakes.honest import answer, say, serve

serve(lambda request: say(answer(request)))
say(b"Goodbye!\n")
