"""Laws of the walk and of the orders: every row leads from an earlier one, nothing leaks, orders only order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import Any, Final

import numpy as np

from conformance.contract.model import Contract, LawUse
from conformance.trial.generators.batch import cell_graph, walk
from conformance.trial.generators.relational import Array
from conformance.trial.laws.law import (
    Instance,
    Law,
    LawTalk,
    Native,
    Tools,
    axes,
    must,
    must_be_permutation,
    must_equal,
    slug,
)

COLLECT: Final = "Batch.CollectRows"
ADJACENCY: Final = "Batch.BuildAdjacency"
PERMUTATIONS: Final = "Batch.Permutations"
MASKS: Final = "Batch.AttentionMasks"
_PERMUTATIONS: Final = ("col_perm", "out_perm", "in_perm")
_TOGETHER: Final = 10  # derived inputs in one instance


def numbered(use: LawUse, talk: Any, tools: Tools) -> Iterator[Instance]:
    """`over: {inputs: how many derived inputs}`, in instances of ten."""
    wanted = axes(use, {"inputs": 40})["inputs"][0]
    for start in range(0, wanted, _TOGETHER):
        numbers = range(start, min(start + _TOGETHER, wanted))
        yield Instance(slug({"inputs": f"{start}-{numbers[-1]}"}), partial(talk, tools, numbers))


def random_for(number: int) -> Random:
    """The source of the inputs that a number stands for."""
    return Random(f"batch law {number}")  # noqa: S311


def walks(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {inputs: how many walks}`."""
    return numbered(use, _walks, tools)


def _walks(tools: Tools, numbers: Sequence[int]) -> LawTalk:
    asked = [walk(random_for(number)) for number in numbers]
    for number, inputs in zip(numbers, asked, strict=True):
        alone = [{**inputs, "seeds": [seed]} for seed in inputs["seeds"]]
        calls = [tools.call(COLLECT, one) for one in (inputs, *alone)]
        together, *each = yield from tools.ask(calls)
        for name in ("row_ids", "hops"):
            what = f"walk {number}: {name} of seeds asked together, against each alone"
            must_equal([answer[name][0] for answer in each], together[name], what, calls[0])
        for b, seed in enumerate(inputs["seeds"]):
            place = f"walk {number}, sequence {b}"
            must(together["row_ids"][b][0] == seed["row"], f"{place}: the seed row is not first", calls[0])
            _must_lead(inputs["rows"], together["row_ids"][b], together["hops"][b], place, calls[0])
            _must_be_seen(inputs, seed, together["row_ids"][b], place, calls[0])


def _must_lead(rows: Sequence[Native], ids: Sequence[int], hops: Sequence[int], place: str, call: Any) -> None:
    """Every row but the first is a neighbour of an earlier one that has one hop less."""
    for k in range(1, len(ids)):
        leads = any(
            hops[j] + 1 == hops[k] and (ids[k] in rows[ids[j]]["parents"] or ids[j] in rows[ids[k]]["parents"])
            for j in range(k)
        )
        must(leads, f"{place}: no earlier row with one hop less leads to row {ids[k]} at {hops[k]} hops", call)


def _must_be_seen(inputs: Native, seed: Native, ids: Sequence[int], place: str, call: Any) -> None:
    """What happened after the cutoff is there as another row's parent only, and with `strict` not at all."""
    if "time" not in seed:
        return
    rows, strict = inputs["rows"], inputs["config"]["cutoff"] == "strict"
    for k, row in enumerate(ids[1:], start=1):
        if rows[row].get("time", seed["time"]) > seed["time"]:
            excused = not strict and any(row in rows[earlier]["parents"] for earlier in ids[:k])
            must(excused, f"{place}: row {row} happened after the cutoff", call)


def orders(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {inputs: how many graphs of cells}`."""
    return numbered(use, _orders, tools)


def _orders(tools: Tools, numbers: Sequence[int]) -> LawTalk:
    asked = [cell_graph(random_for(number)) for number in numbers]
    calls = [tools.call(PERMUTATIONS, inputs) for inputs in asked]
    answers = yield from tools.ask(calls)
    for number, inputs, call, answer in zip(numbers, asked, calls, answers, strict=True):
        for name in _PERMUTATIONS:
            for b, perm in enumerate(answer[name].tolist()):
                what = f"graph {number}, {name}[{b}]"
                must_be_permutation(perm, 0, len(perm), what, call)
                padded = inputs["is_padding"][b][perm]
                must(bool((padded == np.sort(padded)).all()), f"{what}: padding does not stand last", call)


def blocks(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {inputs: how many graphs of cells}`."""
    return numbered(use, _blocks, tools)


def _blocks(tools: Tools, numbers: Sequence[int]) -> LawTalk:
    for number in numbers:
        inputs = cell_graph(random_for(number))
        masks, orders = tools.call(MASKS, inputs), tools.call(PERMUTATIONS, inputs)
        mask, order = yield from tools.ask([masks, orders])
        for b, perm in enumerate(order["col_perm"].tolist()):
            permuted = mask["column_mask"][b][np.ix_(perm, perm)]
            must(_is_block_diagonal(permuted), f"graph {number}, sequence {b}: no block diagonal after col_perm", masks)


def _is_block_diagonal(mask: Array) -> bool:
    """Whether full squares along the diagonal are all there is, and nothing once they end."""
    start, size = 0, len(mask)
    expected = np.zeros_like(mask)
    while start < size and mask[start, start]:
        width = int(mask[start, start:].sum())
        expected[start : start + width, start : start + width] = True
        start += width
    return bool((mask == expected).all())


def bandwidths(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {rows: sizes}`: the fixtures of each size, and the bookstore of the rulings."""
    yield Instance("bookstore", partial(_bandwidth, tools, {"bookstore": BOOKSTORE}))
    for rows in axes(use, {"rows": [5, 12, 40]})["rows"]:
        yield Instance(slug({"rows": rows}), partial(_bandwidth, tools, fixtures(rows)))


BOOKSTORE: Final = [[1, 2], [], [], [1], [1], [2]]


def fixtures(rows: int) -> dict[str, list[list[int]]]:
    """Graphs as databases have them: the parents of each row, in the order of a walk from row 0."""
    return {
        "chain": [[row + 1] for row in range(rows - 1)] + [[]],
        "star": [[], *([0] for _ in range(rows - 1))],
        "tree": [[], *([(row - 1) // 2] for row in range(1, rows))],
        "ring": [[(row + 1) % rows] for row in range(rows)],
        "orders and items": [[], *([0] if row % 3 == 1 else [row - 1 - (row - 2) % 3] for row in range(1, rows))],
        "no keys": [[] for _ in range(rows)],
        "self keys": [[row] for row in range(rows)],
    }


def _bandwidth(tools: Tools, graphs: dict[str, list[list[int]]]) -> LawTalk:
    for name, parents in graphs.items():
        size = len(parents)
        rows = [{"parents": list(held), "cells": 1} for held in parents]
        built = tools.call(ADJACENCY, {"rows": rows, "row_ids": [list(range(size))]})
        (adjacency,) = yield from tools.ask([built])
        cells = {
            "column_ids": np.zeros((1, size), np.int32),
            "seq_row_ids": np.arange(size, dtype=np.uint16).reshape(1, size),
            "is_padding": np.zeros((1, size), np.bool_),
            "fk_adj": adjacency["fk_adj"],
        }
        ordered = tools.call(PERMUTATIONS, cells)
        (order,) = yield from tools.ask([ordered])
        for perm in ("out_perm", "in_perm"):
            found, before = bandwidth(parents, order[perm][0].tolist()), bandwidth(parents, list(range(size)))
            must(found <= before, f"{name} of {size}: {perm} has bandwidth {found}, the walk's order {before}", ordered)


def bandwidth(parents: Sequence[Sequence[int]], order: Sequence[int]) -> int:
    """The longest way between two neighbours in an order of the rows."""
    place = {row: k for k, row in enumerate(order)}
    return max((abs(place[row] - place[other]) for row, held in enumerate(parents) for other in held), default=0)


def sizes(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """No parameters: the two figures of the seed."""
    axes(use, {})
    yield Instance("adjacency", partial(_adjacency_size, tools))
    yield Instance("permutations", partial(_permutations_size, tools))


def _adjacency_size(tools: Tools) -> LawTalk:
    rows = [{"parents": [row + 1] if row < 199 else [], "cells": 1} for row in range(200)]
    call = tools.call(ADJACENCY, {"rows": rows, "row_ids": [list(range(200))] * 32})
    (answer,) = yield from tools.ask([call])
    must_equal(1_280_000, answer["fk_adj"].nbytes, "fk_adj in bytes at B = 32, R = 200", call)


def _permutations_size(tools: Tools) -> LawTalk:
    shape = (32, 1024)
    cells = {
        "column_ids": np.zeros(shape, np.int32),
        "seq_row_ids": np.zeros(shape, np.uint16),
        "is_padding": np.zeros(shape, np.bool_),
        "fk_adj": np.zeros((32, 1, 1), np.bool_),
    }
    call = tools.call(PERMUTATIONS, cells)
    (answer,) = yield from tools.ask([call])
    size = sum(answer[name].nbytes for name in _PERMUTATIONS)
    must_equal(196_608, size, "the permutations in bytes at B = 32, S = 1024", call)


LAWS: Final = (
    Law(
        "walk-from-row-to-row",
        "A walk is the same alone and in company, each row is a neighbour of an earlier one with one hop less, and "
        "what happened after the cutoff is there as a parent only, with `strict` not at all.",
        (COLLECT,),
        walks,
    ),
    Law("orders-with-padding-last", "The orders are permutations that put padding last.", (PERMUTATIONS,), orders),
    Law("blocks-by-column", "After col_perm the column mask is block diagonal.", (PERMUTATIONS, MASKS), blocks),
    Law(
        "bandwidth-not-worse",
        "On the fixtures the order of rows has no greater bandwidth than the walk's.",
        (ADJACENCY, PERMUTATIONS),
        bandwidths,
    ),
    Law("sizes-of-the-seed", "The tensors have the bytes that the seed counts.", (ADJACENCY, PERMUTATIONS), sizes),
)
