"""Answers honestly and has something to add when it is told to leave; the argument ends what it says."""

import sys

from conformance.tests.fakes.honest import answer, say, serve

serve(lambda request: say(answer(request)))
say(b"Goodbye!" + sys.argv[1].encode())
