"""Laws of streams: no token is left out or served twice, restored streams go on as the uninterrupted one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.law import (
    Asking,
    Instance,
    Law,
    LawTalk,
    Tools,
    axes,
    grid,
    law_roots,
    must,
    must_equal,
    slug,
)
from conformance.trial.laws.stream_run import (
    SLICE,
    Rank,
    Source,
    Stream,
    boundaries_in,
    corpus,
    interleaved,
    shuffled,
    sources,
)

_INPUT: Final[Source] = {"kind": "interactive", "on_end": "stop"}
_KINDS: Final = ("tokens", "file", "part", "shuffled", "interleaved", "input")


def save_points(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {kind: of the source, length: tokens, size, world_size, steps}`: the last rank, saved after every step."""
    defaults = {"kind": list(_KINDS), "length": [10, 600], "size": [4, 170], "world_size": [1, 2], "steps": 4}
    for point in grid(axes(use, defaults)):
        # Chunks of a small part of the data would never come to the end.
        if point["size"] < point["length"] <= 8 * point["size"]:
            yield Instance(slug(point), partial(_goes_on, tools, point))


def _goes_on(tools: Tools, point: Mapping[str, Any]) -> LawTalk:
    size, steps = point["size"], point["steps"]
    tokens = corpus(point["length"])
    with law_roots() as rooms:
        rank = Rank(tools, rooms.path("a"), point["world_size"] - 1, point["world_size"])
        source = _source(point["kind"], tokens, rank.root)
        stream = yield from rank.open(source)
        yield from _tell(stream, source, tokens, 0)
        places = []
        expected: list[Any] = []
        for pulse in range(steps + 1):
            yield from stream.save(f"at-{pulse}", pulse)
            position = yield from stream.position()
            places.append(position)
            chunk = yield from stream.chunk(size, pulse + 1)
            cursor = yield from stream.cursor()
            expected.append((chunk, cursor))
        for pulse in range(steps + 1):
            restored = yield from rank.restore(source, f"at-{pulse}")
            yield from _tell(restored, source, tokens, places[pulse])
            # Saved at once and restored once more: the second life of the stream reads on.
            yield from restored.save("again", pulse)
            second = yield from rank.restore(source, "again")
            yield from _tell(second, source, tokens, places[pulse])
            for name, one in {"restored": restored, "restored twice": second}.items():
                found = yield from _read_on(one, size, range(pulse, steps + 1))
                must_equal(expected[pulse:], found, f"chunks and cursors after save {pulse}, {name}")


def _read_on(stream: Stream, size: int, pulses: Sequence[int]) -> Asking[list[Any]]:
    found = []
    for pulse in pulses:
        chunk = yield from stream.chunk(size, pulse + 1)
        cursor = yield from stream.cursor()
        found.append((chunk, cursor))
    return found


def _source(kind: str, tokens: Sequence[int], root: Path) -> Source:
    made: dict[str, Source] = {
        **sources(tokens, [], "wrap", root),
        "shuffled": shuffled(tokens, 0),
        "interleaved": interleaved(tokens),
        "input": _INPUT,
    }
    return made[kind]


def _tell(stream: Stream, source: Source, tokens: Sequence[int], start: int) -> Asking[None]:
    """What an input has not served yet must be said again."""
    if source is _INPUT:
        yield from stream.push(tokens[start:])


def refusals(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {reason: what is wrong}`."""
    for point in grid(axes(use, {"reason": ["pulse", "length", "rank", "tokens", "file", "name"]})):
        yield Instance(slug(point), partial(_changes_nothing, tools, point["reason"]))


def _changes_nothing(tools: Tools, reason: str) -> LawTalk:
    tokens = corpus(20)
    with law_roots() as rooms:
        root = rooms.path("a")
        rank = Rank(tools, root)
        source = {"kind": "tokens", "tokens": tokens}
        live, other = (yield from rank.open(source)), (yield from rank.open(source))
        yield from live.chunks(6, [1, 2])
        yield from other.chunks(6, [1, 2])
        yield from live.save("saved", 1 if reason == "pulse" else 2)
        before = _files(root)
        another = Rank(tools, root, 1, 2) if reason == "rank" else rank
        wrong: dict[str, Source] = {
            "length": {**source, "tokens": [*tokens, 7]},
            "tokens": {**source, "tokens": [token ^ 1 for token in tokens]},
            "file": {"kind": "file", "path": "nowhere", "dtype": "u16"},
        }
        name = "nowhere" if reason == "name" else "saved"
        yield from tools.ask_refused([another.restoring(wrong.get(reason, source), name)])
        must_equal(before, _files(root), "the files after a refused restore")
        expected = yield from _read_on(other, 6, range(2, 5))
        found = yield from _read_on(live, 6, range(2, 5))
        must_equal(expected, found, "the live stream after a refused restore, held to one that knows of none")


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


FIRING_COUNTS: Final = "Stream.FiringCounts"
_PASSES: Final = 2


def passes(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {length: tokens, size: of the chunks, world_size, on_end}`; two passes are read where it wraps."""
    defaults = {"length": [1, 10, 37], "size": [1, 4, 40], "world_size": [1, 2, 3], "on_end": ["wrap", "stop"]}
    for point in grid(axes(use, defaults)):
        yield Instance(slug(point), partial(_no_gap_no_overlap, tools, **point))


def _no_gap_no_overlap(tools: Tools, length: int, size: int, world_size: int, on_end: str) -> LawTalk:
    tokens, boundaries = corpus(length), boundaries_in(length)
    expected = _cut(tokens, boundaries, size, _PASSES if on_end == "wrap" else 1)
    rounds = -(-len(expected) // world_size)
    source = {"kind": "tokens", "tokens": tokens, "boundaries": boundaries, "on_end": on_end}
    found: list[dict[str, Any]] = []
    places = []
    with law_roots() as rooms:
        for rank in range(world_size):
            stream = yield from Rank(tools, rooms.path("a"), rank, world_size).open(source)
            stood = []
            for pulse in range(rounds):
                chunk = yield from stream.chunk(size, pulse)
                found += [chunk] if chunk else []
                position = yield from stream.position()
                stood.append(position)
            places.append(stood)
    # The last round may reach into the third pass.
    found = [
        chunk for chunk in sorted(found, key=lambda chunk: chunk["chunk_id"]) if chunk["chunk_id"] <= len(expected)
    ]
    must_equal(expected, found, f"the chunks of {world_size} ranks in the order of their ids")
    for rank, stood in enumerate(places):
        must_equal(places[0], stood, f"where rank {rank} stands after each round, held to rank 0")


def _cut(tokens: Sequence[int], boundaries: Sequence[int], size: int, count: int) -> list[dict[str, Any]]:
    """The chunks of so many passes, as the seed would cut them."""
    chunks: list[dict[str, Any]] = []
    for _ in range(count):
        for start in range(0, len(tokens), size):
            end = min(start + size, len(tokens))
            crosses = end == len(tokens) or any(start < offset <= end for offset in boundaries)
            chunk = {"tokens": tokens[start:end], "chunk_id": len(chunks) + 1, "document_boundary": crosses}
            chunks.append(chunk)
    return chunks


def kinds(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {length: tokens, size, world_size}`: the last of the ranks reads from every kind of source."""
    for point in grid(axes(use, {"length": [300], "size": [7, 100], "world_size": [1, 2]})):
        yield Instance(slug(point), partial(_alike, tools, **point))


def _alike(tools: Tools, length: int, size: int, world_size: int) -> LawTalk:
    tokens, boundaries = corpus(length), boundaries_in(length)
    with law_roots() as rooms:
        rank = Rank(tools, rooms.path("a"), world_size - 1, world_size)
        rounds = range(1, 3 + length // (size * world_size))
        seen: dict[str, tuple[Any, Any]] = {}
        declared = sources(tokens, boundaries, "stop", rank.root)
        for kind, source in {**declared, "input": {"kind": "interactive", "on_end": "stop"}}.items():
            stream = yield from rank.open(source)
            if kind == "input":
                yield from stream.push(tokens, boundaries)
            chunks = yield from stream.chunks(size, rounds)
            cursor = yield from stream.cursor()
            seen[kind] = chunks, {name: held for name, held in cursor.items() if name != "total_tokens"}
        for kind, what in seen.items():
            must_equal(seen["tokens"][0], what[0], f"the chunks from a {kind}, held to those from a list of tokens")
            must_equal(seen["tokens"][1], what[1], f"the cursor over a {kind}, held to that over a list of tokens")


def shuffles(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {length: tokens, seeds: how many}`: three passes each."""
    chosen = axes(use, {"length": [5, 256, 1200], "seeds": 2})
    for point in grid({**chosen, "seeds": tuple(range(chosen["seeds"][0]))}):
        yield Instance(slug(point), partial(_slices, tools, point["length"], point["seeds"]))


def _slices(tools: Tools, length: int, seed: int) -> LawTalk:
    tokens = corpus(length)
    whole = [tokens[start : start + SLICE] for start in range(0, length, SLICE)]
    full = [slice_ for slice_ in whole if len(slice_) == SLICE]
    orders = []
    with law_roots() as rooms:
        stream = yield from Rank(tools, rooms.path("a")).open(shuffled(tokens, seed))
        for pulse in range(1, 4):
            chunk = yield from stream.chunk(length, pulse)
            must(chunk is not None, f"pass {pulse}: a source that wraps has no chunk")
            served = chunk["tokens"] if chunk else []
            parts = [served[start : start + SLICE] for start in range(0, length, SLICE)]
            must_equal(sorted(whole), sorted(parts), f"the slices of pass {pulse}, in the order of their tokens")
            must_equal(whole[len(full) :], parts[len(full) :], f"the short tail of pass {pulse}, which comes last")
            orders.append([whole.index(part) for part in parts[: len(full)]])
    must(len(full) < 4 or len({str(order) for order in orders}) > 1, f"three passes in one order: {orders[0]}")


def firings(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {clock, chunk_size, levels: which of the two schedules}`."""
    defaults = {"clock": [0, 1, 511, 512], "chunk_size": [2, 64, 513, 1024], "levels": ["seed", "coprime"]}
    for point in grid(axes(use, defaults)):
        yield Instance(slug(point), partial(_add_up, tools, point))


_LEVELS: Final[Mapping[str, list[int]]] = {"seed": [1, 8, 64, 512], "coprime": [3, 5, 7]}


def _add_up(tools: Tools, point: Mapping[str, Any]) -> LawTalk:
    clock, size, levels = point["clock"], point["chunk_size"], _LEVELS[point["levels"]]

    def counting(start: int, count: int) -> Any:
        return tools.call(FIRING_COUNTS, {"clock": start, "chunk_size": count, "cms_frequencies": levels})

    whole = counting(clock, size)
    for cut in sorted({1, size // 3 or 1, size - 1}):
        halves = [counting(clock, cut), counting(clock + cut, size - cut)]
        together, first, second = yield from tools.ask([whole, *halves])
        summed = [left + right for left, right in zip(first["counts"], second["counts"], strict=True)]
        must_equal(summed, together["counts"], f"the firings of a chunk that is cut after {cut} tokens", whole)


LAWS: Final = (
    Law(
        "stream-restore-goes-on",
        "A stream that was saved anywhere and restored, once or twice, goes on as the uninterrupted one.",
        (),
        save_points,
    ),
    Law(
        "stream-refusal-changes-nothing",
        "A refused restore leaves the files and the live stream as they were.",
        (),
        refusals,
    ),
    Law(
        "stream-no-gap-no-overlap",
        "The chunks of all ranks, in the order of their ids, are the data cut at the end; all ranks stand alike.",
        (),
        passes,
    ),
    Law(
        "stream-sources-alike",
        "The same tokens come in the same chunks, with the same cursor, whatever kind of source serves them.",
        (),
        kinds,
    ),
    Law(
        "stream-shuffle-keeps-slices",
        "Every pass of a shuffled source serves every slice once, the short tail last; not all passes have one order.",
        (),
        shuffles,
    ),
    Law(
        "firing-counts-add-up",
        "The counts of a chunk are the sums of the counts of the two chunks that it can be cut into.",
        (),
        firings,
    ),
)
