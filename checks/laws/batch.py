"""Laws of batches: the walk from row to row, orders, the whole batch against its steps, what stays hidden, variants."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, Final

import numpy as np

from checks.generators.batch import cell_graph, texts, walk, whole
from checks.generators.relational import Array
from conformance.backend.driver import Call
from conformance.trial.law import (
    Asking,
    Axes,
    Law,
    LawTalk,
    Native,
    Point,
    Tools,
    must,
    must_be_permutation,
    must_equal,
    slug,
)

COLLECT: Final = "Batch.CollectRows"
ADJACENCY: Final = "Batch.BuildAdjacency"
PERMUTATIONS: Final = "Batch.Permutations"
MASKS: Final = "Batch.AttentionMasks"
GRAPH: Final = "Batch.BuildGraph"
LINEARIZE: Final = "Batch.LinearizeCells"
REMAP: Final = "Batch.RemapText"
BUILD: Final = "Batch.Build"
TEXT: Final = 5
Draw = Callable[[Random], Native]
Relation = Callable[[Tools, Native, str], LawTalk]
_TOGETHER: Final = 10  # derived inputs in one instance
_SLOTS: Final = ("is_null", "numeric_values", "timestamp_values", "bool_values", "categorical_embed_ids")
_ORDERS: Final = ("col_perm", "out_perm", "in_perm")
# The tensors of shape [B, S, ..] whose values do not depend on the other sequences.
_CELLS: Final = ("semantic_types", "column_ids", "seq_row_ids", *_SLOTS, "is_target", "is_padding", *_ORDERS)


def _in_tens(chosen: Axes) -> Iterator[tuple[str, Point]]:
    """Instances of ten derived inputs each; `inputs` is how many there are."""
    (wanted,) = chosen["inputs"]
    for start in range(0, wanted, _TOGETHER):
        numbers = range(start, min(start + _TOGETHER, wanted))
        yield slug({"inputs": numbers}), {"numbers": numbers}


def _for_each_input(draw: Draw, relation: Relation, tools: Tools, numbers: Sequence[int]) -> LawTalk:
    for number in numbers:
        inputs = draw(Random(f"batch law {number}"))  # noqa: S311
        yield from relation(tools, inputs, f"input {number}")


def derived(name: str, relation: Relation, draw: Draw = whole) -> Law:
    """A law of a relation in each of so many derived inputs."""
    return Law(name, partial(_for_each_input, draw, relation), {"inputs": 40}, _in_tens)


def must_be_alike(expected: Array, actual: Array, what: str, call: Call) -> None:
    """Two tensors are the same, bit for bit; the message names the first element where they differ."""
    kind, other = (expected.dtype.name, expected.shape), (actual.dtype.name, actual.shape)
    must_equal(kind, other, f"{what}: dtype and shape", call)
    left, right = (np.ascontiguousarray(side).reshape(-1, 1).view(np.uint8) for side in (expected, actual))
    for place in np.flatnonzero((left != right).any(axis=1))[:1]:
        at = [int(index) for index in np.unravel_index(place, expected.shape)]
        must(False, f"{what}: at {at} it is {actual.flat[place]}, not {expected.flat[place]}", call)


def _walks(tools: Tools, inputs: Native, where: str) -> LawTalk:
    alone = [{**inputs, "seeds": [seed]} for seed in inputs["seeds"]]
    calls = [tools.call(COLLECT, one) for one in (inputs, *alone)]
    together, *each = yield from tools.ask(calls)
    for name in ("row_ids", "hops"):
        what = f"{where}: {name} of seeds asked together, against each alone"
        must_equal([answer[name][0] for answer in each], together[name], what, calls[0])
    for b, seed in enumerate(inputs["seeds"]):
        place = f"{where}, sequence {b}"
        must(together["row_ids"][b][0] == seed["row"], f"{place}: the seed row is not first", calls[0])
        _must_lead(inputs["rows"], together["row_ids"][b], together["hops"][b], place, calls[0])
        _must_be_seen(inputs, seed, together["row_ids"][b], place, calls[0])


def _must_lead(rows: Sequence[Native], ids: Sequence[int], hops: Sequence[int], place: str, call: Call) -> None:
    """Every row but the first is a neighbour of an earlier one that has one hop less."""
    for k in range(1, len(ids)):
        leads = any(
            hops[j] + 1 == hops[k] and (ids[k] in rows[ids[j]]["parents"] or ids[j] in rows[ids[k]]["parents"])
            for j in range(k)
        )
        must(leads, f"{place}: no earlier row with one hop less leads to row {ids[k]} at {hops[k]} hops", call)


def _must_be_seen(inputs: Native, seed: Native, ids: Sequence[int], place: str, call: Call) -> None:
    """A row after the cutoff occurs only as a parent of an earlier row, and with `strict` not at all."""
    if "time" not in seed:
        return
    rows, strict = inputs["rows"], inputs["config"]["cutoff"] == "strict"
    for k, row in enumerate(ids[1:], start=1):
        if rows[row].get("time", seed["time"]) > seed["time"]:
            excused = not strict and any(row in rows[earlier]["parents"] for earlier in ids[:k])
            must(excused, f"{place}: row {row} happened after the cutoff", call)


def _orders(tools: Tools, inputs: Native, where: str) -> LawTalk:
    call, answer = yield from tools.ask_one(PERMUTATIONS, inputs)
    for name in _ORDERS:
        for b, perm in enumerate(answer[name].tolist()):
            must_be_permutation(perm, 0, len(perm), f"{where}, {name}[{b}]", call)
            padded = inputs["is_padding"][b][perm]
            must(bool((padded == np.sort(padded)).all()), f"{where}, {name}[{b}]: padding is not last", call)


def _blocks(tools: Tools, inputs: Native, where: str) -> LawTalk:
    call, mask = yield from tools.ask_one(MASKS, inputs)
    _, order = yield from tools.ask_one(PERMUTATIONS, inputs)
    for b, perm in enumerate(order["col_perm"].tolist()):
        permuted = mask["column_mask"][b][np.ix_(perm, perm)]
        must(_is_block_diagonal(permuted), f"{where}, sequence {b}: no block diagonal after col_perm", call)


def _is_block_diagonal(mask: Array) -> bool:
    """Whether the mask is full squares along the diagonal, and nothing after them."""
    start, size = 0, len(mask)
    expected = np.zeros_like(mask)
    while start < size and mask[start, start]:
        width = int(mask[start, start:].sum())
        expected[start : start + width, start : start + width] = True
        start += width
    return bool((mask == expected).all())


_BOOKSTORE: Final = [[1, 2], [], [], [1], [1], [2]]


def _graphs(chosen: Axes) -> Iterator[tuple[str, Point]]:
    """The bookstore of the rulings, and the fixtures of each size in `rows`."""
    yield "bookstore", {"graphs": {"bookstore": _BOOKSTORE}}
    for rows in chosen["rows"]:
        yield slug({"rows": rows}), {"graphs": _fixtures(rows)}


def _fixtures(rows: int) -> dict[str, list[list[int]]]:
    """Typical graphs of databases: the parents of each row, in the order of a walk from row 0."""
    return {
        "chain": [[row + 1] for row in range(rows - 1)] + [[]],
        "star": [[], *([0] for _ in range(rows - 1))],
        "tree": [[], *([(row - 1) // 2] for row in range(1, rows))],
        "ring": [[(row + 1) % rows] for row in range(rows)],
        "orders and items": [[], *([0] if row % 3 == 1 else [row - 1 - (row - 2) % 3] for row in range(1, rows))],
        "no keys": [[] for _ in range(rows)],
        "self keys": [[row] for row in range(rows)],
    }


def _bandwidth_not_worse(tools: Tools, graphs: Mapping[str, list[list[int]]]) -> LawTalk:
    for name, parents in graphs.items():
        size = len(parents)
        rows = [{"parents": list(some), "cells": 1} for some in parents]
        _, adjacency = yield from tools.ask_one(ADJACENCY, {"rows": rows, "row_ids": [list(range(size))]})
        row_ids = np.arange(size, dtype=np.uint16).reshape(1, size)
        call, order = yield from tools.ask_one(PERMUTATIONS, _cells(row_ids, adjacency["fk_adj"]))
        before = _bandwidth(parents, range(size))
        for perm in ("out_perm", "in_perm"):
            found = _bandwidth(parents, order[perm][0].tolist())
            must(found <= before, f"{name} of {size}: {perm} has bandwidth {found}, the walk's order {before}", call)


def _cells(row_ids: Array, fk_adj: Array) -> dict[str, Array]:
    """Cells of these rows, all of one column, without padding."""
    columns, padding = np.zeros(row_ids.shape, np.int32), np.zeros(row_ids.shape, np.bool_)
    return {"column_ids": columns, "seq_row_ids": row_ids, "is_padding": padding, "fk_adj": fk_adj}


def _bandwidth(parents: Sequence[Sequence[int]], order: Sequence[int]) -> int:
    """The longest distance between two neighbours in an order of the rows."""
    place = {row: k for k, row in enumerate(order)}
    return max((abs(place[row] - place[other]) for row, some in enumerate(parents) for other in some), default=0)


def _tensors(chosen: Axes) -> Iterator[tuple[str, Point]]:
    """The calls whose answers have a size that the source states."""
    rows = [{"parents": [row + 1] if row < 199 else [], "cells": 1} for row in range(200)]
    walks = {"rows": rows, "row_ids": [list(range(200))] * 32}
    yield "adjacency", {"operator": ADJACENCY, "inputs": walks, "names": ("fk_adj",), "size": 1_280_000}
    cells = _cells(np.zeros((32, 1024), np.uint16), np.zeros((32, 1, 1), np.bool_))
    yield "permutations", {"operator": PERMUTATIONS, "inputs": cells, "names": _ORDERS, "size": 196_608}


def _sizes(tools: Tools, operator: str, inputs: Native, names: Sequence[str], size: int) -> LawTalk:
    call, answer = yield from tools.ask_one(operator, inputs)
    must_equal(size, sum(answer[name].nbytes for name in names), f"{', '.join(names)} in bytes", call)


def _batch_of_its_steps(tools: Tools, inputs: Native, where: str) -> LawTalk:
    call, batch = yield from tools.ask_one(BUILD, inputs)
    for name, tensor in (yield from _by_steps(tools, inputs)).items():
        must_be_alike(tensor, batch[name], f"{where}: {name}, against that of its step", call)


def _by_steps(tools: Tools, inputs: Native) -> Asking[dict[str, Array]]:
    """The tensors that the operators of the steps make one after the other."""
    database, length = inputs["database"], inputs["config"]["sequence_length"]
    _, graph = yield from tools.ask_one(GRAPH, {"database": database})
    table = inputs["task"]["table"].encode()
    first = sum(one["row_count"] for one in database["tables"] if one["name"].encode() < table)
    seeds = [{**seed, "row": first + seed["row"]} for seed in inputs["seeds"]]
    _, found = yield from tools.ask_one(COLLECT, {"rows": graph["rows"], "seeds": seeds, "config": inputs["config"]})
    row_ids = found["row_ids"]
    layout = {"database": database, "row_ids": row_ids, "sequence_length": length}
    _, cells = yield from tools.ask_one(LINEARIZE, layout)
    _, adjacency = yield from tools.ask_one(ADJACENCY, {"rows": graph["rows"], "row_ids": row_ids})
    ordered = {name: cells[name] for name in ("column_ids", "seq_row_ids", "is_padding")}
    _, orders = yield from tools.ask_one(PERMUTATIONS, {**ordered, **adjacency})
    remapped = {name: cells[name] for name in ("text_embed_ids", "semantic_types", "is_null", "is_padding")}
    _, text = yield from tools.ask_one(REMAP, {**remapped, "text_embeddings": database["text_embeddings"]})
    if "fixed_rows" in inputs["config"]:
        adjacency = {"fk_adj": widened(adjacency["fk_adj"], inputs["config"]["fixed_rows"])}
    return {**cells, **adjacency, **{name: orders[name] for name in _ORDERS}, **text}


def widened(fk_adj: Array, rows: int) -> Array:
    """The matrices with as many rows and columns, false beyond their own."""
    beyond = max(rows - fk_adj.shape[1], 0)
    return np.pad(fk_adj, ((0, 0), (0, beyond), (0, beyond)))


def _independence(tools: Tools, inputs: Native, where: str) -> LawTalk:
    ways = [inputs["seeds"], *([seed] for seed in inputs["seeds"])]
    calls = [tools.call(BUILD, {**inputs, "seeds": seeds}) for seeds in ways]
    together, *alone = yield from tools.ask(calls)
    for b, own in enumerate(alone):
        what = f"{where}, sequence {b} in company, against alone"
        for name in _CELLS:
            must_be_alike(own[name][0], together[name][b], f"{what}: {name}", calls[0])
        rows = own["fk_adj"].shape[1]
        adjacency = together["fk_adj"][b]
        must_be_alike(own["fk_adj"][0], adjacency[:rows, :rows], f"{what}: fk_adj", calls[0])
        must(int(adjacency.sum()) == int(own["fk_adj"].sum()), f"{what}: fk_adj beyond its rows", calls[0])
        must_be_alike(_gathered(own, 0), _gathered(together, b), f"{what}: the texts of its cells", calls[0])
    longest = max(own["fk_adj"].shape[1] for own in alone)
    must_equal(longest, together["fk_adj"].shape[1], f"{where}: R, the most rows of a sequence", calls[0])


def _gathered(batch: Mapping[str, Array], b: int) -> Array:
    """The embeddings of a sequence's texts, by position."""
    text = (batch["semantic_types"][b] == TEXT) & ~batch["is_null"][b] & ~batch["is_padding"][b]
    found: Array = batch["text_batch_embeddings"][batch["text_embed_ids"][b][text]]
    return found


def _relabelling(tools: Tools, inputs: Native, where: str) -> LawTalk:
    # A seed orders children by a hash of their global numbers, which change.
    config = {name: value for name, value in inputs["config"].items() if name != "children_seed"}
    inputs = {**inputs, "config": config}
    _, before = yield from tools.ask_one(BUILD, inputs)
    call, after = yield from tools.ask_one(BUILD, _relabelled(inputs))
    for name, tensor in before.items():
        what = f"{where} with unrelated rows and texts before its own, tables in another order: {name}"
        must_be_alike(tensor, after[name], what, call)


def _relabelled(inputs: Native) -> dict[str, Any]:
    """The same batch asked of a database with one more row before all rows of every table, and one more text.

    The new rows have no references, so that rows and texts keep their order and change their numbers. The tables are
    listed in another order.
    """
    moved = copy.deepcopy(dict(inputs))
    for table in moved["database"]["tables"]:
        table["row_count"] += 1
        for column in table["columns"]:
            values = column["values"] + np.uint32(1) if column["semantic_type"] == "text" else column["values"]
            column["values"] = np.concatenate([np.zeros(1, values.dtype), values])
            column["is_null"] = np.concatenate([np.ones(1, np.bool_), column["is_null"]])
        for key in table["foreign_keys"]:
            rows = key["rows"]
            key["rows"] = np.concatenate([np.array([-1], np.int64), np.where(rows >= 0, rows + 1, rows)])
    moved["database"]["tables"].reverse()
    known = moved["database"]["text_embeddings"]
    moved["database"]["text_embeddings"] = np.concatenate([np.full((1, known.shape[1]), 9.5, np.float16), known])
    for seed in moved["seeds"]:
        seed["row"] += 1
    return moved


def _hidden_truth(tools: Tools, inputs: Native, where: str) -> LawTalk:
    one_seed = {**inputs, "seeds": inputs["seeds"][:1]}
    hidden, other = _truth_hidden(one_seed, 0), _truth_hidden(one_seed, 1)
    if hidden is None or other is None:
        return
    calls = [tools.call(BUILD, one) for one in (one_seed, hidden, other)]
    shown, first, second = yield from tools.ask(calls)
    for name, tensor in first.items():
        what = f"{where} with another value after the NULL of its target: {name}"
        must_be_alike(tensor, second[name], what, calls[2])
    place = np.flatnonzero(first["is_target"][0])
    for name in _SLOTS[1:]:
        cleared = not first[name][0][place].view(np.uint8).any()
        must(cleared, f"{where}: {name} is not cleared at a target whose truth is NULL", calls[1])
        elsewhere = np.delete(np.arange(first[name].shape[1]), place)
        what = f"{where}: {name} beside the target, with and without its truth"
        must_be_alike(shown[name][0][elsewhere], first[name][0][elsewhere], what, calls[1])


def _truth_hidden(inputs: Native, variant: int) -> dict[str, Any] | None:
    """The same inputs with NULL for the seed row's truth, and one of two values behind it.

    None where that changes more: the table's time decides which rows are seen, and identifiers are never NULL.
    """
    changed = copy.deepcopy(dict(inputs))
    table = next(one for one in changed["database"]["tables"] if one["name"] == changed["task"]["table"])
    column = next(one for one in table["columns"] if one["name"] == changed["task"]["column"])
    if column["semantic_type"] in ("identifier", "ignored") or table.get("time_column") == column["name"]:
        return None
    row = changed["seeds"][0]["row"]
    column["is_null"][row] = True
    column["values"][row] = variant
    return changed


def _texts_of_the_table(tools: Tools, inputs: Native, where: str) -> LawTalk:
    call, answer = yield from tools.ask_one(REMAP, inputs)
    text = (inputs["semantic_types"] == TEXT) & ~inputs["is_null"] & ~inputs["is_padding"]
    ids, table = answer["text_embed_ids"][text], answer["text_batch_embeddings"]
    must(not answer["text_embed_ids"][~text].any(), f"{where}: an id where no text is", call)
    must_equal(list(range(len(table))), sorted(set(ids.tolist())), f"{where}: the ids in use", call)
    known = inputs["text_embeddings"][inputs["text_embed_ids"][text]]
    must_be_alike(known, table[ids], f"{where}: the gathered rows, against the table's", call)


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
    derived("walk-from-row-to-row", _walks, walk),
    derived("orders-with-padding-last", _orders, cell_graph),
    derived("blocks-by-column", _blocks, cell_graph),
    Law("bandwidth-not-worse", _bandwidth_not_worse, {"rows": [5, 12, 40]}, _graphs),
    Law("sizes-of-the-seed", _sizes, {}, _tensors),
    derived("batch-of-its-steps", _batch_of_its_steps),
    derived("sequences-on-their-own", _independence),
    derived("no-global-numbers", _relabelling),
    derived("hidden-truth", _hidden_truth),
    derived("texts-of-the-table", _texts_of_the_table, texts),
    derived("seed-of-children-orders-alone", _seeded_walks, walk),
    derived("static-shapes", _static_shapes),
)
