"""Laws of sharding: the ranks' slices are the global batch, whatever the number of ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any, Final

from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.grid import axes, grid, slug
from conformance.trial.laws.law import Instance, Law, LawTalk, Tools
from conformance.trial.laws.relation import must, must_equal
from conformance.trial.laws.sampler_run import (
    NEXT_BATCH,
    START,
    Cursor,
    SamplerRun,
    Step,
    ask_steps,
    shown,
    walk,
)

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
