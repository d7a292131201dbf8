"""Laws of restored streams: they go on as the uninterrupted one, and a refused restore leaves everything as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.grid import axes, grid, slug
from conformance.trial.laws.law import Asking, Instance, Law, LawTalk, Tools
from conformance.trial.laws.relation import must_equal
from conformance.trial.laws.roots import law_roots
from conformance.trial.laws.stream_run import Rank, Source, Stream, corpus, interleaved, shuffled, sources

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
)
