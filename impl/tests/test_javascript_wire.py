"""The wire of the JavaScript backend: framing, JSON-RPC's own errors, pipelining and the end of the process."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import cbor2
import pytest

from impl.tests.javascript_checkpoint import (
    COMMIT,
    ENCODE_CANONICAL,
    MIGRATE,
    READ,
    RECOVER,
    RESTORE,
    SERIALIZE,
    VALIDATE,
    VALIDATE_CANONICAL,
    WRITE,
)
from impl.tests.javascript_process import (
    DECODE,
    EMIT,
    ENCODE,
    MAP,
    MAX,
    NEXT_BATCH,
    PERMUTE,
    SEED,
    SUMMARIZE,
    Backend,
    Json,
    Small,
    batch_inputs,
    map_inputs,
)

SERIALIZATION = [ENCODE_CANONICAL, VALIDATE_CANONICAL]
CHECKPOINTING = [VALIDATE, SERIALIZE, RESTORE, WRITE, READ, COMMIT, RECOVER, MIGRATE]


@pytest.fixture(scope="module", params=["json", "cbor"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    started = Backend(request.param)
    yield started
    assert started.finish() == 0


@pytest.fixture(params=["json", "cbor"])
def fresh(request: pytest.FixtureRequest) -> Iterator[Backend]:
    started = Backend(request.param)
    yield started
    if started.process.poll() is None:
        started.process.kill()
    started.finish()


def test_hello_declares_the_operators(backend: Backend) -> None:
    assert backend.call("tally.hello", {"protocol": Small(1)}) == {
        "protocol": 1,
        "name": "tallystick-javascript",
        "version": "1.0.0",
        "language": "JavaScript",
        "wires": ["json", "cbor"],
        "operators": [NEXT_BATCH, PERMUTE, MAP, SUMMARIZE, ENCODE, DECODE, EMIT, *SERIALIZATION, *CHECKPOINTING],
        "max_in_flight": 64,
    }


def test_the_errors_of_json_rpc_keep_the_id(backend: Backend) -> None:
    assert backend.refuse("UML_OS.Data.NoSuchOperator_v1", {})["code"] == -32601
    assert backend.refuse("constructor", {})["code"] == -32601
    assert backend.refuse(PERMUTE, {"num_blocks": 3})["code"] == -32602
    assert backend.refuse(ENCODE, {"cursors": {"d": {"epoch": 1}}})["code"] == -32602


@pytest.mark.parametrize("line", [b"garbage", b'{"id":1', b'"\xff"', b"\x00", b'{"id":1,}'])
def test_a_malformed_line_is_answered_and_the_next_one_served(line: bytes) -> None:
    backend = Backend("json")
    backend.send(line + b"\n")
    answer = backend.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert backend.ask("tally.hello", {})["result"]["protocol"] == 1
    assert backend.finish() == 0


@pytest.mark.parametrize("line", [b"[]", b"7", b"null", b'{"id":5,"method":7}', b'{"jsonrpc":"2.0","id":5}'])
def test_a_message_that_is_no_request_is_invalid(line: bytes) -> None:
    backend = Backend("json")
    backend.send(line + b"\n")
    assert backend.receive()["error"]["code"] == -32600
    assert backend.finish() == 0


def test_a_notification_is_not_answered(fresh: Backend) -> None:
    fresh.send(fresh.encode({"jsonrpc": "2.0", "method": "tally.unheard_of"}))
    assert fresh.ask("tally.hello", {})["result"]["protocol"] == 1


def test_bye_ends_the_process_while_stdin_stays_open(fresh: Backend) -> None:
    fresh.send(fresh.request(1, "tally.hello", {}) + fresh.encode({"jsonrpc": "2.0", "method": "tally.bye"}))
    assert fresh.receive()["id"] == 1
    assert fresh.process.wait(timeout=20) == 0


def test_an_answer_does_not_wait_for_the_next_request(fresh: Backend) -> None:
    fresh.send(
        fresh.request(1, "tally.hello", {}) + fresh.request(2, PERMUTE, {"num_blocks": 8, "epoch_seed": SEED})[:9]
    )
    assert fresh.receive()["id"] == 1


def test_messages_may_come_byte_by_byte(fresh: Backend) -> None:
    messages = fresh.request(1, NEXT_BATCH, batch_inputs()) + fresh.request(2, DECODE, {"cursors_cbor": b"\xa0"})
    for position in range(len(messages)):
        fresh.send(messages[position : position + 1])
    assert [fresh.receive()["id"], fresh.receive()["id"]] == [1, 2]


def test_the_last_message_needs_no_newline() -> None:
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


def test_thousands_of_small_requests_are_pipelined(fresh: Backend) -> None:
    answers = pipeline(fresh, 5000, lambda i: fresh.request(i, MAP, map_inputs(0, i % 7, 7, 7)))
    assert [answer["id"] for answer in answers] == list(range(5000))
    cycle = [2, 0, 5, 3, 1, 6, 4]
    assert all(int(a["result"]["original_index"]) == cycle[a["id"] % 7] for a in answers)


def test_large_messages_pass_in_both_directions(fresh: Backend) -> None:
    cursors = {f"dataset {number:06}": {"epoch": number, "global_index": MAX} for number in range(30_000)}
    expected = cbor2.dumps(cursors, canonical=True)
    answers = pipeline(fresh, 3, lambda i: fresh.request(i, ENCODE, {"cursors": cursors}))
    assert all(answer["result"] == fresh.form({"cursors_cbor": expected}) for answer in answers)


def test_sixteen_large_answers_survive_a_slow_reader(fresh: Backend) -> None:
    inputs = batch_inputs(10**9, 2**16, None, stage="eval")
    answers = pipeline(fresh, 16, lambda i: fresh.request(i, NEXT_BATCH, inputs))
    expected = fresh.form(list(range(2**16)))
    assert all(answer["result"]["batch_sample_indices"] == expected for answer in answers)


def test_a_message_of_indefinite_length_is_understood() -> None:
    backend = Backend("cbor")
    entries = {"jsonrpc": "2.0", "id": 1, "method": PERMUTE}
    head = b"\xbf" + b"".join(cbor2.dumps(key) + cbor2.dumps(held) for key, held in entries.items())
    params = b"\xbf" + cbor2.dumps("num_blocks") + b"\x08" + cbor2.dumps("epoch_seed")
    chunks = b"\x5f\x48" + SEED[:8] + b"\x48" + SEED[8:] + b"\xff"
    backend.send(head + cbor2.dumps("params") + params + chunks + b"\xff\xff")
    assert backend.receive()["result"] == {"block_order": [0, 7, 4, 3, 6, 2, 1, 5]}
    assert backend.finish() == 0


def test_a_cbor_item_that_is_no_message_is_answered() -> None:
    backend = Backend("cbor")
    assert backend.ask("tally.hello", {})["result"]["protocol"] == 1
    backend.send(b"\x07" + b"\x81\x61\xff")
    assert [backend.receive()["error"]["code"] for _ in range(2)] == [-32600, -32700]
    assert backend.ask("tally.hello", {})["result"]["protocol"] == 1
    assert backend.finish() == 0


@pytest.mark.parametrize("garbage", [b"\x1c", b"\xff", b"\x82\x01\xff"])
def test_a_lost_cbor_sequence_is_reported_and_ends_with_status_1(garbage: bytes) -> None:
    backend = Backend("cbor")
    assert backend.ask("tally.hello", {})["result"]["protocol"] == 1
    backend.send(garbage)
    answer = backend.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert backend.process.wait(timeout=20) == 1
    backend.finish()
