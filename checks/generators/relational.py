"""Random relational databases: a few small tables with every semantic type, NULLs, keys of every kind, and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
# Names that are one to a program that cuts, trims, folds or composes them.
TWINS: Final = ("n" * 64 + "a", "n" * 64 + "b", "N" * 64 + "a", "n" * 256 + "a", "n" * 256 + "b", "a ", " a", "A",
                "e\u0301", "\u00e9", "\ufeffa", "a\u0660", "a0", "")  # fmt: skip
MANY: Final = 300  # more than a byte counts, and than there is room for in tables of 16, 64 or 256
_TABLES: Final = 70  # guards look at each pair of tables, in at most 10,000 steps
_WIDEST: Final = 5  # columns
_TALLEST: Final = 6  # rows
_NUMBERS: Final = (0.0, -0.0, 1.0, -2.5, 0.1, 1e-45, 3.4e38, 16777217.0)
_TIMES: Final = (0, -1, 1, 5, 6, 86_400_000_000, -62_135_596_800_000_001, 951_782_400_000_000, 2**32 + 5, 2**53 + 1)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a database is; what is not told is drawn, and small."""

    tables: int | None = None
    columns: int | None = None
    rows: int | None = None
    keys: int | None = None
    texts: int | None = None
    width: int | None = None  # numbers of an embedding
    categories: int | None = None


SMALL: Final = Size()
LARGE: Final = (
    Size(tables=_TABLES),
    Size(columns=MANY),
    Size(rows=MANY),
    Size(keys=MANY),
    Size(texts=MANY, rows=MANY),
    Size(texts=4, width=MANY),
    Size(categories=MANY, rows=MANY),
)


def random_database(random: Random, size: Size = SMALL) -> Database:
    """A database of one to four tables; any table but one may be empty, any key may be NULL, to itself or in a ring."""
    names = random.sample(random.choice((NAMES, NAMES, TWINS)), random.randint(1, 4))
    if size.tables is not None:
        names = [f"{random.choice(NAMES)}{number}" for number in range(size.tables)]
    counts = [random.randint(0, _TALLEST) for _ in names]
    counts[0] = max(1, counts[0]) if size.rows is None else size.rows
    texts, width = size.texts or random.randint(0, 4), size.width or random.randint(1, 3)
    starts = 0
    tables: list[Table] = []
    for name, count in zip(names, counts, strict=True):
        # One table is large: the one that has a row.
        own = size if not tables else SMALL
        table = _table(random, name, count, list(zip(names, counts, strict=True)), texts, starts, own)
        starts += sum(len(column.get("categories", ())) for column in table["columns"])
        tables.append(table)
    random.shuffle(tables)
    embeddings = np.array([[random.randint(-40, 40) / 8 for _ in range(width)] for _ in range(texts)], dtype=np.float16)
    return {"tables": tables, "text_embeddings": embeddings.reshape(texts, width)}


def _table(
    random: Random, name: str, count: int, known: Sequence[tuple[str, int]], texts: int, first_category: int, size: Size
) -> Table:
    columns: list[Column] = []
    width = size.columns or random.randint(0 if size == SMALL else 1, _WIDEST)
    names = random.sample(TWINS, width) if width <= len(TWINS) and random.random() < 0.3 else []
    for number in range(width):
        called = names[number] if names else f"c{number}"
        columns.append(_column(random, called, count, texts, first_category, size))
        first_category += len(columns[-1].get("categories", ()))
    keyed = [column["name"] for column in columns]
    wanted = (size.keys or random.randint(0, 3)) if keyed else 0
    keys = [_key(random, random.choice(keyed), count, *random.choice(known)) for _ in range(wanted)]
    table: Table = {"name": name, "row_count": count, "columns": columns, "foreign_keys": keys}
    times = [column["name"] for column in columns if column["semantic_type"] == "timestamp"]
    if times and random.random() < 0.8:
        table["time_column"] = random.choice(times)
    return table


def _key(random: Random, column: str, count: int, table: str, rows: int) -> dict[str, Any]:
    referred = [random.randrange(-1, rows) if rows else -1 for _ in range(count)]
    return {"column": column, "table": table, "rows": np.array(referred, dtype=np.int64)}


def _column(random: Random, name: str, count: int, texts: int, first_category: int, size: Size) -> Column:
    type_ = random.choice(TYPES)
    if size.texts or size.width or size.categories:
        type_ = "categorical" if size.categories else "text"
    rate = random.choice((0.0, 0.3, 1.0)) if size == SMALL else 0.1
    if type_ == "text" and not texts:
        rate = 1.0
    categories = []
    if type_ == "categorical":
        categories = [f"k{k}" for k in range(size.categories or random.randint(1, 3))]
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
    """Limits and variants of a sequence, each given or not."""
    config: dict[str, Any] = {"sequence_length": random.randint(1, longest)}
    for name, least, most in (("max_hops", 0, 4), ("max_rows", 1, 8), ("child_width", 0, 3)):
        if random.random() < 0.4:
            config[name] = random.randint(least, most)
    config["cutoff"] = random.choice(("children", "strict"))
    if random.random() < 0.3:
        config["children_seed"] = random.choice((0, 1, 2**32, 2**64 - 1, random.randrange(2**64)))
    if random.random() < 0.3:
        config["fixed_rows"] = random.randint(1, 8)
    return config


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


def chain(count: int) -> list[dict[str, Any]]:
    """Rows of which each refers to the one before it."""
    return [{"parents": [number - 1], "time": number, "cells": 1} for number in range(count)]


def fan(count: int) -> list[dict[str, Any]]:
    """Rows that all refer to the first, which refers to all of them and to itself."""
    first = {"parents": list(range(count)), "cells": 1}
    return [first, *({"parents": [0], "time": number, "cells": 2} for number in range(1, count))]


def chained_table(count: int) -> Database:
    """A database of one table whose rows refer each to the one before."""
    values, nulls = np.arange(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    column = {"name": "id", "semantic_type": "identifier", "values": values, "is_null": nulls}
    key = {"column": "id", "table": "t", "rows": values - 1}
    table = {"name": "t", "row_count": count, "columns": [column], "foreign_keys": [key]}
    return {"tables": [table], "text_embeddings": np.zeros((0, 1), dtype=np.float16)}
