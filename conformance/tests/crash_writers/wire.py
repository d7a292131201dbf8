"""The wire for the writers: one request per line, one answer per line, nothing else on stdout."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

NUMBERS = {"META_MISSING": 1202, "CONTRACT_VIOLATION": 1801}
Operator = Callable[..., dict[str, Any]]


class Refused(Exception):
    """A contract failure."""


def serve(operators: Mapping[str, Operator], after: Callable[[], None] = lambda: None) -> None:
    """Answer until bye or the end of the input; `after` runs once an answer is out."""
    hello = {"protocol": 1, "name": "writer", "operators": sorted(operators), "max_in_flight": 8}
    begun = b""
    while chunk := os.read(0, 1 << 16):
        *lines, begun = (begun + chunk).split(b"\n")
        for line in lines:
            request = json.loads(line)
            method, answer = request["method"], {"jsonrpc": "2.0", "id": request.get("id")}
            if method == "tally.bye":
                return
            if method == "tally.hello":
                answer["result"] = hello
            else:
                try:
                    answer["result"] = operators[method](**request["params"])
                except Refused as refused:
                    code = str(refused)
                    data = {"failure_code": code, "failure_operator": method}
                    answer["error"] = {"code": NUMBERS.get(code, 0), "message": code, "data": data}
            os.write(1, json.dumps(answer).encode() + b"\n")
            after()


def style(known: Mapping[str, object]) -> str:
    """The style that the command line names."""
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(known)}")
    return sys.argv[1]
