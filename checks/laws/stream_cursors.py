"""The law of streams that a chunk does not depend on how many were served before: ids and pulses have 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import cbor2

from checks.laws.stream import Rank
from checks.laws.stream_sources import Source, boundaries_in, corpus, forms, interleaved, shuffled
from conformance.codec.cbor import encode_canonical
from conformance.trial.law import Law, LawTalk, Tools, law_root, must_equal

_BITS: Final = (8, 16, 31, 32, 53, 63)
_STEPS: Final = 4


def _far_on(tools: Tools, kind: str, size: int, world_size: int) -> LawTalk:
    """The last rank goes on from a checkpoint whose id and pulse are moved near each power of two."""
    tokens = corpus(30)
    with law_root() as root:
        rank = Rank(tools, root, world_size - 1, world_size)
        kinds: dict[str, Source] = {
            **{form: {**source, "on_end": "wrap"} for form, source in forms(tokens, boundaries_in(30), root).items()},
            "shuffled": shuffled(tokens, 0),
            "interleaved": interleaved(tokens),
        }
        stream = yield from rank.open(kinds[kind])
        yield from stream.read(size, [1, 2])
        yield from stream.save("saved", 2)
        expected = yield from stream.read(size, range(3, 3 + _STEPS))
        for bits in _BITS:
            more = 2**bits - 2**bits % world_size
            _move(root / "saved", root / "moved", more)
            _move(root / "saved", root / "apart", more, later=1)
            apart = rank.call("Restore", kinds[kind], name="apart")
            yield from tools.ask_refused([apart], f"a restore whose model is one after pulse {2 + more}")
            restored = yield from rank.restore(kinds[kind], "moved")
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
        "stream-far-on",
        _far_on,
        {"kind": ["tokens", "file", "shuffled", "interleaved"], "size": [4, 7], "world_size": [1, 3]},
    ),
)
