"""Answers honestly and lists an operator that no contract describes, and one of them twice."""

from conformance.tests.fakes.honest import HELLO, answer, say, serve

serve(lambda request: say(answer(request)), {**HELLO, "operators": ["Echo_v1", "Nobody_v9", "Echo_v1"]})
