"""Laws of the cursor: whoever holds it can go on anywhere, and nothing else is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Final

from conformance.backend.drive import RESTART
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.grid import axes, grid, slug
from conformance.trial.laws.law import Asking, Instance, Law, LawTalk, Tools
from conformance.trial.laws.relation import must_equal
from conformance.trial.laws.sampler_run import (
    DATASET_KEYS,
    NEXT_BATCH,
    START,
    SamplerRun,
    Step,
    ask_step,
    shown,
    walk,
)


@dataclass(frozen=True, slots=True)
class RankedRun:
    """A run and the number of its ranks."""

    run: SamplerRun
    world_size: int

    def __str__(self) -> str:
        run = self.run
        drop_last = str(run.drop_last).lower()
        return f"{run.stage_type}, block {run.sampler_block_size}, drop_last {drop_last}, W {self.world_size}"


def restores(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, batch, block, world_size, drop_last, stages}`; left out is what a guard refuses.

    A process is expensive, so the runs of one cardinality and batch share six of them; each time another run is asked
    first.
    """
    defaults = {
        "cardinality": [26],
        "batch": 8,
        "block": [3, 64],
        "world_size": [1, 4],
        "drop_last": [False, True],
        "stages": ["train", "eval"],
    }
    chosen = axes(use, defaults)
    shared = {name: chosen.pop(name) for name in ("stages", "drop_last", "block", "world_size")}
    for point in grid(chosen):
        ranked = []
        for one in grid(shared):
            run = SamplerRun(point["cardinality"], point["batch"], one["block"], one["stages"], one["drop_last"])
            ranked += [] if run.refused else [RankedRun(run, one["world_size"])]
        if ranked:
            yield Instance(slug(point), partial(_restore_continuity, tools, ranked), alone=True)


def _restore_continuity(tools: Tools, runs: Sequence[RankedRun]) -> LawTalk:
    whole: dict[RankedRun, list[Step]] = {}
    for ranked in runs:
        # One step into the next epoch, so that the cursor at the end of an epoch is restored as well.
        whole[ranked] = yield from walk(
            tools, ranked.run, START, len(ranked.run.cursors(0)) + 1, repeat(ranked.world_size)
        )
    for number, restore in enumerate((_from_start, _saved_twice, _from_middle, _from_last_step, _from_next_epoch)):
        yield RESTART
        turn = number % len(runs)
        for ranked in (*runs[turn:], *runs[:turn]):
            yield from restore(tools, ranked, whole[ranked])


def _from_start(tools: Tools, ranked: RankedRun, whole: Sequence[Step]) -> Asking[None]:
    yield from _goes_on(tools, ranked, whole, 0, 1)


def _saved_twice(tools: Tools, ranked: RankedRun, whole: Sequence[Step]) -> Asking[None]:
    """The process computes the batch and ends before its cursor is taken: the next one restores the same cursor."""
    yield from _goes_on(tools, ranked, whole, len(whole) // 2, 1)


def _from_middle(tools: Tools, ranked: RankedRun, whole: Sequence[Step]) -> Asking[None]:
    yield from _goes_on(tools, ranked, whole, len(whole) // 2, len(whole))


def _from_last_step(tools: Tools, ranked: RankedRun, whole: Sequence[Step]) -> Asking[None]:
    yield from _goes_on(tools, ranked, whole, len(whole) - 2, 1)


def _from_next_epoch(tools: Tools, ranked: RankedRun, whole: Sequence[Step]) -> Asking[None]:
    yield from _goes_on(tools, ranked, whole, len(whole) - 1, 1)


def _goes_on(tools: Tools, ranked: RankedRun, whole: Sequence[Step], start: int, count: int) -> Asking[None]:
    """The steps from `start`, each at the cursor that the restored process itself answered, equal the whole run's."""
    cursor = whole[start].cursor
    for t, step in enumerate(whole[start : start + count], start):
        restored = yield from ask_step(tools, ranked.run, cursor, ranked.world_size, t)
        what = f"{ranked}: restored at {shown(whole[start].cursor)}, the step at {shown(cursor)}: rank"
        must_equal(step.answers, restored.answers, what, restored.calls[0])
        cursor = restored.cursor_next


def orders(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, batch, block, order}`, order: repeated, interleaved, or reversed in a fresh process."""
    defaults = {"cardinality": [26], "batch": 8, "block": 5, "order": ["repeated", "interleaved", "reversed"]}
    for point in grid(axes(use, defaults)):
        run = SamplerRun(point["cardinality"], point["batch"], point["block"])
        talk = partial(_cursor_purity, tools, run, point["order"])
        yield Instance(slug(point), talk, alone=point["order"] == "reversed")


def _cursor_purity(tools: Tools, run: SamplerRun, order: str) -> LawTalk:
    runs = [
        run,
        replace(run, dataset_key=DATASET_KEYS[1]),
        replace(run, seed=run.seed + 1),
        replace(run, sampler_block_size=run.sampler_block_size + 1),
        replace(run, stage_type="eval"),
    ]
    cursors = [cursor for epoch in (0, 1, 7) for cursor in run.cursors(epoch)[:3]]
    # Grouped by run, then by cursor, then by rank: the order in which a backend with a memory would be right.
    calls = [
        tools.call(NEXT_BATCH, one.inputs(cursor, 2, rank)) for one in runs for cursor in cursors for rank in (0, 1)
    ]
    first = yield from tools.ask(calls)
    places = _reordered(len(calls), len(calls) // len(runs), order)
    if order == "reversed":
        yield RESTART  # or a backend that keeps what the first of several calls made would answer alike again
    again = yield from tools.ask([calls[place] for place in places])
    for place, answer in zip(places, again, strict=True):
        must_equal(first[place], answer, f"asked again, {order}", calls[place])


def _reordered(count: int, per_run: int, order: str) -> Sequence[int]:
    if order == "repeated":
        return [place for place in range(count) for _ in range(2)]
    if order == "reversed":
        return range(count - 1, -1, -1)
    if order == "interleaved":  # one call of each run in turn
        return [place for start in range(per_run) for place in range(start, count, per_run)]
    raise ValueError(f"order is repeated, reversed or interleaved, not {order!r}")


LAWS: Final = (
    Law(
        "restore-continuity",
        "From every cursor a fresh process goes on exactly as the uninterrupted run did.",
        (NEXT_BATCH,),
        restores,
    ),
    Law(
        "cursor-purity",
        "An answer depends on the call alone, not on the calls before it or on their order.",
        (NEXT_BATCH,),
        orders,
    ),
)
