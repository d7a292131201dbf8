"""The wire of the JavaScript backend: framing, JSON-RPC's own errors, pipelining and the end of the process."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cbor2
import pytest

from impl.tests.javascript.javascript_process import (
    DECODE,
    EMIT,
    ENCODE,
    MAP,
    MAX,
    NEXT_BATCH,
    PERMUTE,
    SEED,
    Backend,
    Json,
    Native,
    Small,
    Value,
    batch_inputs,
    map_inputs,
)

SPEC = Path(__file__).parents[3] / "spec"
ENCODE_CANONICAL = "UML_OS.Serialization.EncodeCanonical_v1"
WHOLE_FAMILIES = ["data", "error", "serialization", "checkpoint"]


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


def test_hello_declares_the_operators(backend: Backend) -> None:
    said = backend.call("tally.hello", {"protocol": Small(1)})
    operators = said.pop("operators")
    assert said == {
        "protocol": 1,
        "name": "tallystick-javascript",
        "version": "1.0.0",
        "language": "JavaScript",
        "wires": ["json", "cbor"],
        "max_in_flight": 64,
    }
    contracts = {file.stem for family in WHOLE_FAMILIES for file in (SPEC / family).glob("UML_OS.*_v[0-9].yaml")}
    assert contracts <= set(operators)
    assert len(operators) == len(set(operators))


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


def test_an_answer_does_not_wait_for_the_next_request(backend: Backend) -> None:
    following = backend.request(2, PERMUTE, {"num_blocks": 8, "epoch_seed": SEED})
    backend.send(backend.request(1, "tally.hello", {}) + following[:9])
    assert backend.receive()["id"] == 1
    backend.send(following[9:])
    assert backend.receive()["id"] == 2


def test_messages_may_come_byte_by_byte(backend: Backend) -> None:
    messages = backend.request(1, NEXT_BATCH, batch_inputs()) + backend.request(2, DECODE, {"cursors_cbor": b"\xa0"})
    for position in range(len(messages)):
        backend.send(messages[position : position + 1])
    assert [backend.receive()["id"], backend.receive()["id"]] == [1, 2]


def test_the_last_message_needs_no_newline(tool: Callable[[str], str]) -> None:
    tool("node")
    backend = Backend("json")
    backend.send(backend.request(1, "tally.hello", {}).rstrip())
    backend.input.close()
    assert backend.receive()["id"] == 1
    assert backend.finish() == 0


def pipeline(backend: Backend, count: int, request: Callable[[int], bytes]) -> list[Json]:
    """Send all requests from another thread while the answers are read."""
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(backend.send, b"".join(map(request, range(count))))
        answers = [backend.receive() for _ in range(count)]
        sent.result()
    return answers


def test_thousands_of_small_requests_are_pipelined(backend: Backend) -> None:
    answers = pipeline(backend, 2000, lambda i: backend.request(i, MAP, map_inputs(0, i % 7, 7, 7)))
    assert [answer["id"] for answer in answers] == list(range(2000))
    cycle = [2, 0, 5, 3, 1, 6, 4]
    assert all(int(a["result"]["original_index"]) == cycle[a["id"] % 7] for a in answers)


def test_large_messages_pass_in_both_directions(backend: Backend) -> None:
    cursors = {f"dataset {number:06}": {"epoch": number, "global_index": MAX} for number in range(5_000)}
    expected = cbor2.dumps(cursors, canonical=True)
    answers = pipeline(backend, 3, lambda i: backend.request(i, ENCODE, {"cursors": cursors}))
    assert all(answer["result"] == backend.form({"cursors_cbor": expected}) for answer in answers)


def test_sixteen_large_answers_survive_a_slow_reader(backend: Backend) -> None:
    inputs = batch_inputs(10**9, 2**15, None, stage="eval")
    answers = pipeline(backend, 16, lambda i: backend.request(i, NEXT_BATCH, inputs))
    expected = backend.form(list(range(2**15)))
    assert all(answer["result"]["batch_sample_indices"] == expected for answer in answers)


@pytest.fixture
def cbor(tool: Callable[[str], str]) -> Iterator[Backend]:
    """A process over CBOR."""
    tool("node")
    started = Backend("cbor")
    yield started
    started.finish()


def test_a_message_of_indefinite_length_is_understood(cbor: Backend) -> None:
    entries = {"jsonrpc": "2.0", "id": 1, "method": PERMUTE}
    head = b"\xbf" + b"".join(cbor2.dumps(key) + cbor2.dumps(held) for key, held in entries.items())
    params = b"\xbf" + cbor2.dumps("num_blocks") + b"\x08" + cbor2.dumps("epoch_seed")
    chunks = b"\x5f\x48" + SEED[:8] + b"\x48" + SEED[8:] + b"\xff"
    cbor.send(head + cbor2.dumps("params") + params + chunks + b"\xff\xff")
    assert cbor.receive()["result"] == {"block_order": [0, 7, 4, 3, 6, 2, 1, 5]}
    cbor.send(b"\x07" + b"\x81\x61\xff")  # items that are no message
    assert [cbor.receive()["error"]["code"] for _ in range(2)] == [-32600, -32700]
    assert cbor.ask("tally.hello", {})["result"]["protocol"] == 1


@pytest.mark.parametrize("garbage", [b"\x1c", b"\x82\x01\xff"])
def test_a_lost_cbor_sequence_is_reported_and_ends_with_status_1(cbor: Backend, garbage: bytes) -> None:
    assert cbor.ask("tally.hello", {})["result"]["protocol"] == 1
    cbor.send(garbage)
    answer = cbor.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert cbor.process.wait(timeout=20) == 1


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
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": MAX + 1, "world_size": 1}),
    ],
    ids=["of-every-object", "repeated", "too-large"],
)
def test_diagnostics_that_only_json_can_carry_are_refused(javascript: Backend, code: str, diagnostics: Native) -> None:
    context = {"t": 1, "rank": Small(3), "failure_operator": EMIT, "replay_token": SEED * 2}
    inputs = {"code_id": code, "context": {**context, "diagnostics": Value(diagnostics)}}
    assert javascript.refuse(EMIT, inputs)["data"] == {"failure_code": "CONTRACT_VIOLATION", "failure_operator": EMIT}


def test_an_item_far_too_deep_is_answered_on_both_wires(javascript: Backend, cbor: Backend) -> None:
    levels = 100_000
    item = '{"array":[' * levels + '{"int":"0"}' + "]}" * levels
    line = f'{{"jsonrpc":"2.0","id":1,"method":"{ENCODE_CANONICAL}","params":{{"item":{item}}}}}\n'
    javascript.send(line.encode())
    assert javascript.receive()["error"]["code"] == 1801
    template = cbor.request(1, ENCODE_CANONICAL, {"item": Value("here")})
    deep = b"\x81" * levels + b"\x82\x9f\x00\xff\xbf\x61a\x5f\x41\x00\xff\xff"
    cbor.send(template.replace(cbor2.dumps("here"), deep))
    assert cbor.receive()["error"]["code"] == 1801
