"""The databases that fuzzing lists show mistakes in columns, in schemas, in the order of rows and in keys."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from hashlib import shake_256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from checks.generators.database_tables import full_files
from impl.failure import ContractFailure
from impl.reference.batch.load import columns, declaration, keys, load_database, source, sqlite_source


@cache
def databases() -> list[tuple[bytes, dict[str, dict[str, str]]]]:
    return [(written(statements), words) for statements, words in full_files()]


def written(statements: Sequence[str]) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        return connection.serialize()


def answers() -> list[str]:
    """What the reference makes of each file."""
    found = []
    with TemporaryDirectory() as root:
        for content, words in databases():
            Path(root, "d.db").write_bytes(content)
            try:
                found.append(repr(load_database.load_database(root=root, path="d.db", declaration=words)))
            except ContractFailure as refused:
                found.append(json.dumps(refused.data, default=str))
    return found


@cache
def right() -> list[str]:
    return answers()


def test_most_files_are_loaded() -> None:
    assert sum("LoadedDatabase" in one for one in right()) > len(right()) / 2


def counted_nulls(values: Sequence[Any]) -> list[int]:
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def nulls_last(value: Any) -> tuple[int, Any]:
    return (9, 0) if value is None else storage_key(value)


def trimmed(values: Iterable[Any]) -> source.Exact:
    return source.exact(value.strip() if isinstance(value, str) else value for value in values)


storage_key, hashed = source.storage_key, shake_256


@pytest.mark.parametrize(
    ("module", "name", "mistake"),
    [
        (sqlite_source, "COLUMNS", sqlite_source.COLUMNS.replace("hidden <> 1", "hidden = 0")),
        (sqlite_source, "COLUMNS", sqlite_source.COLUMNS.replace("ORDER BY cid", "ORDER BY hidden, cid")),
        (sqlite_source, "TABLES", sqlite_source.TABLES.replace("type = 'table'", "type IN ('table', 'view')")),
        (load_database, "identifiers", counted_nulls),
        (keys, "exact", trimmed),
        (source, "storage_key", nulls_last),
        (columns, "shake_256", lambda text: hashed(text.replace(b"\0cd", b""))),
        (columns, "shake_256", lambda text: hashed(text.replace(b"\xef\xbb\xbf", b""))),
        (columns, "shake_256", lambda text: hashed(text[:4096])),
        (declaration, "LEAST_REPEATS", 9),
    ],
    ids=[
        *("generated", "generated-last", "views", "null-identifiers", "keys", "null-order", "nul", "mark", "long"),
        "obvious",
    ],
)
def test_a_mistake_shows(module: Any, name: str, mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right()
    monkeypatch.setattr(module, name, mistake)
    assert answers() != right()
