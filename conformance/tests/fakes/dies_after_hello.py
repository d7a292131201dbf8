"""Says hello and exits."""

from conformance.tests.fakes.honest import answer, requests, say

for request in requests():
    say(answer(request))
    break
