"""Answers 7 with the right id and otherwise in a way that JSON-RPC does not know; the argument names the way."""

import sys
from typing import Any

from conformance.tests.fakes.honest import Request, answer, number, say, serve

WAYS: dict[str, dict[str, Any]] = {
    "result_and_error": {"jsonrpc": "2.0", "result": {}, "error": {"code": 1, "message": "x"}},
    "neither": {"jsonrpc": "2.0"},
    "no_version": {"result": {"n": "7"}},
    "another_version": {"jsonrpc": "1.0", "result": {"n": "7"}},
    "unknown_member": {"jsonrpc": "2.0", "result": {"n": "7"}, "time": 3},
    "error_as_text": {"jsonrpc": "2.0", "error": "no"},
    "error_null": {"jsonrpc": "2.0", "error": None, "result": None},
    "error_with_unknown_member": {"jsonrpc": "2.0", "error": {"code": 1, "message": "x", "trace": []}},
}


def react(request: Request) -> None:
    """Depart from JSON-RPC on 7."""
    say({"id": request["id"], **WAYS[sys.argv[1]]} if number(request) == 7 else answer(request))


if __name__ == "__main__":
    serve(react)
