"""What a backend does that answers every call with its own inputs; the fakes depart from it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

Request = dict[str, Any]
Answer = dict[str, Any]
HELLO: Answer = {"protocol": 1, "name": "fake", "operators": ["Echo_v1"], "max_in_flight": 8}


def requests() -> Iterator[Request]:
    """Every request until tally.bye or the end of the input."""
    begun = b""
    while chunk := os.read(0, 1 << 16):
        *lines, begun = (begun + chunk).split(b"\n")
        for line in lines:
            request: Request = json.loads(line)
            if request["method"] == "tally.bye":
                return
            yield request


def say(message: Answer | bytes) -> None:
    """Write one message, or bytes as they are."""
    data = memoryview(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(1, data) :]


def answer(request: Request) -> Answer:
    """The honest answer."""
    result = HELLO if request["method"] == "tally.hello" else request["params"]
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def number(request: Request) -> int:
    """The number that an Echo_v1 call brings."""
    return int(request["params"]["n"])


def serve(react: Callable[[Request], None], hello: Answer = HELLO) -> None:
    """Say hello honestly and leave the calls to `react`."""
    for request in requests():
        if request["method"] == "tally.hello":
            say({"jsonrpc": "2.0", "id": request["id"], "result": hello})
        else:
            react(request)
