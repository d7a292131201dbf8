"""Prints on stdout before it says hello."""

from conformance.tests.fakes.honest import answer, say, serve

say(b"Loading checkpoint shards: 100%\n")
serve(lambda request: say(answer(request)))
