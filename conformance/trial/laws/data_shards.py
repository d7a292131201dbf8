"""Laws of sharding: the ranks' slices are the global batch, whatever the number of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, repeat
from typing import Any, Final

from conformance.backend.driver import Call
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.law import (
    Asking,
    Instance,
    Law,
    LawBroken,
    LawTalk,
    Tools,
    axes,
    derived_bytes,
    grid,
    must,
    must_equal,
    slug,
)

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


_AT_EACH_END: Final = 4  # steps; a long epoch is asked at its beginning, its middle and its end
_EPOCHS: Final = 2  # walked, so that the world size changes across the roll-over as well


def shards(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, block, world_size, per_rank: samples of one rank, stages}`.

    An epoch of more than twelve steps is asked at its first, middle and last four.
    """
    defaults = {
        "cardinality": [10, 97],
        "block": [3, 64],
        "world_size": [1, 2, 3, 4, 8],
        "per_rank": [1, 3],
        "stages": ["train", "eval", "infer"],
    }
    for point in grid(axes(use, defaults)):
        batch = point["world_size"] * point["per_rank"]
        run = SamplerRun(point["cardinality"], batch, point["block"], point["stages"])
        yield Instance(slug(point), partial(_shard_reassembly, tools, run, point["world_size"]))


def _shard_reassembly(tools: Tools, run: SamplerRun, world_size: int) -> LawTalk:
    cursors = _spread(run.cursors(0))
    alone = yield from ask_steps(tools, run, cursors)
    sharded = yield from ask_steps(tools, run, cursors, world_size)
    for whole, step in zip(alone, sharded, strict=True):
        where = f"{world_size} ranks at {shown(step.cursor)}"
        _must_share(step, run.global_batch_size // world_size, where)
        must_equal(whole.indices, step.indices, f"{where}: the ranks' indices, concatenated", step.calls[-1])
        for rank, answer in enumerate(step.answers):
            what = f"{where}: rank {rank}"
            must_equal(_common(step.answers[0]), _common(answer), f"{what}, held to rank 0", step.calls[rank])
            for name in ("cursor_next", "sampling_metadata"):
                must_equal(whole.answers[0][name], answer[name], f"{what}, held to one rank: {name}", step.calls[rank])


def _spread(cursors: Sequence[Cursor]) -> list[Cursor]:
    if len(cursors) <= 3 * _AT_EACH_END:
        return list(cursors)
    middle = len(cursors) // 2
    return [*cursors[:_AT_EACH_END], *cursors[middle : middle + _AT_EACH_END], *cursors[-_AT_EACH_END:]]


def _must_share(step: Step, share: int, where: str) -> None:
    produced = step.answers[0]["sampling_metadata"]["produced_count"]
    for rank, answer in enumerate(step.answers):
        expected = max(0, min(share, produced - rank * share))
        came = len(answer["batch_sample_indices"])
        message = f"{where}: rank {rank} got {came} of {produced} samples, not {expected}"
        must(came == expected, message, step.calls[rank])


def _common(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What every rank must answer alike: all but its own indices and its own replay token."""
    trace_record = {name: value for name, value in answer["trace_record"].items() if name != "data_replay_t"}
    return {
        "cursor_next": answer["cursor_next"],
        "sampling_metadata": answer["sampling_metadata"],
        "trace_record": trace_record,
    }


def world_sizes(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, block, batch, changes: sequences of world sizes, cyclic, one per step, stages}`.

    A batch is a multiple of every world size.
    """
    defaults = {
        "cardinality": [97],
        "block": [16],
        "batch": 24,
        "changes": [[1, 2, 3, 4, 8], [8, 1], [24, 12, 6]],
        "stages": ["train", "eval"],
    }
    for point in grid(axes(use, defaults)):
        run = SamplerRun(point["cardinality"], point["batch"], point["block"], point["stages"])
        named = {**point, "changes": "-".join(map(str, point["changes"]))}
        yield Instance(slug(named), partial(_world_size_independence, tools, run, point["changes"]))


def _world_size_independence(tools: Tools, run: SamplerRun, changes: Sequence[int]) -> LawTalk:
    count = _EPOCHS * len(run.cursors(0))
    alone = yield from walk(tools, run, START, count)
    sharded = yield from walk(tools, run, START, count, cycle(changes))
    what = "world sizes " + ", ".join(map(str, changes))
    for expected, actual in zip(alone, sharded, strict=True):
        must_equal(expected.cursor, actual.cursor, f"{what}: the cursor before a step", actual.calls[0])
        must_equal(expected.indices, actual.indices, f"{what}: the batch at {shown(actual.cursor)}", actual.calls[0])


LAWS: Final = (
    Law(
        "shard-reassembly",
        "The ranks' indices, concatenated, are the global batch, and all ranks answer the same cursor and metadata.",
        (NEXT_BATCH,),
        shards,
    ),
    Law(
        "world-size-independence",
        "The global sequence is the same for every world size, also when it changes in the middle of an epoch.",
        (NEXT_BATCH,),
        world_sizes,
    ),
)
