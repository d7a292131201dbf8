"""The laws of streams go red for a stream that is wrong in one way."""

from __future__ import annotations

from checks.laws.stream import FIRING_COUNTS
from conformance.tests.law_breakers.spoilt import Memory, Native, Sin, answers

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


def never_asks(inputs: Native, result: Native, memory: Memory) -> Native:
    return {name: value for name, value in result.items() if name != "wants_item"}


def no_warnings_of_an_iterator(inputs: Native, result: Native, memory: Memory) -> Native:
    if "wants_item" in result:
        memory[inputs["handle"]] = True
    return {**result, "warnings": []} if inputs["handle"] in memory else result


def of_32_bits(inputs: Native, result: Native, memory: Memory) -> Native:
    return {**result, "chunk": {**result["chunk"], "chunk_id": result["chunk"]["chunk_id"] % 2**32}}


def one_more(inputs: Native, result: Native, memory: Memory) -> Native:
    return {"counts": [count + 1 for count in result["counts"]]}


SINS: list[Sin] = [
    answers("stream-no-gap-no-overlap", "a token missing", CHUNK, shortened, "the chunks of 1 ranks"),
    answers("stream-no-gap-no-overlap", "ids from 0", CHUNK, from_zero, "chunk_id is 0, not 1"),
    answers("stream-no-gap-no-overlap", "no boundary", CHUNK, no_boundary, "document_boundary is"),
    answers("stream-no-gap-no-overlap", "places apart", POSITION, counted_calls, "the positions of rank 1"),
    answers("stream-sources-alike", "other tokens", CHUNK, turned_round_for_others, "chunks from the source 'file'"),
    answers("stream-sources-alike", "another hash", CURSOR, other_hash_for_others, "the cursor over the source 'file'"),
    answers("stream-sources-alike", "no item asked for", CHUNK, never_asks, "chunks from the source 'iterator'"),
    answers("stream-kinds-alike", "other tokens", CHUNK, turned_round_for_others, "a whole source with the file"),
    answers("stream-kinds-alike", "no warnings", CHUNK, no_warnings_of_an_iterator, "over an iterator"),
    answers("stream-shuffle-keeps-slices", "slices turned round", CHUNK, turned_round, "the slices of pass 1"),
    answers("stream-shuffle-keeps-slices", "one pass for ever", CHUNK, the_first, "in one order"),
    answers("stream-restored-alike", "ids begin anew", CHUNK, ids_anew_for_others, "what a restored stream says"),
    answers("stream-far-on", "ids of 32 bits", CHUNK, of_32_bits, "4294967296 more: the chunk: chunk_id is"),
    answers("firing-counts-add-up", "one more", FIRING_COUNTS, one_more, "cut after 1 tokens"),
    answers("stream-restore-goes-on", "ids begin anew", CHUNK, ids_anew_for_others, "after save 1, restored"),
    answers(
        "stream-refusal-changes-nothing",
        "another chunk",
        CHUNK,
        late_mistake,
        "the live stream after a refused restore",
    ),
]
