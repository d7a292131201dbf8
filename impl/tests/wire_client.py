"""A client of `python -P -m impl.serve`, for tests."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from impl.wire.cbor_form import decode_item, encode_item

CHECKOUT = Path(__file__).parents[2]


def run_server(name: str, data: bytes, environment: Mapping[str, str] | None = None) -> tuple[int, bytes, str]:
    """Return exit status, stdout and stderr of a server that was fed all of `data`."""
    finished = subprocess.run(
        [sys.executable, "-P", "-m", "impl.serve", name],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **(environment or {})},
    )
    return finished.returncode, finished.stdout, finished.stderr.decode("utf-8")


def ask_json(name: str, messages: Sequence[object], environment: Mapping[str, str] | None = None) -> list[Any]:
    """Return the answers to JSON messages; the server must end well."""
    data = b"".join(json.dumps(message).encode("utf-8") + b"\n" for message in messages)
    status, output, errors = run_server(name, data, environment)
    assert status == 0, errors
    return [json.loads(line) for line in output.splitlines()]


def ask_cbor(name: str, messages: Sequence[object]) -> list[Any]:
    """Return the answers to messages that travel as a CBOR sequence; the server must end well."""
    status, output, errors = run_server(name, b"".join(encode_item(message) for message in messages))
    assert status == 0, errors
    answers, position = [], 0
    while position < len(output):
        answer, position = decode_item(output, position)
        answers.append(answer)
    return answers


def request(identity: int, method: str, params: object) -> dict[str, object]:
    """Return a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
