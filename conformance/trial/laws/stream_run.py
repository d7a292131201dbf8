"""One rank's stream at the backend: how it is opened, read, saved and restored, and what it is opened over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from conformance.backend.driver import Call
from conformance.trial.laws.law import Asking, Tools, derived_bytes, derived_number

Source = Mapping[str, Any]
Answer = dict[str, Any]

SLICE: Final = 256  # tokens
LARGEST: Final = 65_535  # what a word of 16 bits holds


@dataclass(frozen=True, slots=True)
class Rank:
    """Which rank of how many a stream is for, and the folder of its files."""

    tools: Tools
    root: Path
    rank: int = 0
    world_size: int = 1

    def opening(self, source: Source) -> Call:
        """The call that opens a stream over a source."""
        return self.tools.call("Stream.Open", {"source": source, "root": str(self.root), **self._place()})

    def restoring(self, source: Source, name: str) -> Call:
        """The call that restores a checkpoint over a source."""
        inputs = {"source": source, "root": str(self.root), "name": name, **self._place()}
        return self.tools.call("Stream.Restore", inputs)

    def _place(self) -> dict[str, Any]:
        return {"rank": self.rank, "world_size": self.world_size, "cms_frequencies": [1]}

    def open(self, source: Source) -> Asking[Stream]:
        """Open a stream over a source."""
        (opened,) = yield from self.tools.ask([self.opening(source)])
        return Stream(self, opened["handle"])

    def restore(self, source: Source, name: str) -> Asking[Stream]:
        """Open a stream where a checkpoint says that it stood."""
        (restored,) = yield from self.tools.ask([self.restoring(source, name)])
        return Stream(self, restored["handle"])


@dataclass(frozen=True, slots=True)
class Stream:
    """An open stream."""

    rank: Rank
    handle: str

    def call(self, method: str, **inputs: Any) -> Call:
        """The call of a method of this stream."""
        return self.rank.tools.call(f"Stream.{method}", {"handle": self.handle, **inputs})

    def ask(self, method: str, **inputs: Any) -> Asking[Answer]:
        """What a method of this stream answers."""
        (answer,) = yield from self.rank.tools.ask([self.call(method, **inputs)])
        return answer

    def chunk(self, size: int, pulse_id: int) -> Asking[Answer | None]:
        """One whole step: the next chunk, if there is one, and the advance to a pulse."""
        answer = yield from self.ask("NextChunk", chunk_size=size)
        yield from self.ask("Advance", pulse_id=pulse_id)
        chunk: Answer | None = answer.get("chunk")
        return chunk

    def chunks(self, size: int, pulses: Sequence[int]) -> Asking[list[Answer | None]]:
        """One step for each pulse."""
        found = []
        for pulse_id in pulses:
            chunk = yield from self.chunk(size, pulse_id)
            found.append(chunk)
        return found

    def position(self) -> Asking[int]:
        """Where the next round begins."""
        answer = yield from self.ask("Position")
        position: int = answer["position"]
        return position

    def cursor(self) -> Asking[Answer]:
        """The cursor."""
        answer = yield from self.ask("Cursor")
        cursor: Answer = answer["cursor"]
        return cursor

    def save(self, name: str, pulse_id: int) -> Asking[Answer]:
        """A checkpoint with a model that names its pulse."""
        model = {"pulse_id": pulse_id, "state": b"model at %d" % pulse_id}
        answer = yield from self.ask("Checkpoint", root=str(self.rank.root), name=name, model=model)
        return answer

    def push(self, tokens: Sequence[int], boundaries: Sequence[int] = ()) -> Asking[None]:
        """Everything that an input has to say, cut at the boundaries, and its end."""
        cuts = [0, *(offset for offset in boundaries if 0 < offset < len(tokens)), len(tokens)]
        for start, end in pairwise(cuts):
            yield from self.ask("Push", tokens=list(tokens[start:end]), boundary=end in boundaries)
        yield from self.ask("EndInput")


def corpus(length: int) -> list[int]:
    """Tokens of 16 bits, all different as long as there are no more than those."""
    start = derived_number(f"corpus {length}", LARGEST)
    return [(start + 40_503 * k) % (LARGEST + 1) for k in range(length)]


def boundaries_in(length: int) -> list[int]:
    """Some document ends, the first and the last place where one can be among them."""
    return sorted({1, length // 3, length // 2, max(1, length - 1)})


def sources(tokens: Sequence[int], boundaries: Sequence[int], on_end: str, root: Path) -> dict[str, Source]:
    """Every kind of source that serves these tokens in this order, except an input, which is told them."""
    (root / "words.bin").write_bytes(b"".join(token.to_bytes(2, "little") for token in tokens))
    (root / "wide.bin").write_bytes(b"".join(token.to_bytes(4, "little") for token in tokens))
    said = {"boundaries": list(boundaries)}
    file = {"kind": "file", "path": "words.bin", "dtype": "u16", **said}
    return {
        "tokens": {"kind": "tokens", "tokens": list(tokens), "on_end": on_end, **said},
        "file": {**file, "on_end": on_end},
        "wide file": {"kind": "file", "path": "wide.bin", "dtype": "u32", "on_end": on_end, **said},
        "part": {"kind": "interleaved", "parts": [{**file, "on_end": "stop"}], "pattern": [0], "on_end": on_end},
    }


def shuffled(tokens: Sequence[int], seed: int, on_end: str = "wrap") -> Source:
    """The tokens in an order that a derived seed draws."""
    part = {"kind": "tokens", "tokens": list(tokens)}
    return {"kind": "shuffled", "seed": derived_bytes(f"shuffle {seed}", 16), "parts": [part], "on_end": on_end}


def interleaved(tokens: Sequence[int]) -> Source:
    """The tokens once, between those of a part that never ends."""
    once = {"kind": "tokens", "tokens": list(tokens), "on_end": "stop"}
    ever = {"kind": "tokens", "tokens": list(range(10)), "on_end": "wrap"}
    return {"kind": "interleaved", "parts": [once, ever], "pattern": [0, 1, 0], "on_end": "wrap"}
