"""SQLite files made for a test, loaded by both derivations."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from impl.tests.batch.batch_database import agreed, flat

METHOD = "Batch.LoadDatabase"


def write(folder: Path, *statements: str) -> str:
    """A SQLite file made by these statements."""
    file = folder / "shop.db"
    file.unlink(missing_ok=True)
    connection = sqlite3.connect(file)
    for statement in ("PRAGMA synchronous = OFF", *statements):  # none waits for the disk
        connection.execute(statement)
    connection.commit()
    connection.close()
    return file.name


def load(folder: Path, *statements: str, **declaration: Mapping[str, str]) -> dict[str, Any]:
    """The tables by name, or the failure record."""
    path = write(folder, *statements)
    answer = agreed(METHOD, {"root": str(folder), "path": path, "declaration": declaration})
    if "database" not in answer:
        return dict(answer)
    return {table["name"]: table for table in answer["database"]["tables"]}


def code(folder: Path, *statements: str, **declaration: Mapping[str, str]) -> str:
    record = load(folder, *statements, **declaration)
    assert record.keys() == {"failure_code", "failure_operator"}
    assert record["failure_operator"] == METHOD
    return str(record["failure_code"])


def column(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next(dict(held) for held in table["columns"] if held["name"] == name)


def values(table: Mapping[str, Any], name: str) -> list[Any]:
    return flat(column(table, name)["values"])


def key(table: Mapping[str, Any], name: str) -> list[int]:
    return next(flat(held["rows"]) for held in table["foreign_keys"] if held["column"] == name)
