"""Laws of streams that are restored: like those that went on, however many chunks were served before."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import cbor2

from checks.laws.stream import Rank, Stream
from checks.laws.stream_sources import Source, boundaries_in, corpus, forms, interleaved, shuffled
from conformance.codec.cbor import encode_canonical
from conformance.trial.law import Asking, Law, LawTalk, Tools, law_root, must_equal

_BITS: Final = (8, 16, 31, 32, 53, 63)
_STEPS: Final = 4


def _source(kind: str, root: Path) -> Source:
    """A source of 30 tokens that wraps."""
    tokens = corpus(30)
    kinds: dict[str, Source] = {
        **{form: {**source, "on_end": "wrap"} for form, source in forms(tokens, boundaries_in(30), root).items()},
        "shuffled": shuffled(tokens, 0),
        "interleaved": interleaved(tokens),
    }
    return kinds[kind]


def _restored_alike(tools: Tools, kind: str, size: int, world_size: int, steps: int) -> LawTalk:
    """The last rank makes the same calls, allowed and forbidden ones, after a save and after a restore."""
    with law_root() as root:
        rank = Rank(tools, root, world_size - 1, world_size, (2, 1, 8))
        source = _source(kind, root)
        stream = yield from rank.open(source)
        yield from stream.read(size, range(1, 1 + steps))
        yield from stream.save("saved", steps)
        restored = yield from rank.restore(source, "saved")
        expected = yield from life(stream, size, steps)
        found = yield from life(restored, size, steps)
        must_equal(expected, found, "what a restored stream says, compared with the one that was saved")


def life(stream: Stream, size: int, pulse: int) -> Asking[list[tuple[str, Any]]]:
    """What a stream says, one call after the other: in a step, after it, after resets, with earlier pulses, closed."""
    model = {"pulse_id": pulse, "state": b"model"}
    saving = {"root": str(stream.rank.root), "name": "later", "model": model}
    said: list[tuple[str, Any]] = []

    def note(method: str, **inputs: Any) -> Asking[None]:
        said.append((method, (yield from stream.say(method, **inputs))))

    def look() -> Asking[None]:
        yield from note("Position")
        yield from note("Cursor")

    yield from look()
    for reset in (False, True, False):
        yield from note("NextChunk", chunk_size=1)
        yield from note("NextChunk", chunk_size=size)
        yield from look()
        yield from note("NextChunk", chunk_size=size)
        yield from note("Checkpoint", **saving)
        if reset:
            yield from note("Reset")
            yield from look()
            yield from note("NextChunk", chunk_size=size)
        yield from note("Advance", pulse_id=max(0, pulse - 1))
        yield from look()
        yield from note("Advance", pulse_id=pulse + 1)
        yield from look()
        yield from note("Advance", pulse_id=pulse)
    yield from note("Reset")
    yield from look()
    yield from note("NextChunk", chunk_size=size)
    yield from note("Advance", pulse_id=pulse)
    yield from note("Checkpoint", **saving)
    said.append(("the checkpoint", (stream.rank.root / "later").read_bytes()))
    yield from note("Close")
    yield from note("NextChunk", chunk_size=size)
    return said


def _far_on(tools: Tools, kind: str, size: int, world_size: int) -> LawTalk:
    """The last rank goes on from a checkpoint whose id and pulse are moved near each power of two."""
    with law_root() as root:
        rank = Rank(tools, root, world_size - 1, world_size)
        source = _source(kind, root)
        stream = yield from rank.open(source)
        yield from stream.read(size, [1, 2])
        yield from stream.save("saved", 2)
        expected = yield from stream.read(size, range(3, 3 + _STEPS))
        for bits in _BITS:
            more = 2**bits - 2**bits % world_size
            _move(root / "saved", root / "moved", more)
            _move(root / "saved", root / "apart", more, later=1)
            apart = rank.call("Restore", source, name="apart")
            yield from tools.ask_refused([apart], f"a restore whose model is one after pulse {2 + more}")
            restored = yield from rank.restore(source, "moved")
            found = yield from restored.read(size, range(3 + more, 3 + more + _STEPS))
            for step, ((chunk, cursor), (other, told)) in enumerate(zip(expected, found, strict=True), start=1):
                where = f"step {step} from a checkpoint whose id and pulse are {more} more"
                must_equal(chunk and _moved(chunk, more), other, f"{where}: the chunk")
                must_equal(_moved(cursor, more, more), told, f"{where}: the cursor")


def _moved(told: Mapping[str, Any], more: int, pulses: int = 0) -> dict[str, Any]:
    """A chunk or a cursor with a larger id, and a cursor with a later pulse."""
    moved = {**told, "chunk_id": told["chunk_id"] + more}
    return {**moved, "pulse_id": told["pulse_id"] + pulses} if "pulse_id" in told else moved


def _move(file: Path, other: Path, more: int, later: int = 0) -> None:
    """Copy a checkpoint with a larger id and a later pulse; the model is at the same pulse or a later one."""
    name, content, _ = cbor2.loads(file.read_bytes())
    cursor = _moved(content["stream_cursor"], more, more)
    content = {**content, "stream_cursor": cursor, "model_pulse_id": cursor["pulse_id"] + later}
    other.write_bytes(encode_canonical([name, content, sha256(encode_canonical(content)).digest()]))


LAWS: Final = (
    Law(
        "stream-restored-alike",
        _restored_alike,
        {"kind": ["tokens", "file", "shuffled"], "size": [4, 7], "world_size": [1, 2], "steps": [0, 3]},
    ),
    Law(
        "stream-far-on",
        _far_on,
        {"kind": ["tokens", "file", "shuffled", "interleaved"], "size": [4, 7], "world_size": [1, 3]},
    ),
)
