"""Reads everything and never says a word; with an argument it begins one."""

import sys

from conformance.tests.fakes.honest import requests, say

for _ in requests():
    if len(sys.argv) > 1:
        say(sys.argv[1].encode())
