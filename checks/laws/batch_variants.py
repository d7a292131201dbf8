"""Laws of the variants of a batch: what a seed of the children, and a fixed number of rows, leave as it is."""

from __future__ import annotations

from typing import Final

from checks.generators.batch import walk
from checks.laws.batch import BUILD, COLLECT, derived, must_be_alike, widened
from conformance.trial.law import LawTalk, Native, Tools, must_equal


def _seeded_walks(tools: Tools, inputs: Native, where: str) -> LawTalk:
    config = {"sequence_length": 65_536, "cutoff": inputs["config"]["cutoff"]}
    seeds: tuple[Native, ...] = ({}, {"children_seed": 0}, {"children_seed": 2**64 - 1})
    calls = [tools.call(COLLECT, {**inputs, "config": {**config, **seed}}) for seed in seeds]
    plain, *seeded = yield from tools.ask(calls)
    for answer, call in zip(seeded, calls[1:], strict=True):
        rows = [sorted(ids) for ids in answer["row_ids"]]
        what = f"{where}: the rows of each sequence, in any order, without a seed of the children and with one"
        must_equal([sorted(ids) for ids in plain["row_ids"]], rows, what, call)


def _static_shapes(tools: Tools, inputs: Native, where: str) -> LawTalk:
    config = {name: value for name, value in inputs["config"].items() if name != "fixed_rows"}
    for rows in (1, 3, 40):
        limited = {**config, "max_rows": min(rows, config.get("max_rows", rows))}
        calls = [tools.call(BUILD, {**inputs, "config": one}) for one in (limited, {**config, "fixed_rows": rows})]
        own, fixed = yield from tools.ask(calls)
        for name, tensor in {**own, "fk_adj": widened(own["fk_adj"], rows)}.items():
            what = f"{where}: {name} of {rows} fixed rows, against that of as many max_rows"
            must_be_alike(tensor, fixed[name], what, calls[1])


LAWS: Final = (
    derived(
        "seed-of-children-orders-alone",
        _seeded_walks,
        walk,
    ),
    derived(
        "static-shapes",
        _static_shapes,
    ),
)
