"""The laws of streams go red for a stream that is wrong in one way."""

from __future__ import annotations

from conformance.tests.spoilt_backend import Memory, Native, Sin, Wrong, breaks, each_of
from conformance.trial.laws.stream import FIRING_COUNTS

CHUNK, POSITION, CURSOR = "Stream.NextChunk", "Stream.Position", "Stream.Cursor"


def chunk_with(result: Native, **others: object) -> Native:
    return {**result, "chunk": {**result["chunk"], **others}} if "chunk" in result else result


def shortened(inputs: Native, result: Native, memory: Memory) -> Native:
    return chunk_with(result, tokens=result["chunk"]["tokens"][:-1]) if "chunk" in result else result


def from_zero(inputs: Native, result: Native, memory: Memory) -> Native:
    return chunk_with(result, chunk_id=result["chunk"]["chunk_id"] - 1) if "chunk" in result else result


def no_boundary(inputs: Native, result: Native, memory: Memory) -> Native:
    return chunk_with(result, document_boundary=False)


def counted_calls(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    return {**result, "position": result["position"] + memory["calls"]}


def the_first(inputs: Native, result: Native, memory: Memory) -> Native:
    return memory.setdefault("first", result)  # type: ignore[no-any-return]


def turned_round(inputs: Native, result: Native, memory: Memory) -> Native:
    return chunk_with(result, tokens=result["chunk"]["tokens"][::-1]) if "chunk" in result else result


def turned_round_for_others(inputs: Native, result: Native, memory: Memory) -> Native:
    first = memory.setdefault("handle", inputs["handle"])
    return result if inputs["handle"] == first else turned_round(inputs, result, memory)


def other_hash_for_others(inputs: Native, result: Native, memory: Memory) -> Native:
    if inputs["handle"] == memory.setdefault("handle", inputs["handle"]):
        return result
    return {"cursor": {**result["cursor"], "content_hash": result["cursor"]["content_hash"] ^ 1}}


def ids_anew_for_others(inputs: Native, result: Native, memory: Memory) -> Native:
    if inputs["handle"] == memory.setdefault("handle", inputs["handle"]) or "chunk" not in result:
        return result
    memory[inputs["handle"]] = memory.get(inputs["handle"], 0) + 1
    return chunk_with(result, chunk_id=memory[inputs["handle"]])


def late_mistake(inputs: Native, result: Native, memory: Memory) -> Native:
    first = memory.setdefault("handle", inputs["handle"])
    memory["calls"] = memory.get("calls", 0) + (inputs["handle"] == first)
    return result if memory["calls"] < 3 or inputs["handle"] != first else turned_round(inputs, result, memory)


def one_more(inputs: Native, result: Native, memory: Memory) -> Native:
    return {"counts": [count + 1 for count in result["counts"]]}


STREAM: list[Sin] = [
    ("stream-no-gap-no-overlap", "a token missing", Wrong(answer=shortened, operator=CHUNK), "the chunks of 1 ranks"),
    ("stream-no-gap-no-overlap", "ids from 0", Wrong(answer=from_zero, operator=CHUNK), "chunk_id is 0, not 1"),
    ("stream-no-gap-no-overlap", "no boundary", Wrong(answer=no_boundary, operator=CHUNK), "document_boundary is"),
    ("stream-no-gap-no-overlap", "places apart", Wrong(answer=counted_calls, operator=POSITION), "where rank 1 stands"),
    (
        "stream-sources-alike",
        "other tokens",
        Wrong(answer=turned_round_for_others, operator=CHUNK),
        "the chunks from a file",
    ),
    (
        "stream-sources-alike",
        "another hash",
        Wrong(answer=other_hash_for_others, operator=CURSOR),
        "the cursor over a file",
    ),
    (
        "stream-shuffle-keeps-slices",
        "slices turned round",
        Wrong(answer=turned_round, operator=CHUNK),
        "the slices of pass 1",
    ),
    ("stream-shuffle-keeps-slices", "one pass for ever", Wrong(answer=the_first, operator=CHUNK), "in one order"),
    ("firing-counts-add-up", "one more", Wrong(answer=one_more, operator=FIRING_COUNTS), "cut after 1 tokens"),
    (
        "stream-restore-goes-on",
        "ids begin anew",
        Wrong(answer=ids_anew_for_others, operator=CHUNK),
        "after save 1, restored",
    ),
    (
        "stream-refusal-changes-nothing",
        "another chunk",
        Wrong(answer=late_mistake, operator=CHUNK),
        "the live stream after a refused restore",
    ),
]


@each_of(STREAM)
def test_a_wrong_backend_breaks_the_law(law: str, wrong: Wrong, said: str) -> None:
    assert breaks(law, wrong, said)
