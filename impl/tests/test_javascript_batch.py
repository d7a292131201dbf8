"""The batch operators in JavaScript: equal to the reference on random databases, walks and cells."""

import random
from typing import Any

import pytest

from impl.reference import backend as reference
from impl.tests.batch_database import bookstore, column, database, table, tensor
from impl.tests.javascript_equality import Pair, Params
from impl.types import Tensor

NAMES = ["a", "B", "\u00e9", "\uff5a", "\U0001f600"]
TIMES = [None, 0, 6, 7, 8, -3, 2**53 + 1, -(2**63), 2**63 - 1]
NUMBERS = [0.0, -0.0, 1.5, 1e-45, 1e300, -1e308, 2.0**24 + 1]


def some_column(rng: random.Random, name: str, rows: int, texts: int) -> dict[str, Any]:
    kind = rng.choice(["identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored"])
    kind = "ignored" if kind == "text" and not texts else kind
    more: dict[str, Any] = {"is_null": [rng.random() < 0.2 for _ in range(rows)]}
    values: list[Any] = [rng.randrange(-9, 9) for _ in range(rows)]
    match kind:
        case "numerical":
            values = [rng.choice(NUMBERS) for _ in range(rows)]
            more |= {"mean": rng.choice([0.0, 0.5]), "deviation": rng.choice([0.0, 1.0, 3.5e4])}
        case "timestamp":
            values = [rng.choice(TIMES[1:]) for _ in range(rows)]
        case "boolean":
            values = [rng.random() < 0.5 for _ in range(rows)]
        case "categorical":
            values = [rng.randrange(3) for _ in range(rows)]
            more |= {"cat_emb_start": rng.randrange(9), "categories": ["x", "y", "z"]}
        case "text":
            values = [rng.randrange(texts) for _ in range(rows)]
        case "ignored":
            values = [rng.randrange(256) for _ in range(rows)]
    return column(name, kind, values, **more)


def some_database(rng: random.Random) -> dict[str, Any]:
    """Return a database that is sound more often than not."""
    names = rng.sample(NAMES, rng.randrange(1, 4))
    sizes = {name: rng.randrange(5) for name in names}
    texts = rng.randrange(3)
    tables = []
    for name in names:
        rows = sizes[name]
        held = [some_column(rng, str(place), rows, texts) for place in range(rng.randrange(4))]
        keys = []
        for _ in range(rng.randrange(3) if held else 0):
            other = rng.choice(names)
            referred = [
                None if not sizes[other] or rng.random() < 0.3 else rng.randrange(sizes[other]) for _ in range(rows)
            ]
            keys.append((rng.choice(held)["name"], other, referred))
        dated = [one["name"] for one in held if one["semantic_type"] == "timestamp"]
        tables.append(table(name, held, keys, rows=rows, **({"time_column": rng.choice(dated)} if dated else {})))
    made = database(*tables, texts=[[0.5, -1.0]] * texts)
    return spoilt(rng, made) if rng.random() < 0.5 else made


def spoilt(rng: random.Random, made: dict[str, Any]) -> dict[str, Any]:
    """Change one thing of a database, which mostly makes it faulty."""
    one = rng.choice(made["tables"])
    match rng.choice([0, 1, 2, 3, 4, 4, 5, 6, 7, 7, 7, 8]):
        case 0:
            one["time_column"] = "missing"
        case 1:
            made["tables"].append(one)
        case 2:
            one["row_count"] += 1
        case 3:
            made["text_embeddings"] = Tensor("float16", (0,), b"")
        case _ if not one["columns"]:
            one["foreign_keys"] = [{"column": "0", "table": one["name"], "rows": tensor("int64", [0])}]
        case 4:
            rng.choice(one["columns"])["deviation"] = rng.choice([-1.0, float("nan"), float("inf"), 5e-324])
        case 5:
            rng.choice(one["columns"]).pop(rng.choice(["mean", "categories"]), None)
        case 6:
            rng.choice(one["columns"])["semantic_type"] = rng.choice(["boolean", "text", "categorical", "timestamp"])
        case 7:
            rows = [rng.choice([-2, -1, 9]) for _ in range(one["row_count"])]
            one["foreign_keys"].append({"column": "0", "table": one["name"], "rows": tensor("int64", rows)})
        case 8:
            rng.choice(one["columns"])["values"] = tensor("uint32", [2**32 - 1] * one["row_count"])
    return made


def some_graph(rng: random.Random) -> list[dict[str, Any]]:
    size = rng.randrange(1, 9)
    rows = []
    for _ in range(size):
        row: dict[str, Any] = {
            "parents": [rng.randrange(-1, size) for _ in range(rng.randrange(4))],
            "cells": rng.randrange(4),
        }
        if (time := rng.choice(TIMES)) is not None:
            row["time"] = time
        rows.append(row)
    if rng.random() < 0.1:
        rows[0]["parents"] = [rng.choice([size, -2, 2**63 - 1])]
    return rows


def some_walks(rng: random.Random, rows: list[dict[str, Any]]) -> Params:
    config: dict[str, Any] = {
        "sequence_length": rng.choice([1, 2, 5, 9, 30, 65_536]),
        "cutoff": rng.choice(["children", "strict"]),
    }
    for name in ("max_hops", "max_rows", "child_width"):
        if rng.random() < 0.4:
            config[name] = rng.randrange(4)
    if rng.random() < 0.05:
        config["sequence_length"] = rng.choice([0, 65_537])
    seeds: list[dict[str, Any]] = []
    for _ in range(rng.randrange(4)):
        seed: dict[str, Any] = {"row": rng.randrange(len(rows)) if rng.random() < 0.95 else len(rows)}
        if (time := rng.choice(TIMES)) is not None:
            seed["time"] = time
        seeds.append(seed)
    return {"rows": rows, "seeds": seeds, "config": config}


def some_cells(rng: random.Random) -> Params:
    """Return the tensors of Permutations, with any rows, padding and keys."""
    count, length, size = rng.randrange(3), rng.randrange(1, 9), rng.randrange(1, 7)
    cells = count * length
    most = size if rng.random() < 0.9 else size + 1
    return {
        "column_ids": tensor("int32", [rng.randrange(-1, 4) for _ in range(cells)], (count, length)),
        "seq_row_ids": tensor("uint16", [rng.randrange(most) for _ in range(cells)], (count, length)),
        "is_padding": tensor("bool", [rng.random() < 0.2 for _ in range(cells)], (count, length)),
        "fk_adj": tensor("bool", [rng.random() < 0.3 for _ in range(count * size * size)], (count, size, size)),
    }


def some_texts(rng: random.Random) -> Params:
    count, length, texts, width = rng.randrange(3), rng.randrange(1, 7), rng.randrange(5), rng.randrange(4)
    cells = count * length
    words = rng.randbytes(2 * texts * width)
    return {
        "text_embed_ids": tensor("uint32", [rng.randrange(max(1, texts)) for _ in range(cells)], (count, length)),
        "semantic_types": tensor("int8", [rng.choice([5, 5, 5, 1, -5]) for _ in range(cells)], (count, length)),
        "is_null": tensor("bool", [rng.random() < 0.2 for _ in range(cells)], (count, length)),
        "is_padding": tensor("bool", [rng.random() < 0.2 for _ in range(cells)], (count, length)),
        "text_embeddings": Tensor("float16", (texts, width), words),
    }


def codes(answers: list[Any]) -> set[str]:
    return {answer["error"]["message"] if "error" in answer else "a result" for answer in answers}


def test_graphs_of_random_databases_equal_the_reference(pair: Pair) -> None:
    rng = random.Random(1)
    answers = [pair.agree("Batch.BuildGraph", {"database": some_database(rng)}) for _ in range(200)]
    assert codes(answers) == {"a result", "UNKNOWN_TABLE", "CONTRACT_VIOLATION", "NON_FINITE", "DANGLING_KEY"}


def test_random_walks_and_their_adjacency_equal_the_reference(pair: Pair) -> None:
    rng = random.Random(2)
    answers = []
    for _ in range(250):
        rows = some_graph(rng)
        answers.append(pair.agree("Batch.CollectRows", some_walks(rng, rows)))
        if "result" not in answers[-1]:
            continue
        row_ids = [[int(row) for row in ids] for ids in answers[-1]["result"]["row_ids"]]
        if rng.random() < 0.1:
            row_ids.append(rng.choice([[0, 0], [len(rows)], []]))
        answers.append(pair.agree("Batch.BuildAdjacency", {"rows": rows, "row_ids": row_ids}))
    assert codes(answers) == {"a result", "CONTRACT_VIOLATION", "LIMIT_EXCEEDED", "DANGLING_KEY", "ROW_NOT_FOUND"}


def some_build(rng: random.Random) -> Params:
    held = some_database(rng)
    anchor = rng.choice(held["tables"])
    names = [one["name"] for one in anchor["columns"]] or ["none"]
    task = {"table": anchor["name"] if rng.random() < 0.95 else "none", "column": rng.choice(names)}
    walks = some_walks(rng, [{}] * max(1, int(anchor["row_count"])))
    if walks["config"]["sequence_length"] == 65_536:
        walks["config"]["sequence_length"] = 40
    for seed in walks["seeds"]:
        if rng.random() < 0.3:
            seed["task"] = task if rng.random() < 0.9 else {**task, "column": "another"}
    return {"database": held, "task": task, "seeds": walks["seeds"], "config": walks["config"]}


def test_batches_of_random_databases_equal_the_reference(pair: Pair) -> None:
    rng = random.Random(5)
    answers = []
    for _ in range(200):
        params = some_build(rng)
        answers.append(pair.agree("Batch.Build", params if rng.random() < 0.9 else {**params, "seeds": []}))
    expected = {"a result", "UNKNOWN_TABLE", "CONTRACT_VIOLATION", "ROW_NOT_FOUND", "TARGET_TRUNCATED"}
    assert codes(answers) >= expected


def test_cells_of_random_rows_equal_the_reference(pair: Pair) -> None:
    rng = random.Random(6)
    answers = []
    for _ in range(120):
        held = some_database(rng)
        count = sum(int(one["row_count"]) for one in held["tables"])
        row_ids = [rng.sample(range(count), rng.randrange(count + 1)) for _ in range(rng.randrange(3))]
        if rng.random() < 0.1:
            row_ids.append(rng.choice([[count], [0, 0]]))
        length = rng.choice([1, 3, 8, 20])
        params = {"database": held, "row_ids": row_ids, "sequence_length": length}
        answers.append(pair.agree("Batch.LinearizeCells", params))
    assert codes(answers) >= {"a result", "CONTRACT_VIOLATION", "ROW_NOT_FOUND"}


def test_orders_and_masks_of_random_cells_equal_the_reference(pair: Pair) -> None:
    rng = random.Random(3)
    answers = []
    for _ in range(200):
        cells = some_cells(rng)
        answers += [pair.agree(f"Batch.{name}", cells) for name in ("Permutations", "AttentionMasks")]
    assert codes(answers) == {"a result", "CONTRACT_VIOLATION"}


def test_random_texts_equal_the_reference(pair: Pair) -> None:
    rng = random.Random(4)
    answers = [pair.agree("Batch.RemapText", some_texts(rng)) for _ in range(150)]
    assert codes(answers) == {"a result", "CONTRACT_VIOLATION"}


@pytest.mark.parametrize(
    ("edges", "order"),
    [
        ("01 12 23 30", [2, 3, 1, 0]),
        ("01 12 23 34", [4, 3, 2, 1, 0]),
        ("01 02 03 04", [4, 3, 2, 0, 1]),
        ("00 14 25", [5, 2, 4, 1, 3, 0]),
        ("01 02 31 41 52", [5, 2, 0, 4, 1, 3]),
    ],
    ids=["cycle", "path", "star", "loop-and-loner", "bookstore"],
)
def test_the_orders_of_the_rulings(pair: Pair, edges: str, order: list[int]) -> None:
    size = len(order)
    flags = [f"{one}{other}" in edges.split() for one in range(size) for other in range(size)]
    cells = {
        "column_ids": tensor("int32", [0] * size, (1, size)),
        "seq_row_ids": tensor("uint16", range(size), (1, size)),
        "is_padding": tensor("bool", [False] * size, (1, size)),
        "fk_adj": tensor("bool", flags, (1, size, size)),
    }
    found = pair.agree("Batch.Permutations", cells)["result"]["row_order"]
    assert found == [order]


def test_the_bookstore_is_walked_as_ruled(pair: Pair) -> None:
    rows = reference.call("Batch.BuildGraph", {"database": bookstore()})["rows"]
    config = {"sequence_length": 64, "cutoff": "children"}
    answer = pair.agree("Batch.CollectRows", {"rows": rows, "seeds": [{"row": 2}], "config": config})
    # order1, customer23, book42, order7, order12, order5; the book's table comes before the customer's.
    assert answer["result"]["row_ids"] == [["2", "1", "0", "4", "5", "3"]]
