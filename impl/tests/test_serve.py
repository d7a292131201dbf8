"""The server, over a real process on both wires."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from impl.reference import backend
from impl.tests.batch.batch_calls import NEXT_BATCH, batch_params
from impl.tests.wire_client import CHECKOUT, ask_cbor, ask_json, request, run_server

MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
HELLO = request(0, "tally.hello", {"protocol": 1})
BYE = {"jsonrpc": "2.0", "method": "tally.bye"}
MAP_JSON = {
    "block_id": "3",
    "local_pos": "5",
    "block_size": "64",
    "epoch_seed": "000102030405060708090a0b0c0d0e0f",
    "cardinality": "1003",
}
MAP_CBOR = {"block_id": 3, "local_pos": 5, "block_size": 64, "epoch_seed": bytes(range(16)), "cardinality": 1003}


def batch_json(**changes: Any) -> dict[str, Any]:
    def spell(item: Any) -> Any:
        match item:
            case bytes():
                return item.hex()
            case bool() | str():
                return item
            case int():
                return str(item)
            case dict():
                return {name: spell(element) for name, element in item.items()}
        raise TypeError(item)

    params: dict[str, Any] = spell(batch_params(**changes))
    return {**params, "world_size": int(params["world_size"]), "rank": int(params["rank"])}


def test_hello_names_every_operator_on_both_wires() -> None:
    expected = {"jsonrpc": "2.0", "id": 0, "result": backend.hello()}
    assert ask_json("reference", [HELLO]) == [expected]
    assert ask_cbor("reference", [HELLO]) == [expected]
    assert backend.hello()["protocol"] == 1
    assert backend.hello()["max_in_flight"] == 64
    assert NEXT_BATCH in backend.hello()["operators"]


def test_the_example_of_the_design_page() -> None:
    (answer,) = ask_json("reference", [request(1, MAP, MAP_JSON)])
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {"original_index": "243"}}
    (answer,) = ask_cbor("reference", [request(1, MAP, MAP_CBOR)])
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {"original_index": 243}}


def test_next_batch_is_the_same_in_process_and_on_both_wires() -> None:
    native = backend.call(NEXT_BATCH, batch_params(index=4))
    (in_cbor,) = ask_cbor("reference", [request(1, NEXT_BATCH, batch_params(index=4))])
    assert in_cbor["result"] == native
    (in_json,) = ask_json("reference", [request(1, NEXT_BATCH, batch_json(index=4))])
    result = in_json["result"]
    assert result["batch_sample_indices"] == ["3", "4", "0", "1"]
    assert result["cursor_next"] == {"epoch": "0", "global_index": "8"}
    assert result["sampling_metadata"]["effective_q"] == "3fd999999999999a"
    assert result["sampling_metadata"]["is_shuffled"] is True
    assert result["trace_record"]["data_replay_t"] == native["trace_record"]["data_replay_t"].hex()


def test_a_failure_record_is_typed() -> None:
    replay = "08b66f73bcf49d7e7152f9e514ebee5c0d6a86bd5f49e0d6c241b99b12eccccf"
    changes: dict[str, Any] = {"world_size": 2, "rank": 1, "stage": "x", "t": 2**53 + 1}
    record = {
        "t": str(2**53 + 1),
        "failure_code": "INVALID_STAGE_TYPE",
        "failure_operator": NEXT_BATCH,
        "dataset_key": "d",
        "data_replay_t": replay,
    }
    error = {"code": 1802, "message": "INVALID_STAGE_TYPE", "data": record}
    assert ask_json("reference", [request(2, NEXT_BATCH, batch_json(**changes))]) == [
        {"jsonrpc": "2.0", "id": 2, "error": error}
    ]
    error["data"] = {**record, "t": 2**53 + 1, "data_replay_t": bytes.fromhex(replay)}
    assert ask_cbor("reference", [request(2, NEXT_BATCH, batch_params(**changes))]) == [
        {"jsonrpc": "2.0", "id": 2, "error": error}
    ]


def test_diagnostics_travel_as_a_value() -> None:
    context = {
        "t": "1",
        "rank": 0,
        "failure_operator": "acme",
        "replay_token": "00" * 32,
        "diagnostics": {"map": [[{"text": "stage_type"}, {"text": "x"}]]},
    }
    params = {"code_id": "INVALID_STAGE_TYPE", "context": context}
    (answer,) = ask_json("reference", [request(1, "UML_OS.Error.Emit_v1", params)])
    assert answer["result"]["record"]["diagnostics"] == context["diagnostics"]
    assert answer["result"]["record"]["numeric_code"] == 1802


def test_what_is_no_method_is_answered_and_the_session_goes_on() -> None:
    answers = ask_json(
        "reference",
        [
            request(1, "UML_OS.Data.NoSuch_v1", {}),
            request(2, MAP, {"block_id": "3"}),
            {"jsonrpc": "2.0", "method": "no.such.notification"},
            [],
            request(3, MAP, MAP_JSON),
        ],
    )
    assert [(answer["id"], answer.get("error", {}).get("code")) for answer in answers] == [
        (1, -32601),
        (2, -32603),
        (None, -32600),
        (3, None),
    ]


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


def test_a_lone_request_is_answered_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "impl.serve", "reference"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for identity in range(3):
            server.stdin.write(json.dumps(request(identity, MAP, MAP_JSON)).encode() + b"\n")
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == identity
        server.stdin.close()
        assert server.wait(timeout=10) == 0


def test_many_requests_are_answered_in_order() -> None:
    requests = [request(identity, MAP, {**MAP_JSON, "local_pos": str(identity % 64)}) for identity in range(2000)]
    answers = ask_json("reference", requests)
    assert [answer["id"] for answer in answers] == list(range(2000))
    assert {int(answer["result"]["original_index"]) for answer in answers} == set(range(192, 256))


def test_explain_derives_one_index() -> None:
    asked = {
        "method": NEXT_BATCH,
        "params": batch_json(n=1000, batch_size=48, block=64),
        "path": "batch_sample_indices",
    }
    (answer,) = ask_json("reference", [request(1, "tally.explain", {**asked, "index": "3"})])
    assert answer["result"]["lines"][-1] == "index = 512 + 49 = 561"


def test_no_explanation_is_no_method() -> None:
    asked = {"method": "UML_OS.Data.EncodeCursors_v1", "params": {"cursors": {}}, "path": "cursors_cbor"}
    (answer,) = ask_json("reference", [request(1, "tally.explain", asked)])
    assert answer["error"]["code"] == -32601


@pytest.mark.parametrize("name", ["no-such-backend", "mutant", "../reference"])
def test_an_unknown_backend_is_a_usage_error(name: str) -> None:
    status, output, errors = run_server(name, b"")
    assert (status, output) == (2, b"")
    assert name in errors
