"""Laws of the cursor and of what a run leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, Final

from conformance.backend.driver import RESTART
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.data_shards import DATASET_KEYS, NEXT_BATCH, START, SamplerRun, Step, ask_step, shown, walk
from conformance.trial.laws.law import (
    Asking,
    Instance,
    Law,
    LawTalk,
    Tools,
    axes,
    derived_choice,
    derived_number,
    grid,
    must,
    must_equal,
    slug,
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


ENCODE: Final = "UML_OS.Data.EncodeCursors_v1"
DECODE: Final = "UML_OS.Data.DecodeCursors_v1"
SUMMARIZE: Final = "UML_OS.Data.SummarizeRun_v1"
# Both sides of every change of head width, and what binary64 cannot hold.
_COUNTERS: Final = (0, 1, 23, 24, 255, 256, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1)
_KEY_LENGTHS: Final = (1, 2, 3, 7, 22, 23, 24, 25)
# U+FFFD and U+1F600 stand in the opposite order in UTF-16.
_LETTERS: Final = ("a", "b", "B", "é", "界", "\ufffd", "\U0001f600")


def cursor_round_trips(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {maps: how many derived maps, keys: the most keys of one}`; one instance per map."""
    chosen = axes(use, {"maps": 32, "keys": 30})
    for number in range(chosen["maps"][0]):
        talk = partial(_cursor_round_trip, tools, derived_cursors(number, chosen["keys"][0]))
        yield Instance(slug({"map": number}), talk)


def derived_cursors(number: int, most: int) -> dict[str, Any]:
    """The map that a number stands for: 0 the empty one, 1 one with the empty key, the last counts of keys hashed."""
    count = number if number < 2 else 1 + derived_number(f"cursors {number}", most)
    cursors = {}
    for place in range(count):
        name = f"cursors {number} {place}"
        length = 0 if place == 0 and number % 4 == 1 else derived_choice(f"{name} length", _KEY_LENGTHS)
        key = "".join(derived_choice(f"{name} letter {letter}", _LETTERS) for letter in range(length))
        counters = ("epoch", "global_index")
        cursors[key] = {counter: derived_choice(f"{name} {counter}", _COUNTERS) for counter in counters}
    return cursors


def _cursor_round_trip(tools: Tools, cursors: dict[str, Any]) -> LawTalk:
    written = tools.call(ENCODE, {"cursors": cursors})
    backwards = tools.call(ENCODE, {"cursors": dict(reversed(cursors.items()))})
    encoded, reordered = yield from tools.ask([written, backwards])
    data: bytes = encoded["cursors_cbor"]
    must(reordered["cursors_cbor"] == data, "the order in which keys are given changes the bytes", backwards)
    read = tools.call(DECODE, {"cursors_cbor": data})
    (decoded,) = yield from tools.ask([read])
    must_equal(cursors, decoded["cursors"], "decoded from what was encoded", read)
    rewritten = tools.call(ENCODE, {"cursors": decoded["cursors"]})
    (again,) = yield from tools.ask([rewritten])
    must_equal(data, again["cursors_cbor"], "encoded from what was decoded", rewritten)
    # No beginning of a CBOR item is an item, and nothing may follow one.
    yield from tools.ask_refused([tools.call(DECODE, {"cursors_cbor": near}) for near in (data[:-1], data + b"\0")])


def summaries(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, batch, block, world_size, stages, drop_last, calls: how many calls are summarized}`.

    An instance summarizes every number of calls. Left out is what a guard refuses.
    """
    defaults = {
        "cardinality": [26],
        "batch": 8,
        "block": 5,
        "world_size": [1, 4],
        "stages": ["train", "eval"],
        "drop_last": [False, True],
        "calls": [0, 1, 4, 9],
    }
    chosen = axes(use, defaults)
    lengths = chosen.pop("calls")
    for point in grid(chosen):
        sizes = (point["cardinality"], point["batch"], point["block"])
        run = SamplerRun(*sizes, stage_type=point["stages"], drop_last=point["drop_last"])
        if not run.refused:
            yield Instance(slug(point), partial(_summary_of_a_run, tools, run, point["world_size"], lengths))


def _summary_of_a_run(tools: Tools, run: SamplerRun, world_size: int, lengths: Sequence[int]) -> LawTalk:
    steps = yield from walk(tools, run, START, max(lengths), repeat(world_size))
    for length in lengths:
        yield from _must_summarize(tools, run, steps[:length])


def _must_summarize(tools: Tools, run: SamplerRun, steps: Sequence[Step]) -> Asking[None]:
    # Every rank keeps a trace of its own; all of them must add up to the same run.
    ranks = range(len(steps[0].answers) if steps else 1)
    per_rank = [[step.answers[rank]["trace_record"] for step in steps] for rank in ranks]
    calls = [
        tools.call(
            SUMMARIZE,
            {
                "dataset_key": run.dataset_key,
                "cardinality": run.cardinality,
                "sampler_block_size": run.sampler_block_size,
                "trace_records": records,
            },
        )
        for records in per_rank
    ]
    seen = sum(len(step.indices) for step in steps)
    run_end = {"final_epoch": steps[-1].cursor_next["epoch"] if steps else 0, "total_samples_seen": seen}
    for call, answer in zip(calls, (yield from tools.ask(calls)), strict=True):
        what = f"the summary of {len(steps)} steps"
        must_equal(run_end, answer["run_end"], what, call)
        for name in ("dataset_key", "cardinality", "sampler_block_size"):
            must_equal(getattr(run, name), answer["run_header"][name], f"{what}: {name}", call)
        if steps:
            shuffled = steps[0].answers[0]["sampling_metadata"]["is_shuffled"]
            stages = answer["run_header"]["is_shuffled_per_stage"]
            must_equal(shuffled, stages.get(run.stage_type), f"{what}: whether {run.stage_type} is shuffled", call)


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
    Law(
        "cursor-round-trip",
        "Cursors survive encoding and decoding, their bytes survive decoding and encoding, and no byte is spare.",
        (ENCODE, DECODE),
        cursor_round_trips,
    ),
    Law(
        "summary-of-a-run",
        "The summary of a run's trace counts the samples that came and ends in the epoch where its cursor stands.",
        (NEXT_BATCH, SUMMARIZE),
        summaries,
    ),
)
