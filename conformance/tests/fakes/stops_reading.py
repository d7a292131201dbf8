"""Says hello and reads nothing more."""

import time

from conformance.tests.fakes.honest import answer, requests, say

for request in requests():
    say(answer(request))
    time.sleep(60)
