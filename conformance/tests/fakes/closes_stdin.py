"""Says hello, closes its stdin and stays."""

import os
import time

from conformance.tests.fakes.honest import answer, requests, say

for request in requests():
    os.close(0)
    say(answer(request))
    time.sleep(60)
