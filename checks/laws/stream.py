"""Laws of streams: no token is left out or served twice, and a restored stream continues like an uninterrupted one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checks.laws.stream_sources import (
    INPUT,
    ITERATOR,
    Documents,
    Source,
    boundaries_in,
    corpus,
    cut_at,
    interleaved,
    shuffled,
    sources,
)
from conformance.backend.driver import Call
from conformance.trial.law import (
    Asking,
    Law,
    LawBroken,
    LawTalk,
    Point,
    Split,
    Tools,
    law_root,
    must,
    must_equal,
)

Answer = dict[str, Any]

FIRING_COUNTS: Final = "Stream.FiringCounts"
_SLICE: Final = 256  # tokens
_PASSES: Final = 2
_LEVELS: Final[Mapping[str, list[int]]] = {"seed": [1, 8, 64, 512], "coprime": [3, 5, 7]}


@dataclass(frozen=True, slots=True)
class Rank:
    """Which rank of how many a stream is for, and the folder of its files."""

    tools: Tools
    root: Path
    rank: int = 0
    world_size: int = 1
    levels: Sequence[int] = (1,)

    def call(self, method: str, source: Source, **inputs: str) -> Call:
        """The call of a method that opens a stream over a source."""
        place: Answer = {"root": str(self.root), "rank": self.rank, "world_size": self.world_size}
        place["cms_frequencies"] = list(self.levels)
        return self.tools.call(f"Stream.{method}", {"source": source, **place, **inputs})

    def open(self, source: Source, documents: Documents | None = None) -> Asking[Stream]:
        """Open a stream over a source; `documents` are those of an iterator."""
        (opened,) = yield from self.tools.ask([self.call("Open", source)])
        return Stream(self, opened["handle"], documents)

    def restore(self, source: Source, name: str, documents: Documents | None = None) -> Asking[Stream]:
        """Open a stream at the position of a checkpoint; `documents` are those of an iterator."""
        (restored,) = yield from self.tools.ask([self.call("Restore", source, name=name)])
        return Stream(self, restored["handle"], documents)


@dataclass(frozen=True, slots=True)
class Stream:
    """An open stream, and the items of its source if it is an iterator."""

    rank: Rank
    handle: str
    documents: Documents | None = None

    def call(self, method: str, **inputs: Any) -> Call:
        """The call of a method of this stream."""
        return self.rank.tools.call(f"Stream.{method}", {"handle": self.handle, **inputs})

    def ask(self, method: str, **inputs: Any) -> Asking[Answer]:
        """The answer of a method of this stream."""
        (answer,) = yield from self.rank.tools.ask([self.call(method, **inputs)])
        return answer

    def say(self, method: str, **inputs: Any) -> Asking[Answer | str]:
        """The answer of a method of this stream, or the code of its refusal."""
        return (yield from self.rank.tools.ask_either(self.call(method, **inputs)))

    def next(self, size: int) -> Asking[Answer | str]:
        """The answer to NextChunk, or the code of its refusal; an iterator is given the items that it asks for."""
        answer = yield from self.say("NextChunk", chunk_size=size)
        while self.documents is not None and not isinstance(answer, str) and answer.get("wants_item"):
            document = self.documents.next()
            if document is None:
                yield from self.ask("EndPass")
            else:
                yield from self.ask("Supply", tokens=list(document))
            answer = yield from self.say("NextChunk", chunk_size=size)
        return answer

    def chunk(self, size: int, pulse_id: int) -> Asking[Answer | None]:
        """One whole step: the next chunk, if there is one, and the advance to a pulse."""
        answer = yield from self.next(size)
        if isinstance(answer, str):
            call = self.call("NextChunk", chunk_size=size)
            raise LawBroken(f"a call that no guard refuses failed with {answer}", call)
        yield from self.ask("Advance", pulse_id=pulse_id)
        chunk: Answer | None = answer.get("chunk")
        return chunk

    def place(self) -> Asking[tuple[int, Answer]]:
        """The position and the cursor."""
        return (yield from self.position()), (yield from self.cursor())

    def read(self, size: int, pulses: Sequence[int]) -> Asking[list[tuple[Answer | None, Answer]]]:
        """The chunk of one step for each pulse, each with the cursor after it."""
        found = []
        for pulse_id in pulses:
            chunk = yield from self.chunk(size, pulse_id)
            found.append((chunk, (yield from self.cursor())))
        return found

    def position(self) -> Asking[int]:
        """The offset where the next round begins."""
        answer = yield from self.ask("Position")
        position: int = answer["position"]
        return position

    def cursor(self) -> Asking[Answer]:
        """The cursor."""
        answer = yield from self.ask("Cursor")
        cursor: Answer = answer["cursor"]
        return cursor

    def save(self, name: str, pulse_id: int) -> Asking[None]:
        """Write a checkpoint with a model that names its pulse."""
        model = {"pulse_id": pulse_id, "state": b"model at %d" % pulse_id}
        yield from self.ask("Checkpoint", root=str(self.rank.root), name=name, model=model)

    def push(self, tokens: Sequence[int], boundaries: Sequence[int] = ()) -> Asking[None]:
        """Push all tokens of an input, cut at the boundaries, and its end."""
        end = 0
        for document in cut_at(tokens, boundaries):
            end += len(document)
            yield from self.ask("Push", tokens=list(document), boundary=end in boundaries)
        yield from self.ask("EndInput")


def is_read_to_its_end(point: Point) -> bool:
    """Whether the chunks are a large enough part of the data to reach its end."""
    return bool(point["size"] < point["length"] <= 8 * point["size"])


def _restore_goes_on(tools: Tools, kind: str, length: int, size: int, world_size: int, steps: int) -> LawTalk:
    """The last rank, saved after every step; an iterator gives its items anew to every restored stream."""
    tokens = corpus(length)

    def documents() -> Documents | None:
        # So many steps may each end a pass for every rank, and look behind it.
        passes = 2 + (steps + 1) * world_size
        return Documents(cut_at(tokens, boundaries_in(length)), passes) if kind == ITERATOR else None

    with law_root() as root:
        rank = Rank(tools, root, world_size - 1, world_size)
        kinds = {**sources(tokens, [], "wrap", root), "shuffled": shuffled(tokens, 0)}
        source = {**kinds, "interleaved": interleaved(tokens)}[kind]
        stream = yield from rank.open(source, documents())
        yield from _push_from(stream, source, tokens, 0)
        positions = []
        expected: list[Any] = []
        for pulse in range(steps + 1):
            yield from stream.save(f"at-{pulse}", pulse)
            positions.append((yield from stream.position()))
            expected += yield from stream.read(size, [pulse + 1])
        for pulse, position in enumerate(positions):
            restored = yield from rank.restore(source, f"at-{pulse}", documents())
            yield from _push_from(restored, source, tokens, position)
            # The restored stream is saved at once and restored a second time.
            yield from restored.save("again", pulse)
            second = yield from rank.restore(source, "again", documents())
            yield from _push_from(second, source, tokens, position)
            for name, one in {"restored": restored, "restored twice": second}.items():
                found = yield from one.read(size, range(pulse + 1, steps + 2))
                must_equal(expected[pulse:], found, f"chunks and cursors after save {pulse}, {name}")


def _push_from(stream: Stream, source: Source, tokens: Sequence[int], start: int) -> Asking[None]:
    """Push what an input has not served yet; other sources need nothing."""
    if source is INPUT:
        yield from stream.push(tokens[start:])


def _refusal_changes_nothing(tools: Tools, reason: str) -> LawTalk:
    tokens = corpus(20)
    with law_root() as root:
        rank = Rank(tools, root)
        source = {"kind": "tokens", "tokens": tokens}
        live, other = (yield from rank.open(source)), (yield from rank.open(source))
        yield from live.read(6, [1, 2])
        yield from other.read(6, [1, 2])
        yield from live.save("saved", 1 if reason == "pulse" else 2)
        before = _files(root)
        another = Rank(tools, root, 1, 2) if reason == "rank" else rank
        wrong: dict[str, Source] = {
            "length": {**source, "tokens": [*tokens, 7]},
            "tokens": {**source, "tokens": [token ^ 1 for token in tokens]},
            "file": {"kind": "file", "path": "nowhere", "dtype": "u16"},
        }
        name = "nowhere" if reason == "name" else "saved"
        yield from tools.ask_refused([another.call("Restore", wrong.get(reason, source), name=name)])
        must_equal(before, _files(root), "the files after a refused restore")
        expected = yield from other.read(6, range(3, 6))
        found = yield from live.read(6, range(3, 6))
        must_equal(expected, found, "the live stream after a refused restore, compared with one that was not restored")


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def _no_gap_no_overlap(tools: Tools, length: int, size: int, world_size: int, on_end: str) -> LawTalk:
    """Two passes are read where the source wraps."""
    tokens, boundaries = corpus(length), boundaries_in(length)
    expected = _cut(tokens, boundaries, size, _PASSES if on_end == "wrap" else 1)
    rounds = -(-len(expected) // world_size)
    source = {"kind": "tokens", "tokens": tokens, "boundaries": boundaries, "on_end": on_end}
    found: list[Answer] = []
    positions: list[list[int]] = []
    with law_root() as root:
        for rank in range(world_size):
            stream = yield from Rank(tools, root, rank, world_size).open(source)
            positions.append([])
            for pulse in range(rounds):
                chunk = yield from stream.chunk(size, pulse)
                found += [chunk] if chunk else []
                positions[rank].append((yield from stream.position()))
    found.sort(key=lambda chunk: int(chunk["chunk_id"]))
    # The last round may reach into the third pass.
    found = [chunk for chunk in found if chunk["chunk_id"] <= len(expected)]
    must_equal(expected, found, f"the chunks of {world_size} ranks in the order of their ids")
    for rank, reached in enumerate(positions):
        must_equal(positions[0], reached, f"the positions of rank {rank} after each round, compared with rank 0")


def _cut(tokens: Sequence[int], boundaries: Sequence[int], size: int, passes: int) -> list[Answer]:
    """The chunks of so many passes, as the contract cuts them."""
    chunks: list[Answer] = []
    for _ in range(passes):
        for start in range(0, len(tokens), size):
            end = min(start + size, len(tokens))
            crosses = end == len(tokens) or any(start < offset <= end for offset in boundaries)
            chunk = {"tokens": tokens[start:end], "chunk_id": len(chunks) + 1, "document_boundary": crosses}
            chunks.append(chunk)
    return chunks


def _sources_alike(tools: Tools, length: int, size: int, world_size: int, on_end: str) -> LawTalk:
    """The last of the ranks reads from every kind of source, two passes where it wraps; an input has one."""
    tokens, boundaries = corpus(length), boundaries_in(length)
    with law_root() as root:
        rank = Rank(tools, root, world_size - 1, world_size)
        passes = _PASSES if on_end == "wrap" else 1
        pulses = range(1, 3 + passes * length // (size * world_size))
        seen: dict[str, tuple[Any, Any]] = {}
        for kind, source in sources(tokens, boundaries, on_end, root).items():
            if source is INPUT and on_end == "wrap":
                continue
            documents = Documents(cut_at(tokens, boundaries), passes + world_size) if kind == ITERATOR else None
            stream = yield from rank.open(source, documents)
            if source is INPUT:
                yield from stream.push(tokens, boundaries)
            chunks = []
            for pulse in pulses:
                chunks.append((yield from stream.chunk(size, pulse)))
            cursor = yield from stream.cursor()
            seen[kind] = chunks, {name: value for name, value in cursor.items() if name != "total_tokens"}
        for kind, (chunks, cursor) in seen.items():
            must_equal(seen["tokens"][0], chunks, f"the chunks from the source {kind!r}, and from a list of tokens")
            must_equal(seen["tokens"][1], cursor, f"the cursor over the source {kind!r}, and over a list of tokens")


def _shuffle_keeps_slices(tools: Tools, length: int, seeds: int) -> LawTalk:
    """Three passes."""
    tokens = corpus(length)
    whole = [tokens[start : start + _SLICE] for start in range(0, length, _SLICE)]
    full = length // _SLICE
    orders = []
    with law_root() as root:
        stream = yield from Rank(tools, root).open(shuffled(tokens, seeds))
        for pulse in range(1, 4):
            chunk = yield from stream.chunk(length, pulse)
            must(chunk is not None, f"pass {pulse}: a source that wraps has no chunk")
            served = chunk["tokens"] if chunk else []
            parts = [served[start : start + _SLICE] for start in range(0, length, _SLICE)]
            must_equal(sorted(whole), sorted(parts), f"the slices of pass {pulse}, in the order of their tokens")
            must_equal(whole[full:], parts[full:], f"the short tail of pass {pulse}, which comes last")
            orders.append([whole.index(part) for part in parts[:full]])
    must(full < 4 or any(order != orders[0] for order in orders), f"three passes in one order: {orders[0]}")


def _firing_counts_add_up(tools: Tools, clock: int, chunk_size: int, levels: str) -> LawTalk:
    def counting(start: int, count: int) -> Call:
        inputs = {"clock": start, "chunk_size": count, "cms_frequencies": _LEVELS[levels]}
        return tools.call(FIRING_COUNTS, inputs)

    whole = counting(clock, chunk_size)
    for cut in sorted({1, chunk_size // 3 or 1, chunk_size - 1}):
        halves = [counting(clock, cut), counting(clock + cut, chunk_size - cut)]
        together, first, second = yield from tools.ask([whole, *halves])
        summed = [left + right for left, right in zip(first["counts"], second["counts"], strict=True)]
        must_equal(summed, together["counts"], f"the firings of a chunk that is cut after {cut} tokens", whole)


LAWS: Final = (
    Law(
        "stream-restore-goes-on",
        _restore_goes_on,
        {
            "kind": ["tokens", "file", "part", "shuffled", "interleaved", "input", "iterator"],
            "length": [10, 600],
            "size": [4, 170],
            "world_size": [1, 2],
            "steps": 4,
        },
        Split(fits=is_read_to_its_end),
    ),
    Law(
        "stream-refusal-changes-nothing",
        _refusal_changes_nothing,
        {"reason": ["pulse", "length", "rank", "tokens", "file", "name"]},
    ),
    Law(
        "stream-no-gap-no-overlap",
        _no_gap_no_overlap,
        {"length": [1, 10, 37], "size": [1, 4, 40], "world_size": [1, 2, 3], "on_end": ["wrap", "stop"]},
    ),
    Law(
        "stream-sources-alike",
        _sources_alike,
        {"length": [300], "size": [7, 100], "world_size": [1, 2], "on_end": ["stop", "wrap"]},
    ),
    Law(
        "stream-shuffle-keeps-slices",
        _shuffle_keeps_slices,
        {"length": [5, 256, 1200], "seeds": 2},
        Split(counts={"seeds": "seeds"}),
    ),
    Law(
        "firing-counts-add-up",
        _firing_counts_add_up,
        {"clock": [0, 1, 511, 512], "chunk_size": [2, 64, 513, 1024], "levels": ["seed", "coprime"]},
    ),
)
