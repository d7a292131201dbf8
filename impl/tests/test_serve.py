"""The server over a real process, asked what `tally run` does not ask."""

import json

import pytest

from impl.tests.wire_client import ask_json, request, run_server

MAP = "UML_OS.Data.SeededIntraBlockMap_v1"

HELLO = request(0, "tally.hello", {"protocol": 1})
BYE = {"jsonrpc": "2.0", "method": "tally.bye"}
MAP_JSON = {"block_id": "3", "local_pos": "5", "block_size": "64", "epoch_seed": "00" * 16, "cardinality": "1003"}


def test_what_is_no_method_is_answered_and_the_session_goes_on() -> None:
    unknown, incomplete = request(1, "UML_OS.Data.NoSuch_v1", {}), request(2, MAP, {"block_id": "3"})
    notification = {"jsonrpc": "2.0", "method": "no.such.notification"}
    cursors = {"method": "UML_OS.Data.EncodeCursors_v1", "params": {"cursors": {}}, "path": "cursors_cbor"}
    unexplained = request(4, "tally.explain", cursors)
    answers = ask_json("reference", [unknown, incomplete, notification, [], request(3, MAP, MAP_JSON), unexplained])
    codes = [(answer["id"], answer.get("error", {}).get("code")) for answer in answers]
    assert codes == [(1, -32601), (2, -32603), (None, -32600), (3, None), (4, -32601)]


def test_a_line_that_is_not_json_is_a_parse_error() -> None:
    status, output, _ = run_server("reference", b"{nonsense\n" + json.dumps(HELLO).encode() + b"\n")
    first, second = (json.loads(line) for line in output.splitlines())
    assert status == 0
    assert first["error"]["code"] == -32700
    assert second["id"] == 0


def test_nothing_is_answered_after_bye() -> None:
    assert ask_json("reference", [HELLO, BYE, HELLO]) == ask_json("reference", [HELLO])


def test_an_empty_input_ends_the_server() -> None:
    assert run_server("reference", b"")[:2] == (0, b"")


@pytest.mark.parametrize("name", ["no-such-backend", "mutant", "../reference"])
def test_an_unknown_backend_is_a_usage_error(name: str) -> None:
    status, output, errors = run_server(name, b"")
    assert (status, output) == (2, b"")
    assert name in errors
