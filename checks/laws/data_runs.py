"""Laws of a run over several ranks, calls and processes: shards, cursors, restores and the run's summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle, product, repeat
from typing import Any, Final

from checks.laws.data_epochs import DATASET_KEYS, Cursor, SamplerRun, Step, ask_steps, shown, walk
from conformance.backend.driver import RESTART
from conformance.trial.law import (
    Asking,
    Law,
    LawTalk,
    Point,
    Split,
    Tools,
    derived_choice,
    derived_number,
    must,
    must_equal,
)

ENCODE: Final = "UML_OS.Data.EncodeCursors_v1"
DECODE: Final = "UML_OS.Data.DecodeCursors_v1"
SUMMARIZE: Final = "UML_OS.Data.SummarizeRun_v1"
_AT_EACH_END: Final = 4  # steps; a long epoch is asked at its beginning, its middle and its end
_EPOCHS: Final = 2  # walked, so that the world size changes across the roll-over as well
# Both sides of every change of head width, and what binary64 cannot represent.
_COUNTERS: Final = (0, 1, 23, 24, 255, 256, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1)
_KEY_LENGTHS: Final = (1, 2, 3, 7, 22, 23, 24, 25)
# U+FFFD and U+1F600 have the opposite order in UTF-16.
_LETTERS: Final = ("a", "b", "B", "é", "界", "\ufffd", "\U0001f600")


def _shard_reassembly(
    tools: Tools, cardinality: int, block: int, world_size: int, per_rank: int, stages: str
) -> LawTalk:
    """An epoch of more than twelve steps is asked at its first, middle and last four."""
    run = SamplerRun(cardinality, world_size * per_rank, block, stages)
    cursors = _spread(run.cursors(0))
    alone = yield from ask_steps(tools, run, cursors)
    sharded = yield from ask_steps(tools, run, cursors, world_size)
    for whole, step in zip(alone, sharded, strict=True):
        where = f"{world_size} ranks at {shown(step.cursor)}"
        produced = step.answers[0]["sampling_metadata"]["produced_count"]
        for rank, (call, answer) in enumerate(zip(step.calls, step.answers, strict=True)):
            expected, came = max(0, min(per_rank, produced - rank * per_rank)), len(answer["batch_sample_indices"])
            must(came == expected, f"{where}: rank {rank} got {came} of {produced} samples, not {expected}", call)
        must_equal(whole.indices, step.indices, f"{where}: the ranks' indices, concatenated", step.calls[-1])
        for rank, (call, answer) in enumerate(zip(step.calls, step.answers, strict=True)):
            what = f"{where}: rank {rank}, compared with"
            must_equal(_common(step.answers[0]), _common(answer), f"{what} rank 0", call)
            for name in ("cursor_next", "sampling_metadata"):
                must_equal(whole.answers[0][name], answer[name], f"{what} one rank: {name}", call)


def _spread(cursors: Sequence[Cursor]) -> list[Cursor]:
    if len(cursors) <= 3 * _AT_EACH_END:
        return list(cursors)
    middle = len(cursors) // 2
    return [*cursors[:_AT_EACH_END], *cursors[middle : middle + _AT_EACH_END], *cursors[-_AT_EACH_END:]]


def _common(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that every rank must answer alike: all but its own indices and its own replay token."""
    trace_record = {name: value for name, value in answer["trace_record"].items() if name != "data_replay_t"}
    return {
        "cursor_next": answer["cursor_next"],
        "sampling_metadata": answer["sampling_metadata"],
        "trace_record": trace_record,
    }


def _world_size_independence(
    tools: Tools, cardinality: int, block: int, batch: int, changes: Sequence[int], stages: str
) -> LawTalk:
    """`changes` is the world size of each step, in a circle; the batch is a multiple of each."""
    run = SamplerRun(cardinality, batch, block, stages)
    count = _EPOCHS * len(run.cursors(0))
    alone = yield from walk(tools, run, count)
    sharded = yield from walk(tools, run, count, cycle(changes))
    what = "world sizes " + ", ".join(map(str, changes))
    for expected, actual in zip(alone, sharded, strict=True):
        must_equal(expected.cursor, actual.cursor, f"{what}: the cursor before a step", actual.calls[0])
        must_equal(expected.indices, actual.indices, f"{what}: the batch at {shown(actual.cursor)}", actual.calls[0])


def _restored_runs(arguments: Point) -> list[tuple[SamplerRun, int]]:
    """The runs of one cardinality and batch that no guard refuses, with their world sizes."""
    shared = (arguments[name] for name in ("stages", "drop_last", "block", "world_size"))
    every = [
        (SamplerRun(arguments["cardinality"], arguments["batch"], block, stage, drop_last), world_size)
        for stage, drop_last, block, world_size in product(*shared)
    ]
    return [(run, world_size) for run, world_size in every if not run.refused]


def _restore_continuity(tools: Tools, **arguments: Any) -> LawTalk:
    """A process is expensive, so all runs share five restarts; after each of them another run is asked first."""
    walked: list[tuple[SamplerRun, int, list[Step]]] = []
    for run, ranks in _restored_runs(arguments):
        # One step into the next epoch, so that the cursor at the end of an epoch is restored as well.
        steps = yield from walk(tools, run, len(run.cursors(0)) + 1, repeat(ranks))
        walked.append((run, ranks, steps))
    # The middle is restored twice, the first time for one step only: as if the process ended before its cursor was
    # saved. The others are the start, the last step and the next epoch.
    for number, place in enumerate(("start", "middle", "middle on", "last", "next")):
        yield RESTART
        turn = number % len(walked)
        for run, ranks, steps in (*walked[turn:], *walked[:turn]):
            middle = len(steps) // 2
            start = {"start": 0, "last": len(steps) - 2, "next": len(steps) - 1}.get(place, middle)
            count = len(steps) if place == "middle on" else 1
            yield from _go_on(tools, run, ranks, steps[start : start + count], start)


def _go_on(tools: Tools, run: SamplerRun, world_size: int, steps: Sequence[Step], t: int) -> Asking[None]:
    """Ask these steps again, each at the cursor that the restored process itself answered."""
    start = cursor = steps[0].cursor
    settings = f"{run.stage}, block {run.block}, drop_last {str(run.drop_last).lower()}, W {world_size}"
    for number, step in enumerate(steps, t):
        (restored,) = yield from ask_steps(tools, run, [cursor], world_size, number)
        what = f"{settings}: restored at {shown(start)}, the step at {shown(cursor)}: rank"
        must_equal(step.answers, restored.answers, what, restored.calls[0])
        cursor = restored.cursor_next


def _cursor_purity(tools: Tools, cardinality: int, batch: int, block: int, order: str) -> LawTalk:
    run = SamplerRun(cardinality, batch, block)
    runs = [
        run,
        replace(run, dataset_key=DATASET_KEYS[1]),
        replace(run, seed=run.seed + 1),
        replace(run, block=run.block + 1),
        replace(run, stage="eval"),
    ]
    cursors = [cursor for epoch in (0, 1, 7) for cursor in run.cursors(epoch)[:3]]
    # Grouped by run, then by cursor, then by rank: the order in which a backend with a memory would be right.
    calls = [one.call(tools, cursor, 2, rank) for one in runs for cursor in cursors for rank in (0, 1)]
    first = yield from tools.ask(calls)
    places = range(len(calls))
    per_run = len(calls) // len(runs)
    orders: dict[str, Sequence[int]] = {
        "repeated": [place for place in places for _ in range(2)],
        "interleaved": [place for start in range(per_run) for place in places[start::per_run]],
        "reversed": places[::-1],
    }
    if order == "reversed":
        yield RESTART  # or a backend that keeps what the first of several calls made would answer alike again
    again = yield from tools.ask([calls[place] for place in orders[order]])
    for place, answer in zip(orders[order], again, strict=True):
        must_equal(first[place], answer, f"asked again, {order}", calls[place])


def derived_cursors(number: int, most: int) -> dict[str, Any]:
    """The map with a number: 0 is empty, 1 has the empty key, the others have up to `most` keys."""
    count = number if number < 2 else 1 + derived_number(f"cursors {number}", most)
    cursors = {}
    for place in range(count):
        name = f"cursors {number} {place}"
        length = 0 if place == 0 and number % 4 == 1 else derived_choice(f"{name} length", _KEY_LENGTHS)
        key = "".join(derived_choice(f"{name} letter {letter}", _LETTERS) for letter in range(length))
        counters = ("epoch", "global_index")
        cursors[key] = {counter: derived_choice(f"{name} {counter}", _COUNTERS) for counter in counters}
    return cursors


def _cursor_round_trip(tools: Tools, map: int, keys: Sequence[int]) -> LawTalk:
    cursors = derived_cursors(map, keys[0])
    _, encoded = yield from tools.ask_one(ENCODE, {"cursors": cursors})
    data: bytes = encoded["cursors_cbor"]
    backwards, reordered = yield from tools.ask_one(ENCODE, {"cursors": dict(reversed(cursors.items()))})
    must(reordered["cursors_cbor"] == data, "the order in which keys are given changes the bytes", backwards)
    read, decoded = yield from tools.ask_one(DECODE, {"cursors_cbor": data})
    must_equal(cursors, decoded["cursors"], "decoded from what was encoded", read)
    write, again = yield from tools.ask_one(ENCODE, {"cursors": decoded["cursors"]})
    must_equal(data, again["cursors_cbor"], "encoded from what was decoded", write)
    # No beginning of a CBOR item is an item, and nothing may follow one.
    yield from tools.ask_refused([tools.call(DECODE, {"cursors_cbor": near}) for near in (data[:-1], data + b"\0")])


def _is_accepted(point: Point) -> bool:
    """Whether no guard refuses the run."""
    sizes = (point["cardinality"], point["batch"], point["block"])
    return not SamplerRun(*sizes, point["stages"], point["drop_last"]).refused


def _summary_of_a_run(
    tools: Tools,
    cardinality: int,
    batch: int,
    block: int,
    world_size: int,
    stages: str,
    drop_last: bool,
    calls: Sequence[int],
) -> LawTalk:
    """Each number of calls is summarized."""
    run = SamplerRun(cardinality, batch, block, stages, drop_last)
    steps = yield from walk(tools, run, max(calls), repeat(world_size))
    for length in calls:
        yield from _must_summarize(tools, run, steps[:length])


def _must_summarize(tools: Tools, run: SamplerRun, steps: Sequence[Step]) -> Asking[None]:
    """Every rank keeps a trace of its own; the trace of each must add up to the same run."""
    seen = sum(len(step.indices) for step in steps)
    run_end = {"final_epoch": steps[-1].cursor_next["epoch"] if steps else 0, "total_samples_seen": seen}
    header = {"dataset_key": run.dataset_key, "cardinality": run.cardinality, "sampler_block_size": run.block}
    what = f"the summary of {len(steps)} steps"
    for rank in range(len(steps[0].answers) if steps else 1):
        records = [step.answers[rank]["trace_record"] for step in steps]
        call, answer = yield from tools.ask_one(SUMMARIZE, {**header, "trace_records": records})
        must_equal(run_end, answer["run_end"], what, call)
        for name, value in header.items():
            must_equal(value, answer["run_header"][name], f"{what}: {name}", call)
        if steps:
            shuffled = steps[0].answers[0]["sampling_metadata"]["is_shuffled"]
            stages = answer["run_header"]["is_shuffled_per_stage"]
            must_equal(shuffled, stages.get(run.stage), f"{what}: whether {run.stage} is shuffled", call)


LAWS: Final = (
    Law(
        "shard-reassembly",
        _shard_reassembly,
        {
            "cardinality": [10, 97],
            "block": [3, 64],
            "world_size": [1, 2, 3, 4, 8],
            "per_rank": [1, 3],
            "stages": ["train", "eval", "infer"],
        },
    ),
    Law(
        "world-size-independence",
        _world_size_independence,
        {
            "cardinality": [97],
            "block": [16],
            "batch": 24,
            "changes": [[1, 2, 3, 4, 8], [8, 1], [24, 12, 6]],
            "stages": ["train", "eval"],
        },
    ),
    Law(
        "restore-continuity",
        _restore_continuity,
        {
            "cardinality": [26],
            "batch": 8,
            "block": [3, 64],
            "world_size": [1, 4],
            "drop_last": [False, True],
            "stages": ["train", "eval"],
        },
        Split(
            whole=("block", "world_size", "drop_last", "stages"), fits=lambda arguments: bool(_restored_runs(arguments))
        ),
        restarts=lambda arguments: True,
    ),
    Law(
        "cursor-purity",
        _cursor_purity,
        {"cardinality": [26], "batch": 8, "block": 5, "order": ["repeated", "interleaved", "reversed"]},
        restarts=lambda arguments: bool(arguments["order"] == "reversed"),
    ),
    Law(
        "cursor-round-trip",
        _cursor_round_trip,
        {"maps": 32, "keys": 30},
        Split(whole=("keys",), counts={"maps": "map"}),
    ),
    Law(
        "summary-of-a-run",
        _summary_of_a_run,
        {
            "cardinality": [26],
            "batch": 8,
            "block": 5,
            "world_size": [1, 4],
            "stages": ["train", "eval"],
            "drop_last": [False, True],
            "calls": [0, 1, 4, 9],
        },
        Split(whole=("calls",), fits=_is_accepted),
    ),
)
