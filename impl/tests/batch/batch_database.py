"""Inline databases for the batch tests, database files, and tensors that can be read."""

import sqlite3
import struct
from collections.abc import Mapping, Sequence
from contextlib import closing
from math import prod
from pathlib import Path
from typing import Any

from impl.failure import ContractFailure
from impl.reference import backend as reference
from impl.types import Tensor
from impl.vectorized import backend as vectorized

LAYOUTS = {
    "bool": "?", "int8": "b", "uint8": "B", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
    "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip
DTYPES = {
    "identifier": "int64", "numerical": "float64", "timestamp": "int64", "boolean": "bool", "categorical": "uint32",
    "text": "uint32", "ignored": "uint8",
}  # fmt: skip
CHILDREN = {"sequence_length": 16, "cutoff": "children"}


def tensor(dtype: str, items: Sequence[Any], shape: tuple[int, ...] | None = None) -> Tensor:
    """A tensor of these elements."""
    sides = (len(items),) if shape is None else shape
    return Tensor(dtype, sides, struct.pack(f"<{len(items)}{LAYOUTS[dtype]}", *items))


def flat(value: Tensor) -> list[Any]:
    """The elements of a tensor."""
    return list(struct.unpack(f"<{prod(value.shape)}{LAYOUTS[value.dtype]}", value.data))


def nested(value: Tensor) -> list[Any]:
    """The elements of a tensor as lists in lists."""
    items = iter(flat(value))

    def part(shape: tuple[int, ...]) -> list[Any]:
        return [part(shape[1:]) if len(shape) > 1 else next(items) for _ in range(shape[0])]

    return part(value.shape)


def column(name: str, kind: str, values: Sequence[Any], **more: Any) -> dict[str, Any]:
    """A column; None stands for NULL, unless `is_null` says which values are."""
    nulls = more.pop("is_null", [value is None for value in values])
    stored = [0 if value is None else value for value in values]
    if kind in ("numerical", "timestamp"):
        more = {"mean": 0.0, "deviation": 1.0, **more}
    return {
        "name": name,
        "semantic_type": kind,
        "values": tensor(DTYPES[kind], stored),
        "is_null": tensor("bool", nulls),
        **more,
    }


def table(
    name: str,
    columns: Sequence[Mapping[str, Any]],
    keys: Sequence[tuple[str, str, Sequence[int | None]]] = (),
    rows: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A table; a key is (column, referenced table, row or None for each row)."""
    return {
        "name": name,
        "row_count": columns[0]["values"].shape[0] if rows is None else rows,
        "columns": list(columns),
        "foreign_keys": [
            {"column": key, "table": other, "rows": tensor("int64", [-1 if row is None else row for row in referred])}
            for key, other, referred in keys
        ],
        **more,
    }


def database(*tables: Mapping[str, Any], texts: Sequence[Sequence[float]] = (), width: int = 2) -> dict[str, Any]:
    """A database of these tables and text embeddings."""
    return {
        "tables": list(tables),
        "text_embeddings": tensor("float16", [number for row in texts for number in row], (len(texts), width)),
    }


def graph(*parents: Sequence[int], cells: int = 1, times: Sequence[int | None] = ()) -> list[dict[str, Any]]:
    """Graph rows from the parents of each, all with the same number of cells."""
    rows: list[dict[str, Any]] = [{"parents": list(row), "cells": cells} for row in parents]
    for row, time in zip(rows, times, strict=False):
        if time is not None:
            row["time"] = time
    return rows


def answer(backend: Any, method: str, params: Mapping[str, Any]) -> Any:
    """The result of a call, or its failure record."""
    try:
        return backend.call(method, params)
    except ContractFailure as failure:
        return failure.data


def agreed(method: str, params: Mapping[str, Any]) -> Any:
    """What both backends answer."""
    expected = answer(reference, method, params)
    assert answer(vectorized, method, params) == expected
    return expected


def sqlite_file(file: Path, script: str) -> Path:
    """A SQLite file made by these statements; none waits for the disk."""
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(f"PRAGMA synchronous = OFF; {script}")
    return file


def bookstore() -> dict[str, Any]:
    """Six rows in three tables: orders 1, 12, 5, 7, customer 23 and book 42; customer 23 has orders 1, 7 and 12."""
    orders = table(
        "orders",
        [
            column("id", "identifier", [1, 5, 7, 12]),
            column("customer", "identifier", [23, None, 23, 23]),
            column("book", "identifier", [42, 42, None, None]),
            column("price", "numerical", [1.5, 2.5, None, -4.0]),
        ],
        [("customer", "customers", [0, None, 0, 0]), ("book", "books", [0, 0, None, None])],
    )
    customers = table("customers", [column("id", "identifier", [23]), column("name", "text", [0])])
    books = table("books", [column("id", "identifier", [42]), column("title", "text", [1])])
    return database(orders, customers, books, texts=[[0.5, -1.0], [2.0, 0.25]])
