"""The wire of the JavaScript backend: framing, the errors of JSON-RPC, and the end of the process."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import cbor2
import pytest

from impl.tests.javascript.javascript_process import Backend, Native, Value
from impl.wire.json_form import write_value

SEED = bytes(range(16))
PERMUTE = "UML_OS.Data.SeededBlockPermute_v1"
ENCODE = "UML_OS.Data.EncodeCursors_v1"
EMIT = "UML_OS.Error.Emit_v1"
ENCODE_CANONICAL = "UML_OS.Serialization.EncodeCanonical_v1"


@pytest.fixture(scope="module", params=["json", "cbor"])
def backend(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    """One process over each wire, which every test leaves ready for the next."""
    tool("node")
    started = Backend(request.param)
    yield started
    assert started.finish() == 0


@pytest.fixture(params=["json", "cbor"])
def ending(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    """A process that the test ends."""
    tool("node")
    started = Backend(request.param)
    yield started
    started.finish()


def test_the_errors_of_json_rpc_keep_the_id(backend: Backend) -> None:
    assert backend.refuse("UML_OS.Data.NoSuchOperator_v1", {})["code"] == -32601
    assert backend.refuse("constructor", {})["code"] == -32601
    assert backend.refuse(PERMUTE, {"num_blocks": 3})["code"] == -32602
    assert backend.refuse(ENCODE, {"cursors": {"d": {"epoch": 1}}})["code"] == -32602


@pytest.mark.parametrize("line", [b"garbage", b'{"id":1', b'"\xff"', b"\x00", b'{"id":1,}'])
def test_a_malformed_line_is_answered_and_the_next_one_served(javascript: Backend, line: bytes) -> None:
    javascript.send(line + b"\n")
    answer = javascript.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert javascript.ask("tally.hello", {})["result"]["protocol"] == 1


@pytest.mark.parametrize("line", [b"[]", b"7", b"null", b'{"id":5,"method":7}', b'{"jsonrpc":"2.0","id":5}'])
def test_a_message_that_is_no_request_is_invalid(javascript: Backend, line: bytes) -> None:
    javascript.send(line + b"\n")
    assert javascript.receive()["error"]["code"] == -32600


def test_a_notification_is_not_answered(backend: Backend) -> None:
    backend.send(backend.encode({"jsonrpc": "2.0", "method": "tally.unheard_of"}))
    assert backend.ask("tally.hello", {})["result"]["protocol"] == 1


def test_bye_ends_the_process_while_stdin_stays_open(ending: Backend) -> None:
    ending.send(ending.request(1, "tally.hello", {}) + ending.encode({"jsonrpc": "2.0", "method": "tally.bye"}))
    assert ending.receive()["id"] == 1
    assert ending.process.wait(timeout=20) == 0


def test_messages_may_come_byte_by_byte(backend: Backend) -> None:
    asked = {"num_blocks": 8, "epoch_seed": SEED}
    messages = backend.request(1, "tally.hello", {}) + backend.request(2, PERMUTE, asked)
    for position in range(len(messages)):
        backend.send(messages[position : position + 1])
    assert backend.receive()["id"] == 1
    assert backend.receive()["result"] == {"block_order": backend.form([0, 7, 4, 3, 6, 2, 1, 5])}


@pytest.mark.parametrize("ending", ["json"], indirect=True)
def test_the_last_message_needs_no_newline(ending: Backend) -> None:
    ending.send(ending.request(1, "tally.hello", {}).rstrip())
    ending.input.close()
    assert ending.receive()["id"] == 1
    assert ending.finish() == 0


def test_large_messages_pass_in_both_directions(backend: Backend) -> None:
    cursors = {f"dataset {number:06}": {"epoch": number, "global_index": 2**64 - 1} for number in range(5_000)}
    expected = cbor2.dumps(cursors, canonical=True)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(backend.send, backend.request(1, ENCODE, {"cursors": cursors}) * 3)
        answers = [backend.receive() for _ in range(3)]
        sent.result()
    assert all(answer["result"] == backend.form({"cursors_cbor": expected}) for answer in answers)


@pytest.mark.parametrize("ending", ["cbor"], indirect=True)
def test_a_message_of_indefinite_length_is_understood(ending: Backend) -> None:
    entries = {"jsonrpc": "2.0", "id": 1, "method": PERMUTE}
    head = b"\xbf" + b"".join(cbor2.dumps(key) + cbor2.dumps(held) for key, held in entries.items())
    params = b"\xbf" + cbor2.dumps("num_blocks") + b"\x08" + cbor2.dumps("epoch_seed")
    chunks = b"\x5f\x48" + SEED[:8] + b"\x48" + SEED[8:] + b"\xff"
    ending.send(head + cbor2.dumps("params") + params + chunks + b"\xff\xff")
    assert ending.receive()["result"] == {"block_order": [0, 7, 4, 3, 6, 2, 1, 5]}
    ending.send(b"\x07" + b"\x81\x61\xff")  # items that are no message
    assert [ending.receive()["error"]["code"] for _ in range(2)] == [-32600, -32700]
    assert ending.ask("tally.hello", {})["result"]["protocol"] == 1


@pytest.mark.parametrize("ending", ["cbor"], indirect=True)
@pytest.mark.parametrize("garbage", [b"\x1c", b"\x82\x01\xff"])
def test_a_lost_cbor_sequence_is_reported_and_ends_with_status_1(ending: Backend, garbage: bytes) -> None:
    assert ending.ask("tally.hello", {})["result"]["protocol"] == 1
    ending.send(garbage)
    answer = ending.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert ending.process.wait(timeout=20) == 1


@pytest.mark.parametrize(
    "item", [(("a", 1), ("a", 1)), 2**64, -(2**64) - 1, "\ud800", [(("\udfff", 1),)], ((1, 2),), ((b"a", 2),)]
)
def test_an_item_that_only_json_can_carry_is_refused(javascript: Backend, item: Native) -> None:
    failure = javascript.refuse(ENCODE_CANONICAL, {"item": Value(item)})
    assert failure["data"] == {"failure_code": "CONTRACT_VIOLATION", "failure_operator": ENCODE_CANONICAL}


@pytest.mark.parametrize(
    ("code", "diagnostics"),
    [
        ("constructor", {}),
        ("INVALID_DATASET_KEY", (("dataset_key", "d"), ("dataset_key", "d"))),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 2**64, "world_size": 1}),
    ],
    ids=["of-every-object", "repeated", "too-large"],
)
def test_diagnostics_that_only_json_can_carry_are_refused(javascript: Backend, code: str, diagnostics: Native) -> None:
    context = {"t": "1", "rank": 3, "failure_operator": EMIT, "replay_token": (SEED * 2).hex()}
    params = {"code_id": code, "context": {**context, "diagnostics": write_value(diagnostics)}}
    failure = javascript.ask_form(EMIT, params)["error"]
    assert failure["data"] == {"failure_code": "CONTRACT_VIOLATION", "failure_operator": EMIT}


@pytest.mark.parametrize("ending", ["cbor"], indirect=True)
def test_an_item_far_too_deep_is_answered_on_both_wires(javascript: Backend, ending: Backend) -> None:
    levels = 100_000
    item = '{"array":[' * levels + '{"int":"0"}' + "]}" * levels
    line = f'{{"jsonrpc":"2.0","id":1,"method":"{ENCODE_CANONICAL}","params":{{"item":{item}}}}}\n'
    javascript.send(line.encode())
    assert javascript.receive()["error"]["code"] == 1801
    template = ending.request(1, ENCODE_CANONICAL, {"item": Value("here")})
    deep = b"\x81" * levels + b"\x82\x9f\x00\xff\xbf\x61a\x5f\x41\x00\xff\xff"
    ending.send(template.replace(cbor2.dumps("here"), deep))
    assert ending.receive()["error"]["code"] == 1801
