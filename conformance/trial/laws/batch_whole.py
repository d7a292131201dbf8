"""Laws of the whole batch: it is its steps, its sequences are independent, and nothing global or hidden gets out."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from conformance.backend.driver import Call
from conformance.contract.model import Contract, LawUse
from conformance.trial.generators.batch import texts, whole
from conformance.trial.generators.relational import Array, Database, Table
from conformance.trial.laws.batch_walks import ADJACENCY, COLLECT, PERMUTATIONS, numbered, random_for
from conformance.trial.laws.law import Asking, Instance, Law, LawTalk, Native, Tools, must, must_equal

GRAPH: Final = "Batch.BuildGraph"
LINEARIZE: Final = "Batch.LinearizeCells"
REMAP: Final = "Batch.RemapText"
BUILD: Final = "Batch.Build"
TEXT: Final = 5
_SLOTS: Final = ("is_null", "numeric_values", "timestamp_values", "bool_values", "categorical_embed_ids")
_ORDERS: Final = ("col_perm", "out_perm", "in_perm")
# Everything of a sequence that has the shape [B, S, ..] and hangs on nothing beside it.
_CELLS: Final = ("semantic_types", "column_ids", "seq_row_ids", *_SLOTS, "is_target", "is_padding", *_ORDERS)


def must_be_alike(expected: Array, actual: Array, what: str, call: Call) -> None:
    """Two tensors are the same, bit for bit; the message names the first element where they differ."""
    kind, other = (expected.dtype.name, expected.shape), (actual.dtype.name, actual.shape)
    must_equal(kind, other, f"{what}: dtype and shape", call)
    bits = np.dtype(f"V{expected.dtype.itemsize}")
    left, right = (np.ascontiguousarray(side).view(bits).reshape(-1) for side in (expected, actual))
    for place in np.flatnonzero([one.tobytes() != other.tobytes() for one, other in zip(left, right, strict=True)])[:1]:
        at = [int(index) for index in np.unravel_index(place, expected.shape)]
        must(False, f"{what}: at {at} it is {actual.flat[place]}, not {expected.flat[place]}", call)


def steps(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {inputs: how many batches}`."""
    return numbered(use, _steps, tools)


def _steps(tools: Tools, numbers: Sequence[int]) -> LawTalk:
    for number in numbers:
        inputs = whole(random_for(number))
        call = tools.call(BUILD, inputs)
        (batch,) = yield from tools.ask([call])
        parts = yield from _by_steps(tools, inputs)
        for name, tensor in parts.items():
            must_be_alike(tensor, batch[name], f"batch {number}: {name}, against that of its step", call)


def _by_steps(tools: Tools, inputs: Native) -> Asking[dict[str, Array]]:
    database, length = inputs["database"], inputs["config"]["sequence_length"]
    (graph,) = yield from tools.ask([tools.call(GRAPH, {"database": database})])
    first = _first_rows(database)[inputs["task"]["table"]]
    seeds = [{**seed, "row": first + seed["row"]} for seed in inputs["seeds"]]
    walk = {"rows": graph["rows"], "seeds": seeds, "config": inputs["config"]}
    (found,) = yield from tools.ask([tools.call(COLLECT, walk)])
    row_ids = found["row_ids"]
    laid_out = tools.call(LINEARIZE, {"database": database, "row_ids": row_ids, "sequence_length": length})
    joined = tools.call(ADJACENCY, {"rows": graph["rows"], "row_ids": row_ids})
    cells, adjacency = yield from tools.ask([laid_out, joined])
    ordered = {name: cells[name] for name in ("column_ids", "seq_row_ids", "is_padding")}
    remapped = {name: cells[name] for name in ("text_embed_ids", "semantic_types", "is_null", "is_padding")}
    order, text = yield from tools.ask(
        [
            tools.call(PERMUTATIONS, {**ordered, **adjacency}),
            tools.call(REMAP, {**remapped, "text_embeddings": database["text_embeddings"]}),
        ]
    )
    return {**cells, **adjacency, **{name: order[name] for name in _ORDERS}, **text}


def _first_rows(database: Database) -> dict[str, int]:
    firsts: dict[str, int] = {}
    offset = 0
    for table in sorted(database["tables"], key=lambda table: table["name"].encode()):
        firsts[table["name"]] = offset
        offset += table["row_count"]
    return firsts


def independence(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {inputs: how many batches}`."""
    return numbered(use, _independence, tools)


def _independence(tools: Tools, numbers: Sequence[int]) -> LawTalk:
    for number in numbers:
        inputs = whole(random_for(number))
        calls = [tools.call(BUILD, {**inputs, "seeds": seeds}) for seeds in _together_and_alone(inputs["seeds"])]
        together, *alone = yield from tools.ask(calls)
        for b, own in enumerate(alone):
            what = f"batch {number}, sequence {b} in company, against alone"
            for name in _CELLS:
                must_be_alike(own[name][0], together[name][b], f"{what}: {name}", calls[0])
            rows = own["fk_adj"].shape[1]
            adjacency = together["fk_adj"][b]
            must_be_alike(own["fk_adj"][0], adjacency[:rows, :rows], f"{what}: fk_adj", calls[0])
            must(int(adjacency.sum()) == int(own["fk_adj"].sum()), f"{what}: fk_adj beyond its rows", calls[0])
            must_be_alike(_gathered(own, 0), _gathered(together, b), f"{what}: the texts of its cells", calls[0])
        longest = max(own["fk_adj"].shape[1] for own in alone)
        must_equal(longest, together["fk_adj"].shape[1], f"batch {number}: R, the most rows of a sequence", calls[0])


def _together_and_alone(seeds: Sequence[Native]) -> list[Sequence[Native]]:
    return [seeds, *([seed] for seed in seeds)]


def _gathered(batch: Mapping[str, Array], b: int) -> Array:
    """The embeddings of a sequence's texts, by position."""
    text = (batch["semantic_types"][b] == TEXT) & ~batch["is_null"][b] & ~batch["is_padding"][b]
    found: Array = batch["text_batch_embeddings"][batch["text_embed_ids"][b][text]]
    return found


def relabelling(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {inputs: how many batches}`."""
    return numbered(use, _relabelling, tools)


def _relabelling(tools: Tools, numbers: Sequence[int]) -> LawTalk:
    for number in numbers:
        inputs = whole(random_for(number))
        moved = relabelled(inputs)
        calls = [tools.call(BUILD, inputs), tools.call(BUILD, moved)]
        before, after = yield from tools.ask(calls)
        for name, tensor in before.items():
            what = f"batch {number} with unrelated rows and texts before its own, tables in another order: {name}"
            must_be_alike(tensor, after[name], what, calls[1])


def relabelled(inputs: Native) -> dict[str, Any]:
    """The same batch asked of a database with one more row before all rows of every table, and one more text.

    Nothing refers to the new rows and they refer to nothing, so that rows and texts keep their order and change their
    numbers. The tables stand in another order.
    """
    moved = copy.deepcopy(dict(inputs))
    for table in moved["database"]["tables"]:
        _put_before(table)
    moved["database"]["tables"].reverse()
    known = moved["database"]["text_embeddings"]
    moved["database"]["text_embeddings"] = np.concatenate([np.full((1, known.shape[1]), 9.5, np.float16), known])
    for seed in moved["seeds"]:
        seed["row"] += 1
    return moved


def _put_before(table: Table) -> None:
    table["row_count"] += 1
    for column in table["columns"]:
        values = column["values"]
        if column["semantic_type"] == "text":
            values = values + np.uint32(1)
        column["values"] = np.concatenate([np.zeros(1, values.dtype), values])
        column["is_null"] = np.concatenate([np.ones(1, np.bool_), column["is_null"]])
    for key in table["foreign_keys"]:
        rows = key["rows"]
        key["rows"] = np.concatenate([np.array([-1], np.int64), np.where(rows >= 0, rows + 1, rows)])


def targets(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {inputs: how many batches}`."""
    return numbered(use, _targets, tools)


def _targets(tools: Tools, numbers: Sequence[int]) -> LawTalk:
    for number in numbers:
        inputs = {**(made := whole(random_for(number))), "seeds": made["seeds"][:1]}
        hidden, other = truth_hidden(inputs, 0), truth_hidden(inputs, 1)
        if hidden is None or other is None:
            continue
        calls = [tools.call(BUILD, one) for one in (inputs, hidden, other)]
        shown, first, second = yield from tools.ask(calls)
        for name, tensor in first.items():
            what = f"batch {number} with another value behind the NULL of its target: {name}"
            must_be_alike(tensor, second[name], what, calls[2])
        place = np.flatnonzero(first["is_target"][0])
        for name in _SLOTS[1:]:
            cleared = not first[name][0][place].view(np.uint8).any()
            must(cleared, f"batch {number}: {name} is not cleared at a target whose truth is NULL", calls[1])
            elsewhere = np.delete(np.arange(first[name].shape[1]), place)
            what = f"batch {number}: {name} beside the target, with and without its truth"
            must_be_alike(shown[name][0][elsewhere], first[name][0][elsewhere], what, calls[1])


def truth_hidden(inputs: Native, variant: int) -> dict[str, Any] | None:
    """The same inputs with NULL for the seed row's truth, and one of two values behind it; None where that moves more.

    A time that dates the rows decides who is seen, and identifiers are never NULL.
    """
    changed = copy.deepcopy(dict(inputs))
    table = next(one for one in changed["database"]["tables"] if one["name"] == changed["task"]["table"])
    column = next(one for one in table["columns"] if one["name"] == changed["task"]["column"])
    fixed = column["semantic_type"] in ("identifier", "ignored") or table.get("time_column") == column["name"]
    if fixed:
        return None
    row = changed["seeds"][0]["row"]
    column["is_null"][row] = True
    column["values"][row] = variant
    return changed


def gathers(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {inputs: how many batches of texts}`."""
    return numbered(use, _gathers, tools)


def _gathers(tools: Tools, numbers: Sequence[int]) -> LawTalk:
    asked = [texts(random_for(number)) for number in numbers]
    calls = [tools.call(REMAP, inputs) for inputs in asked]
    answers = yield from tools.ask(calls)
    for number, inputs, call, answer in zip(numbers, asked, calls, answers, strict=True):
        text = (inputs["semantic_types"] == TEXT) & ~inputs["is_null"] & ~inputs["is_padding"]
        ids, table = answer["text_embed_ids"][text], answer["text_batch_embeddings"]
        must(not answer["text_embed_ids"][~text].any(), f"texts {number}: an id where no text is", call)
        must_equal(list(range(len(table))), sorted(set(ids.tolist())), f"texts {number}: the ids in use", call)
        known = inputs["text_embeddings"][inputs["text_embed_ids"][text]]
        must_be_alike(known, table[ids], f"texts {number}: the gathered rows, against the table's", call)


LAWS: Final = (
    Law(
        "batch-of-its-steps",
        "A batch is what its steps make one after the other.",
        (GRAPH, COLLECT, LINEARIZE, ADJACENCY, PERMUTATIONS, REMAP, BUILD),
        steps,
    ),
    Law(
        "sequences-on-their-own",
        "Seeds built together are seeds built alone, up to R and the text ids.",
        (BUILD,),
        independence,
    ),
    Law(
        "no-global-numbers",
        "Relabelling rows and texts in order, and listing the tables in another order, changes nothing.",
        (BUILD,),
        relabelling,
    ),
    Law(
        "hidden-truth",
        "Of a target whose truth is NULL, the value behind it is nowhere, and the truth is in its own slot alone.",
        (BUILD,),
        targets,
    ),
    Law("texts-of-the-table", "Every text cell leads to its row of the text table, bit for bit.", (REMAP,), gathers),
)
