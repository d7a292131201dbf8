"""Laws of what a run leaves behind: the cursors of its checkpoint and the summary of its trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final

from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.derived import derived_choice, derived_number
from conformance.trial.laws.grid import axes, grid, slug
from conformance.trial.laws.law import Asking, Instance, Law, LawTalk, Tools
from conformance.trial.laws.relation import must, must_equal
from conformance.trial.laws.sampler_run import NEXT_BATCH, START, SamplerRun, Step, walk

ENCODE: Final = "UML_OS.Data.EncodeCursors_v1"
DECODE: Final = "UML_OS.Data.DecodeCursors_v1"
SUMMARIZE: Final = "UML_OS.Data.SummarizeRun_v1"
# Both sides of every change of head width, and what binary64 cannot hold.
_COUNTERS: Final = (0, 1, 23, 24, 255, 256, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1)
_KEY_LENGTHS: Final = (1, 2, 3, 7, 22, 23, 24, 25)
# U+FFFD and U+1F600 stand in the opposite order in UTF-16.
_LETTERS: Final = ("a", "b", "B", "é", "界", "\ufffd", "\U0001f600")


def round_trips(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
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
        "cursor-round-trip",
        "Cursors survive encoding and decoding, their bytes survive decoding and encoding, and no byte is spare.",
        (ENCODE, DECODE),
        round_trips,
    ),
    Law(
        "summary-of-a-run",
        "The summary of a run's trace counts the samples that came and ends in the epoch where its cursor stands.",
        (NEXT_BATCH, SUMMARIZE),
        summaries,
    ),
)
