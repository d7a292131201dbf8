"""Generators of the batch family: the inputs of each step, and of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

import numpy as np

from checks.generators.relational import (
    LARGE,
    MANY,
    Array,
    Database,
    Table,
    chain,
    chained_table,
    fan,
    random_config,
    random_database,
    random_graph,
    random_time,
)
from conformance.trial.generator import Generator, Native

_LONG: Final = 400  # cells of a sequence that holds whatever is large
_LIMITS: Final = (127, 128, 200, 256, 257, MANY - 9)  # of what is large: at and beside what a byte holds


def database_alone(random: Random) -> Native:
    """The inputs of BuildGraph."""
    return {"database": random_database(random)}


def large_databases(random: Random) -> Iterator[Native]:
    """Databases that are large in one way each."""
    return ({"database": random_database(random, size)} for size in LARGE)


def walk(random: Random) -> Native:
    """The inputs of CollectRows."""
    rows = random_graph(random)
    seeds = [{"row": random.randrange(len(rows)), **random_time(random)} for _ in range(random.randint(1, 3))]
    return {"rows": rows, "seeds": seeds, "config": random_config(random)}


def large_walks(random: Random) -> Iterator[Native]:
    """Long chains and wide fans, with each limit about where it stops them; many seeds, and rows of many cells."""
    long: Native = {"sequence_length": 3 * _LONG, "cutoff": "children"}
    far = chain(65_540)
    yield {"rows": far, "seeds": [{"row": 65_539}, {"row": 40_000}], "config": {**long, "max_rows": 3}}
    children = [{"parents": [], "cells": 1}, *fan(MANY)[1:]]
    for rows, names in (
        (chain(MANY), ("max_hops", "max_rows")),
        (fan(MANY), ("max_rows",)),
        (children, ("child_width", "max_rows")),
    ):
        last = {"row": len(rows) - 1, "time": MANY}
        yield {"rows": rows, "seeds": [last], "config": long}
        for name in names:
            for limit in _LIMITS:
                yield {"rows": rows, "seeds": [{"row": 0}, last], "config": {**long, name: limit}}
        yield {"rows": rows, "seeds": [{"row": row, "time": MANY - row} for row in range(MANY)], "config": {
            **random_config(random, 9), "max_rows": 3}}  # fmt: skip
        for limit in _LIMITS:
            yield {"rows": rows, "seeds": [{"row": 0}, last], "config": {
                **long, "children_seed": limit, "fixed_rows": limit}}  # fmt: skip
        for cells in _LIMITS:
            wide = [{**row, "cells": cells} for row in rows]
            yield {"rows": wide, "seeds": [last], "config": {**long, "sequence_length": cells + cells // 2}}


def sequences(random: Random) -> Native:
    """The inputs of LinearizeCells."""
    database = random_database(random)
    count = sum(table["row_count"] for table in database["tables"])
    return {"database": database, "row_ids": _row_ids(random, count), "sequence_length": random.randint(1, 12)}


def large_sequences(random: Random) -> Iterator[Native]:
    """The rows of databases that are large in one way each; and many sequences."""
    for size in LARGE:
        database = random_database(random, size)
        count = sum(table["row_count"] for table in database["tables"])
        ids = random.sample(range(count), min(count, MANY))
        yield {"database": database, "row_ids": [ids], "sequence_length": 3 * _LONG}
        yield {"database": database, "row_ids": [[row] for row in ids], "sequence_length": 3}


def row_graph(random: Random) -> Native:
    """The inputs of BuildAdjacency."""
    rows = random_graph(random)
    return {"rows": rows, "row_ids": _row_ids(random, len(rows))}


def large_row_graphs(random: Random) -> Iterator[Native]:
    """Long chains and wide fans, whole and in many parts."""
    for rows in (chain(MANY), fan(MANY)):
        ids = random.sample(range(MANY), MANY)
        yield {"rows": rows, "row_ids": [ids]}
        yield {"rows": rows, "row_ids": [ids[5 * k : 5 * k + 5] for k in range(60)]}


def _row_ids(random: Random, count: int) -> list[list[int]]:
    return [random.sample(range(count), random.randint(0, min(count, 8))) for _ in range(random.randint(0, 3))]


def cell_graph(random: Random) -> Native:
    """The inputs of Permutations and AttentionMasks."""
    return _cells(random, random.randint(1, 3), random.randint(1, 10), random.randint(1, 6))


def large_cell_graphs(random: Random) -> Iterator[Native]:
    """Many sequences, positions or rows; and few rows of many."""
    for batch, length, rows in ((MANY, 3, 2), (2, MANY, 3), (1, MANY, MANY), (2, 12, MANY), (2, 12, MANY)):
        yield _cells(random, batch, length, rows)
    hub = _cells(random, 1, MANY, MANY)
    hub["fk_adj"][0, :, 0] = True
    yield {**hub, "seq_row_ids": np.arange(MANY, dtype=np.uint16)[None, :], "is_padding": np.zeros((1, MANY), np.bool_)}


def _cells(random: Random, batch: int, length: int, rows: int) -> Native:
    shape, rate = (batch, length), min(0.3, 2 / rows)
    adjacency = [random.random() < rate for _ in range(batch * rows * rows)]
    return {
        "column_ids": _filled(random, shape, (-1, 0, 1, 2, 3, 70_000, 4_464, 256, 257, 65_537), np.int32),
        "seq_row_ids": _filled(random, shape, range(rows), np.uint16),
        "is_padding": _filled(random, shape, (False, False, False, True), np.bool_),
        "fk_adj": np.array(adjacency, dtype=np.bool_).reshape(batch, rows, rows),
    }


def texts(random: Random) -> Native:
    """The inputs of RemapText."""
    return _texts(random, random.randint(1, 6), random.randint(0, 3), (random.randint(1, 3), random.randint(1, 8)))


def large_texts(random: Random) -> Iterator[Native]:
    """Many texts, sequences, positions, or numbers of an embedding."""
    for count, width, shape in ((MANY, 2, (4, 4 * MANY)), (3, 2, (MANY, 2)), (3, MANY, (2, 3)), (66_000, 1, (1, MANY))):
        yield _texts(random, count, width, shape)
    twins = _texts(random, 66_000, 1, (1, MANY))
    yield {**twins, "text_embed_ids": _filled(random, (1, MANY), (0, 1, 2, 65_535, 65_536, 65_537), np.uint32)}


def _texts(random: Random, count: int, width: int, shape: tuple[int, int]) -> Native:
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


def large_batches(random: Random) -> Iterator[Native]:
    """Batches of databases that are large in one way each, with long walks, and with many seeds."""
    for size in LARGE:
        database = random_database(random, size)
        tables = [table for table in database["tables"] if table["row_count"] and cell_columns(table)]
        yield from (_whole(random, database, table) for table in tables[:1])
        yield from (_whole(random, database, table) for table in tables[1:] if table["row_count"] == MANY)
    chained = chained_table(MANY)
    config: Native = {"sequence_length": _LONG, "cutoff": "children"}
    task = {"table": "t", "column": "id"}
    for name, limit in (("max_rows", MANY), *((name, one) for name in ("max_hops", "max_rows") for one in _LIMITS)):
        yield {"database": chained, "task": task, "seeds": [{"row": MANY - 1}], "config": {**config, name: limit}}
    for rows in (127, 128, 256, MANY):
        yield {"database": chained, "task": task, "seeds": [{"row": MANY - 1}], "config": {
            **config, "children_seed": rows, "fixed_rows": rows}}  # fmt: skip
    seeds = [{"row": row} for row in range(MANY)]
    yield {"database": chained, "task": task, "seeds": seeds, "config": {**config, "sequence_length": 2}}


def _whole(random: Random, database: Database, table: Table) -> Native:
    column = random.choice(table["columns"])["name"]
    seeds = [{"row": table["row_count"] - 1}, {"row": 0, **random_time(random)}]
    config = {"sequence_length": _LONG, "cutoff": random.choice(("children", "strict"))}
    return {"database": database, "task": {"table": table["name"], "column": column}, "seeds": seeds, "config": config}


def cell_columns(table: Table) -> list[str]:
    """The names of the columns that make cells."""
    return [column["name"] for column in table["columns"] if column["semantic_type"] != "ignored"]


GENERATORS: Final = (
    Generator("relational-database", database_alone, large_databases),
    Generator("row-graph-walk", walk, large_walks),
    Generator("relational-sequences", sequences, large_sequences),
    Generator("row-graph-sequences", row_graph, large_row_graphs),
    Generator("cell-graph", cell_graph, large_cell_graphs),
    Generator("text-cells", texts, large_texts),
    Generator("relational-batch", whole, large_batches),
)
