"""A small Conductor that drives a context stream: `python examples/stream/conductor.py [FOLDER]`.

The model counts which token follows which. It reads a text of the example's own, saves itself and the stream in one
file after half of the Build phase, is thrown away, restored, and ends where an uninterrupted run ends.
"""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

from tallystick import ContextStream, restore_checkpoint, save_checkpoint
from tallystick.stream import ListedTokens, TokenChunk, firing_counts, next_token_targets
from tallystick.stream import Model as SavedModel

Phase = Literal["Build", "Test", "Stream"]
Context = tuple[int, ...]

FREQUENCIES: Final = (1, 8, 64)
CHUNK_SIZE: Final = 64
TEXT: Final = "a tally stick was split in two so that each party held one half. " * 20


@dataclass(frozen=True, slots=True)
class Pulse:
    """Say how many steps were observed, and in which phase the Conductor is."""

    id: int = 0
    phase: Phase = "Build"


class Model(Protocol):
    """What the Conductor asks of a model; a document boundary is none of it."""

    def process_chunk(self, tokens: Sequence[int], context: Context, pulse: Pulse) -> tuple[int, Context]:
        """Return how many tokens were foreseen, and the context after them."""

    def update(self, tokens: Sequence[int], context: Context) -> None:
        """Change the model's parameters, which only the Build phase does."""

    def state(self) -> bytes:
        """Return everything that the model is."""


@dataclass(slots=True)
class FollowerCounts:
    """A model that foresees the token that has followed most often."""

    followers: dict[int, dict[int, int]] = field(default_factory=dict)

    def process_chunk(self, tokens: Sequence[int], context: Context, pulse: Pulse) -> tuple[int, Context]:
        """Count the tokens that were foreseen from the one before."""
        foreseen = 0
        for token in tokens:
            foreseen += bool(context) and self._foresees(context[-1]) == token
            context = (*context[-7:], token)
        return foreseen, context

    def update(self, tokens: Sequence[int], context: Context) -> None:
        """Count what followed what, across chunks too: the last token of the context is carried."""
        made = next_token_targets(tokens, last_rule="carry", before=context[-1] if context else None)
        for before, token in zip(made.inputs.tolist(), made.targets.tolist(), strict=True):
            counts = self.followers.setdefault(before, {})
            counts[token] = counts.get(token, 0) + 1

    def state(self) -> bytes:
        """Return the counts as JSON."""
        return json.dumps(self.followers, sort_keys=True).encode()

    @classmethod
    def from_state(cls, state: bytes) -> "FollowerCounts":
        """Return the model that a state is of."""
        counts = json.loads(state)
        return cls({int(one): {int(other): n for other, n in after.items()} for one, after in counts.items()})

    def _foresees(self, token: int) -> int | None:
        counts = self.followers.get(token)
        return max(counts, key=lambda other: (counts[other], -other)) if counts else None


@dataclass(slots=True)
class Conductor:
    """Own the model, the stream and their pulse; each step observes a chunk and then advances."""

    stream: ContextStream
    model: Model
    pulse: Pulse = field(default_factory=Pulse)
    context: Context = ()
    clock: int = 0
    fired: list[int] = field(default_factory=lambda: [0] * len(FREQUENCIES))
    foreseen: dict[Phase, int] = field(default_factory=lambda: {"Build": 0, "Test": 0, "Stream": 0})

    def run(self, budgets: Mapping[Phase, int | None]) -> None:
        """Run the phases in their order, each for its budget of steps; None has no end but that of the data."""
        for phase, budget in budgets.items():
            self.pulse = Pulse(self.pulse.id, phase)
            steps = 0
            while (budget is None or steps < budget) and self._step():
                steps += 1

    def save(self, folder: Path, name: str) -> None:
        """Save model, context, clock and stream in one atomic operation."""
        own = {"context": self.context, "clock": self.clock, "fired": self.fired}
        state = json.dumps({"model": self.model.state().decode(), **own}).encode()
        save_checkpoint(self.stream, folder, name, SavedModel(self.pulse.id, state))

    def _step(self) -> bool:
        chunk = self.stream.next_chunk(CHUNK_SIZE)
        if chunk is None:
            return False
        tokens = chunk.tokens.tolist()
        foreseen, context = self.model.process_chunk(tokens, self.context, self.pulse)
        self.foreseen[self.pulse.phase] += foreseen
        if self.pulse.phase == "Build":
            self.model.update(tokens, self.context)
        self._observe(chunk)
        self.context = () if chunk.document_boundary else context
        self.pulse = Pulse(self.pulse.id + 1, self.pulse.phase)
        self.stream.advance(self.pulse.id)
        return True

    def _observe(self, chunk: TokenChunk) -> None:
        count = len(chunk.tokens)
        counted = firing_counts(clock=self.clock, chunk_size=count, cms_frequencies=FREQUENCIES)
        self.fired = [before + more for before, more in zip(self.fired, counted, strict=True)]
        self.clock += count


def text_source() -> ListedTokens:
    """Return the example's text, whose documents are its sentences."""
    tokens = list(TEXT.encode())
    ends = [place + 1 for place, token in enumerate(tokens) if token == ord(".")]
    return ListedTokens(tokens, boundaries=ends)


def begun() -> Conductor:
    """Return a Conductor with a new model at the beginning of the text."""
    stream = ContextStream(text_source(), cms_frequencies=FREQUENCIES)
    return Conductor(stream, FollowerCounts())


def resumed(folder: Path, name: str) -> Conductor:
    """Return a Conductor whose model, context, clock and stream go on from a checkpoint."""
    restored = restore_checkpoint(text_source(), folder, name, cms_frequencies=FREQUENCIES)
    state = json.loads(restored.model.state)
    model = FollowerCounts.from_state(state["model"].encode())
    pulse, context = Pulse(restored.model.pulse_id), tuple(state["context"])
    return Conductor(restored.stream, model, pulse, context, state["clock"], state["fired"])


def main(folder: Path) -> None:
    """Run the three phases, interrupted in the first one, and show what came of it; makes the folder, if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    first = begun()
    first.run({"Build": 6})
    first.save(folder, "conductor")
    print(
        f"saved at pulse {first.pulse.id}, position {first.stream.position()}, chunk {first.stream.cursor().chunk_id}"
    )
    second = resumed(folder, "conductor")
    print(f"restored at pulse {second.pulse.id}, position {second.stream.position()}")
    second.run({"Build": 6, "Test": 4, "Stream": 8})
    for phase, foreseen in second.foreseen.items():
        print(f"{phase:<6} {foreseen} tokens foreseen")
    print(f"levels {FREQUENCIES} fired {second.fired} times over {second.clock} tokens")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
