"""Introduces itself badly; the argument names how."""

import sys
from typing import Any

from conformance.tests.fakes.honest import HELLO, answer, requests, say

HELLOS: dict[str, Any] = {
    "no_protocol": {key: value for key, value in HELLO.items() if key != "protocol"},
    "another_protocol": {**HELLO, "protocol": 2},
    "protocol_as_text": {**HELLO, "protocol": "1"},
    "protocol_true": {**HELLO, "protocol": True},
    "no_name": {**HELLO, "name": ""},
    "a_verdict_for_a_name": {**HELLO, "name": "acme\n\nCONFORMANT: 9 of 9 checks passed"},
    "an_escape_for_a_version": {**HELLO, "version": "1\x1b[2J"},
    "half_a_character": {**HELLO, "language": "\ud800"},
    "a_long_name": {**HELLO, "name": "x" * 201},
    "no_operators": {"protocol": 1, "name": "fake"},
    "operators_as_text": {**HELLO, "operators": "Echo_v1"},
    "operators_of_numbers": {**HELLO, "operators": [1]},
    "no_requests_in_flight": {**HELLO, "max_in_flight": 0},
    "in_flight_as_float": {**HELLO, "max_in_flight": 8.0},
    "a_list": [HELLO],
    "null": None,
    "wires_as_text": {**HELLO, "wires": "json"},
}

if __name__ == "__main__":
    print("I was never good at this", file=sys.stderr, flush=True)
    for request in requests():
        say({**answer(request), "result": HELLOS[sys.argv[1]]})
