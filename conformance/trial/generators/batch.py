"""Generators of the batch family: the inputs of each step, and of the whole."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import numpy as np

from conformance.trial.generators.generator import Generator, Native
from conformance.trial.generators.relational import (
    Array,
    Table,
    random_config,
    random_database,
    random_graph,
    random_time,
)


def database_alone(random: Random) -> Native:
    """The inputs of BuildGraph."""
    return {"database": random_database(random)}


def walk(random: Random) -> Native:
    """The inputs of CollectRows."""
    rows = random_graph(random)
    seeds = [{"row": random.randrange(len(rows)), **random_time(random)} for _ in range(random.randint(1, 3))]
    return {"rows": rows, "seeds": seeds, "config": random_config(random)}


def sequences(random: Random) -> Native:
    """The inputs of LinearizeCells."""
    database = random_database(random)
    count = sum(table["row_count"] for table in database["tables"])
    return {"database": database, "row_ids": _row_ids(random, count), "sequence_length": random.randint(1, 12)}


def row_graph(random: Random) -> Native:
    """The inputs of BuildAdjacency."""
    rows = random_graph(random)
    return {"rows": rows, "row_ids": _row_ids(random, len(rows))}


def _row_ids(random: Random, count: int) -> list[list[int]]:
    return [random.sample(range(count), random.randint(0, min(count, 8))) for _ in range(random.randint(0, 3))]


def cell_graph(random: Random) -> Native:
    """The inputs of Permutations and AttentionMasks."""
    batch, length, rows = random.randint(1, 3), random.randint(1, 10), random.randint(1, 6)
    shape = (batch, length)
    adjacency = [random.random() < 0.3 for _ in range(batch * rows * rows)]
    return {
        "column_ids": _filled(random, shape, (-1, 0, 1, 2, 3, 70_000), np.int32),
        "seq_row_ids": _filled(random, shape, range(rows), np.uint16),
        "is_padding": _filled(random, shape, (False, False, False, True), np.bool_),
        "fk_adj": np.array(adjacency, dtype=np.bool_).reshape(batch, rows, rows),
    }


def texts(random: Random) -> Native:
    """The inputs of RemapText."""
    count, width = random.randint(1, 6), random.randint(0, 3)
    shape = (random.randint(1, 3), random.randint(1, 8))
    bits = [random.randrange(1 << 16) for _ in range(count * width)]
    return {
        "text_embed_ids": _filled(random, shape, range(count), np.uint32),
        "semantic_types": _filled(random, shape, (5, 5, 5, 0, 3), np.int8),
        "is_null": _filled(random, shape, (False, False, True), np.bool_),
        "is_padding": _filled(random, shape, (False, False, True), np.bool_),
        "text_embeddings": np.array(bits, dtype=np.uint16).view(np.float16).reshape(count, width),
    }


def _filled(random: Random, shape: tuple[int, int], choices: Any, dtype: Any) -> Array:
    return np.array([random.choice(choices) for _ in range(shape[0] * shape[1])], dtype=dtype).reshape(shape)


def whole(random: Random) -> Native:
    """The inputs of Build: a task whose target fits, and seeds of its table."""
    while True:
        database = random_database(random)
        tables = [table for table in database["tables"] if table["row_count"] and cell_columns(table)]
        if tables:
            break
    table = random.choice(tables)
    column = random.choice(table["columns"])["name"]
    seeds: list[dict[str, Any]] = [
        {"row": random.randrange(table["row_count"]), **random_time(random)} for _ in range(random.randint(1, 3))
    ]
    config = random_config(random)
    config["sequence_length"] = max(config["sequence_length"], len(cell_columns(table)))
    return {"database": database, "task": {"table": table["name"], "column": column}, "seeds": seeds, "config": config}


def cell_columns(table: Table) -> list[str]:
    """The names of the columns that make cells."""
    return [column["name"] for column in table["columns"] if column["semantic_type"] != "ignored"]


GENERATORS: Final = (
    Generator("relational-database", database_alone),
    Generator("row-graph-walk", walk),
    Generator("relational-sequences", sequences),
    Generator("row-graph-sequences", row_graph),
    Generator("cell-graph", cell_graph),
    Generator("text-cells", texts),
    Generator("relational-batch", whole),
)
