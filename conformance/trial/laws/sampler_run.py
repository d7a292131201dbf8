"""A run of NextBatch as laws walk it: what stays the same over its calls, its steps, its epochs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

from conformance.backend.drive import Call
from conformance.trial.laws.derived import derived_bytes
from conformance.trial.laws.law import Asking, LawBroken, Tools

NEXT_BATCH: Final = "UML_OS.Data.NextBatch_v2"
DATASET_KEYS: Final = ("d", "e")
Cursor = Mapping[str, int]
START: Final[Cursor] = {"epoch": 0, "global_index": 0}


@dataclass(frozen=True, slots=True)
class SamplerRun:
    """What stays the same over all calls of a run; `seed` names the replay token, `snapshot` the manifest hash.

    The manifest holds both DATASET_KEYS with the same cardinality, so that only the key tells them apart.
    """

    cardinality: int
    global_batch_size: int
    sampler_block_size: int
    stage_type: str = "train"
    drop_last: bool = False
    seed: int = 0
    snapshot: int = 0
    dataset_key: str = DATASET_KEYS[0]

    @property
    def epoch_limit(self) -> int:
        """The samples of one epoch (seed 000 §I.C)."""
        if self.stage_type == "train" and self.drop_last:
            return self.cardinality // self.global_batch_size * self.global_batch_size
        return self.cardinality

    @property
    def refused(self) -> bool:
        """Whether a guard refuses the run: with drop_last no batch of train may exceed the data (requirement N06)."""
        return self.epoch_limit == 0

    def cursors(self, epoch: int) -> list[Cursor]:
        """Where the batches of an epoch begin."""
        return [{"epoch": epoch, "global_index": index} for index in range(0, self.epoch_limit, self.global_batch_size)]

    @property
    def draws(self) -> int:
        """What an epoch costs a backend that orders the blocks anew in every call: its steps times its blocks."""
        blocks = self.cardinality // self.sampler_block_size if self.stage_type == "train" else 0
        return len(range(0, self.epoch_limit, self.global_batch_size)) * (1 + blocks)

    def inputs(self, cursor: Cursor, world_size: int = 1, rank: int = 0, t: int = 0) -> dict[str, Any]:
        """The complete native inputs of one call."""
        return {
            "manifest": {
                "datasets": {key: _dataset(key, self.cardinality) for key in DATASET_KEYS},
                "global_batch_size": self.global_batch_size,
                "data": {"sampler_block_size": self.sampler_block_size, "drop_last": self.drop_last},
            },
            "dataset_key": self.dataset_key,
            "world_size": world_size,
            "rank": rank,
            "stage_type": self.stage_type,
            "cursor_in": dict(cursor),
            "kernel_replay_token": derived_bytes(f"token {self.seed}", 32),
            "manifest_hash": derived_bytes(f"manifest {self.snapshot}", 32),
            "t": t,
        }


def _dataset(key: str, cardinality: int) -> dict[str, Any]:
    content = derived_bytes(f"dataset {key}", 32)
    return {"id": f"dataset-{key}", "version": "1", "hash": content, "cardinality": cardinality}


@dataclass(frozen=True, slots=True)
class Step:
    """One global batch: where it began, and what each rank was asked and answered."""

    cursor: Cursor
    calls: tuple[Call, ...]
    answers: tuple[Mapping[str, Any], ...]

    @property
    def indices(self) -> list[int]:
        """The ranks' indices, concatenated in the order of the ranks."""
        return [index for answer in self.answers for index in answer["batch_sample_indices"]]

    @property
    def cursor_next(self) -> Cursor:
        """The cursor that the last rank answered."""
        found: Cursor = self.answers[-1]["cursor_next"]
        return found


def ask_step(tools: Tools, run: SamplerRun, cursor: Cursor, world_size: int = 1, t: int = 0) -> Asking[Step]:
    """One global batch, every rank asked at once."""
    calls = tuple(tools.call(NEXT_BATCH, run.inputs(cursor, world_size, rank, t)) for rank in range(world_size))
    answers = yield from tools.ask(calls)
    return Step(cursor, calls, tuple(answers))


def ask_steps(tools: Tools, run: SamplerRun, cursors: Sequence[Cursor], world_size: int = 1) -> Asking[list[Step]]:
    """The global batches at several cursors, all asked at once; `t` counts them."""
    calls = [
        tools.call(NEXT_BATCH, run.inputs(cursor, world_size, rank, t))
        for t, cursor in enumerate(cursors)
        for rank in range(world_size)
    ]
    answers = yield from tools.ask(calls)
    parts = [slice(start, start + world_size) for start in range(0, len(calls), world_size)]
    return [Step(cursor, tuple(calls[p]), tuple(answers[p])) for cursor, p in zip(cursors, parts, strict=True)]


def ask_epoch(tools: Tools, run: SamplerRun, epoch: int = 0) -> Asking[list[Step]]:
    """The steps of an epoch, all asked at once; raises LawBroken where a cursor does not lead to the next step."""
    steps = yield from ask_steps(tools, run, run.cursors(epoch))
    following = [*(step.cursor for step in steps[1:]), {"epoch": epoch + 1, "global_index": 0}]
    for step, after in zip(steps, following, strict=True):
        if step.cursor_next != after:
            moved = f"the cursor moved from {shown(step.cursor)} to {shown(step.cursor_next)}, not to {shown(after)}"
            raise LawBroken(moved, step.calls[0])
    return steps


def walk(
    tools: Tools, run: SamplerRun, cursor: Cursor, count: int, world_sizes: Iterable[int] = repeat(1), t: int = 0
) -> Asking[list[Step]]:
    """`count` steps from a cursor, each where the one before left the cursor; `t` counts them."""
    steps: list[Step] = []
    for number, world_size in zip(range(count), world_sizes, strict=False):
        step = yield from ask_step(tools, run, cursor, world_size, t + number)
        steps.append(step)
        cursor = step.cursor_next
    return steps


def indices_of(steps: Sequence[Step]) -> list[int]:
    """The indices of several steps, in their order."""
    return [index for step in steps for index in step.indices]


def shown(cursor: Cursor) -> str:
    """A cursor as messages show it: {epoch,global_index}."""
    return f"{{{cursor['epoch']},{cursor['global_index']}}}"
