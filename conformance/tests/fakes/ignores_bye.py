"""Answers honestly and stays when it is told to leave."""

import time

from conformance.tests.fakes.honest import answer, requests, say

for request in requests():
    say(answer(request))
time.sleep(60)
