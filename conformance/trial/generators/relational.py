"""Random relational databases: a few small tables with every semantic type, NULLs, keys of every kind, and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np

Column = dict[str, Any]
Table = dict[str, Any]
Database = dict[str, Any]
Array = np.ndarray[Any, Any]

TYPES: Final = ("identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored")
DTYPES: Final[Mapping[str, str]] = {
    "identifier": "int64",
    "numerical": "float64",
    "timestamp": "int64",
    "boolean": "bool",
    "categorical": "uint32",
    "text": "uint32",
    "ignored": "uint8",
}
# Names whose order differs by case, by prefix, and between UTF-8 and UTF-16.
NAMES: Final = ("a", "B", "b", "ab", "a-b", "order", "\u00e9", "\ufb00", "\U0001f600")
_WIDEST: Final = 5  # columns
_TALLEST: Final = 6  # rows
_NUMBERS: Final = (0.0, -0.0, 1.0, -2.5, 0.1, 1e-45, 3.4e38, 16777217.0)
_TIMES: Final = (0, -1, 1, 5, 6, 86_400_000_000, -62_135_596_800_000_001, 951_782_400_000_000, 2**53 + 1)


def random_database(random: Random) -> Database:
    """A database of one to four tables; any table but one may be empty, any key may be NULL, to itself or in a ring."""
    names = random.sample(NAMES, random.randint(1, 4))
    counts = [random.randint(0, _TALLEST) for _ in names]
    counts[0] = max(1, counts[0])
    texts, width = random.randint(0, 4), random.randint(1, 3)
    starts = 0
    tables: list[Table] = []
    for name, count in zip(names, counts, strict=True):
        table = _table(random, name, count, list(zip(names, counts, strict=True)), texts, starts)
        starts += sum(len(column.get("categories", ())) for column in table["columns"])
        tables.append(table)
    random.shuffle(tables)
    embeddings = np.array([[random.randint(-40, 40) / 8 for _ in range(width)] for _ in range(texts)], dtype=np.float16)
    return {"tables": tables, "text_embeddings": embeddings.reshape(texts, width)}


def _table(
    random: Random, name: str, count: int, known: Sequence[tuple[str, int]], texts: int, first_category: int
) -> Table:
    columns: list[Column] = []
    for number in range(random.randint(0, _WIDEST)):
        columns.append(_column(random, f"c{number}", count, texts, first_category))
        first_category += len(columns[-1].get("categories", ()))
    keyed = [column["name"] for column in columns]
    wanted = random.randint(0, 3) if keyed else 0
    keys = [_key(random, random.choice(keyed), count, *random.choice(known)) for _ in range(wanted)]
    table: Table = {"name": name, "row_count": count, "columns": columns, "foreign_keys": keys}
    times = [column["name"] for column in columns if column["semantic_type"] == "timestamp"]
    if times and random.random() < 0.8:
        table["time_column"] = random.choice(times)
    return table


def _key(random: Random, column: str, count: int, table: str, rows: int) -> dict[str, Any]:
    referred = [random.randrange(-1, rows) if rows else -1 for _ in range(count)]
    return {"column": column, "table": table, "rows": np.array(referred, dtype=np.int64)}


def _column(random: Random, name: str, count: int, texts: int, first_category: int) -> Column:
    type_ = random.choice(TYPES)
    rate = random.choice((0.0, 0.3, 1.0))
    if type_ == "text" and not texts:
        rate = 1.0
    categories = [f"k{k}" for k in range(random.randint(1, 3))] if type_ == "categorical" else []
    limit = {"categorical": len(categories), "text": texts}.get(type_, 0)
    values = np.array([_value(random, type_, limit) for _ in range(count)], dtype=DTYPES[type_])
    nulls = np.array([random.random() < rate for _ in range(count)], dtype=np.bool_)
    column: Column = {"name": name, "semantic_type": type_, "values": values, "is_null": nulls}
    if type_ in ("numerical", "timestamp"):
        # Far enough from 0 that no score leaves binary32.
        column["mean"] = random.choice((0.0, 0.1, 1.0, -2.5e5))
        column["deviation"] = random.choice((0.0, 1.0, 3.0, 7.0e5))
    if type_ == "categorical":
        column["cat_emb_start"] = first_category
        column["categories"] = categories
    return column


def _value(random: Random, type_: str, limit: int) -> Any:
    match type_:
        case "numerical":
            return random.choice((*_NUMBERS, random.uniform(-9, 9)))
        case "timestamp":
            return random.choice((*_TIMES, random.randint(0, 9)))
        case "boolean":
            return random.random() < 0.5
        case "categorical" | "text":
            return random.randrange(limit) if limit else 7  # behind a NULL nothing is looked at
        case "ignored":
            return 0
    return random.randint(-9, 9)


def random_config(random: Random, longest: int = 24) -> dict[str, Any]:
    """Limits of a sequence, each given or not."""
    config: dict[str, Any] = {"sequence_length": random.randint(1, longest)}
    for name, least, most in (("max_hops", 0, 4), ("max_rows", 1, 8), ("child_width", 0, 3)):
        if random.random() < 0.4:
            config[name] = random.randint(least, most)
    return {**config, "cutoff": random.choice(("children", "strict"))}


def random_time(random: Random) -> dict[str, int]:
    """A seed's cutoff, given or not."""
    return {"time": random.choice((*_TIMES, random.randint(0, 9)))} if random.random() < 0.7 else {}


def random_graph(random: Random) -> list[dict[str, Any]]:
    """Rows that refer to each other in any way, some without cells, some without a time."""
    count = random.randint(1, 12)
    widths = [random.randint(0, 3) for _ in range(count)]
    return [
        {
            "parents": [random.choice((-1, random.randrange(count), random.randrange(count))) for _ in range(width)],
            "cells": random.choice((0, 1, 1, 2, 3)),
            **random_time(random),
        }
        for width in widths
    ]
