"""Bad paths, damaged files and files that ask too much: each is a refusal of the contract, in both derivations."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.failure import ContractFailure
from impl.reference.batch.load import sqlite_source
from impl.reference.batch.load.load_database import load_database as literal
from impl.tests.batch.batch_database import agreed, sqlite_file
from impl.tests.batch.batch_published import NORTHWIND, SAKILA
from impl.vectorized.batch.front.open import load_database as fast

METHOD = "Batch.LoadDatabase"
Load = Callable[..., object]
BOTH = (literal, fast)


def outcome(load: Load, folder: Path, path: str, **fields: Any) -> str:
    """The code of a refusal, or `loaded`; whatever else is raised comes through."""
    try:
        load(root=str(folder), path=path, **{"declaration": {}, **fields})
    except ContractFailure as refused:
        return refused.code
    return "loaded"


def made(file: Path, script: str) -> bytes:
    return sqlite_file(file, script).read_bytes()


PATHS = ("nul\0nul.db", "ring.db", "n" * 300, "n/" * 2500, "\udcff.db", "", ".", "..", "/", "/etc/passwd", "folder",
         "a/../..", "shop.db/x", "~", "file:shop.db", "shop.db?mode=rwc", "closed.db", "pipe.db")  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=[ascii(path[:20]) for path in PATHS])
@pytest.mark.parametrize("load", BOTH)
def test_every_bad_path_is_a_refusal(tmp_path: Path, path: str, load: Load) -> None:
    import os

    made(tmp_path / "shop.db", "CREATE TABLE t (x REAL)")
    (tmp_path / "ring.db").symlink_to("ring.db")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.db")
    (tmp_path / "closed.db").symlink_to("/proc/self/mem")
    assert outcome(load, tmp_path, path) == "CONTRACT_VIOLATION"


def damaged(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """The file cut, with changed bytes, with a page of another place, with holes."""
    chance = random.Random(seed)
    for _ in range(count):
        broken = bytearray(content)
        match chance.randrange(5):
            case 0:
                del broken[chance.randrange(17, len(broken)) :]
            case 1:
                for _ in range(chance.randrange(1, 6)):
                    broken[chance.randrange(16, len(broken))] = chance.randrange(256)
            case 2:
                place = chance.randrange(100, min(len(broken), 4096))  # the schema
                broken[place] ^= 1 << chance.randrange(8)
            case 3:
                one, other = (4096 * chance.randrange(len(broken) // 4096) for _ in range(2))
                broken[one + 100 : one + 4096] = content[other + 100 : other + 4096]
            case _:
                place = chance.randrange(16, len(broken))
                broken[place : place + 64] = bytes(chance.choice((0, 255)) for _ in range(64))
        yield bytes(broken)


@pytest.mark.parametrize("script", [NORTHWIND, SAKILA], ids=["northwind", "sakila"])
def test_every_damaged_file_is_loaded_or_refused_alike(tmp_path: Path, script: str) -> None:
    content = made(tmp_path / "whole.db", script)
    found = []
    for broken in damaged(content, 150, seed=7):
        (tmp_path / "shop.db").write_bytes(broken)
        codes = [outcome(load, tmp_path, "shop.db") for load in BOTH]
        assert set(codes) <= {"loaded", "CONTRACT_VIOLATION", "UNKNOWN_TABLE", "DANGLING_KEY", "COMPOSITE_KEY",
                              "NON_FINITE", "LIMIT_EXCEEDED"}  # fmt: skip
        found += codes
    assert found.count("CONTRACT_VIOLATION") > len(found) / 4


def test_a_damaged_duckdb_file_is_refused(tmp_path: Path, package: Callable[[str], Any]) -> None:
    with package("duckdb").connect(str(tmp_path / "whole.db")) as connection:
        connection.execute("CREATE TABLE t (x DOUBLE, y VARCHAR)")
        connection.execute("INSERT INTO t SELECT i, 'a b ' || i FROM range(5000) r(i)")
    content = (tmp_path / "whole.db").read_bytes()
    for broken in damaged(content, 20, seed=3):
        (tmp_path / "shop.db").write_bytes(broken)
        assert {outcome(load, tmp_path, "shop.db") for load in BOTH} <= {"loaded", "CONTRACT_VIOLATION", "NON_FINITE"}


NESTED = "zeroblob(9000)"
for _ in range(12):
    NESTED = f"hex({NESTED})"


@pytest.mark.parametrize("load", BOTH)
@pytest.mark.parametrize("value", ["zeroblob(900000000)", NESTED, "replace(hex(zeroblob(8000000)), '0', 'abcdefgh')"])
def test_a_small_file_cannot_ask_for_gigabytes(tmp_path: Path, load: Load, value: str) -> None:
    rows = ", ".join("('a')" for _ in range(8))
    content = made(tmp_path / "shop.db", f"CREATE TABLE t (x TEXT, g AS ({value})); INSERT INTO t (x) VALUES {rows}")
    assert len(content) <= 16_384
    before = time.monotonic()
    assert outcome(load, tmp_path, "shop.db", declaration={"t": {"x": "text", "g": "text"}}) == "LIMIT_EXCEEDED"
    assert time.monotonic() - before < 10


@pytest.mark.parametrize("load", BOTH)
@pytest.mark.parametrize("function", ["datetime('now')", "random()", "sqlite_version()", "last_insert_rowid()"])
def test_a_column_that_is_computed_anew_each_time_is_refused(tmp_path: Path, load: Load, function: str) -> None:
    file = tmp_path / "shop.db"
    made(file, "CREATE TABLE t (n INT, x TEXT AS (datetime(n))); INSERT INTO t VALUES (5)")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'datetime(n)', ?)", (function,))
        connection.commit()
    assert outcome(load, tmp_path, "shop.db", declaration={"t": {"x": "text"}}) == "CONTRACT_VIOLATION"


def test_reading_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)"
    made(tmp_path / "shop.db", f"CREATE TABLE t (x REAL); {many} INSERT INTO t SELECT i FROM n;")
    assert outcome(literal, tmp_path, "shop.db") == "loaded"
    monkeypatch.setattr(sqlite_source, "SECONDS", 0.0)
    assert outcome(literal, tmp_path, "shop.db") == "LIMIT_EXCEEDED"


def dangling(file: Path) -> dict[str, set[int]]:
    """The rows with keys to no row by table, as SQLite itself says."""
    found: dict[str, set[int]] = {}
    with closing(sqlite3.connect(file)) as connection:
        for table, row, *_ in connection.execute("PRAGMA foreign_key_check"):
            found.setdefault(table, set()).add(row)
    return found


AFFINITIES = ("INTEGER", "TEXT", "REAL", "NUMERIC", "", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "BLOB")
VALUES = ("1", "'1'", "1.0", "'1.0'", "'01'", "' 1'", "'a'", "'A'", "'a '", "x'61'", "1e3", "'1e3'", "1000", "NULL",
          "'b'", "9007199254740993", "9007199254740992.0", "'9007199254740993'", "0.1", "'0.1'", "-0.0")  # fmt: skip


@pytest.mark.parametrize("parent", AFFINITIES)
@pytest.mark.parametrize("child", ["INTEGER", "TEXT", ""])
def test_keys_dangle_exactly_where_sqlite_says_so(tmp_path: Path, parent: str, child: str) -> None:
    """Its own check is the oracle: for each value of the parent, the keys of one table have all values."""
    file = tmp_path / "shop.db"
    pairs = list(enumerate(VALUES))
    keys = ", ".join(f"({value})" for value in VALUES)
    made(file, "".join(f"CREATE TABLE a{k} (x {parent} UNIQUE); INSERT INTO a{k} VALUES ({value});"
                       f"CREATE TABLE t{k} (y {child} REFERENCES a{k} (x)); INSERT INTO t{k} VALUES {keys};"
                       for k, value in pairs))  # fmt: skip
    words = {f"a{k}": {"x": "ignored"} for k, _ in pairs} | {f"t{k}": {"y": "ignored"} for k, _ in pairs}
    asked = {"root": str(tmp_path), "path": file.name, "declaration": words}
    answer = agreed(METHOD, {**asked, "dangling": {f"t{k}": {"y": "null"} for k, _ in pairs}})
    tables = {table["name"]: table for table in answer["database"]["tables"]}
    found = {}
    for k, _ in pairs:
        (key,) = tables[f"t{k}"]["foreign_keys"]
        rows = enumerate(np.frombuffer(key["rows"].data, "<i8"))
        found[f"t{k}"] = {row + 1 for row, target in rows if target < 0 and VALUES[row] != "NULL"}
    assert found == {f"t{k}": set() for k, _ in pairs} | dangling(file)
    assert any(found.values())
    refusing = {f"t{k}": {"y": "refuse"} for k, _ in pairs}
    assert agreed(METHOD, {**asked, "dangling": refusing})["failure_code"] == "DANGLING_KEY"


def test_rows_are_those_of_the_table_where_an_index_of_it_is_damaged(tmp_path: Path) -> None:
    columns = "b TEXT COLLATE NOCASE, a INT, n REAL, PRIMARY KEY (a, b)"
    rows = "('é', 9, 1), ('a', 10, 2), ('Z', 9, 3), ('a', 9, 4)"
    content = made(tmp_path / "shop.db", f"CREATE TABLE t ({columns}); INSERT INTO t VALUES {rows}")
    asked = {"root": str(tmp_path), "path": "shop.db", "declaration": {}}
    whole = agreed(METHOD, asked)
    (tmp_path / "shop.db").write_bytes(content[:-4096] + bytes(4096))  # the last page is the index of the primary key
    assert agreed(METHOD, asked) == whole


def test_a_file_that_ends_within_its_last_page_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    content = made(file, "CREATE TABLE t (x REAL); INSERT INTO t VALUES (1.5)")
    file.write_bytes(content[:-1])
    assert outcome(literal, tmp_path, "shop.db") == "CONTRACT_VIOLATION"
    with pytest.raises(ContractFailure, match=r"2 pages of 4096 bytes: got 8191 bytes; it was cut off; copy it again"):
        fast(root=str(tmp_path), path="shop.db", declaration={})
    (tmp_path / f"{'n' * 252}.db").write_bytes(content[:-1])  # no log can have a name beside it
    assert [outcome(load, tmp_path, f"{'n' * 252}.db") for load in BOTH] == ["CONTRACT_VIOLATION"] * 2
    file.write_bytes(content + b"more")
    assert [outcome(load, tmp_path, "shop.db") for load in BOTH] == ["loaded", "loaded"]
