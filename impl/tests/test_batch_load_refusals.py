"""Database files as databases: what is refused."""

from pathlib import Path
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.reference.batch.load.load_database import load_database
from impl.tests.batch_database import agreed
from impl.tests.batch_files import METHOD, code, load, write

KEYED = "CREATE TABLE a (x INT, y INT, PRIMARY KEY (x, y))"


@pytest.mark.parametrize(
    ("expected", "made", "declaration"),
    [
        ("UNKNOWN_TABLE", ["CREATE TABLE t (x REAL)"], {"u": {}}),
        ("UNKNOWN_TABLE", ["CREATE TABLE t (x REAL)"], {"t": {"X": "numerical"}}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x REAL)"], {"t": {"x": "number"}}),
        ("UNKNOWN_TABLE", ["CREATE TABLE t (x REAL)"], {"t": {"x": "number"}, "u": {}}),
        ("COMPOSITE_KEY", [KEYED, "CREATE TABLE b (p INT, q INT, FOREIGN KEY (p, q) REFERENCES a)"], {}),
        ("COMPOSITE_KEY", [KEYED, "CREATE TABLE b (p INT, q INT, FOREIGN KEY (p, q) REFERENCES a (x, y))"], {}),
        ("COMPOSITE_KEY", [KEYED, "CREATE TABLE b (p INT REFERENCES a)"], {}),
        ("UNKNOWN_TABLE", ["CREATE TABLE b (p INT REFERENCES a)"], {}),
        ("UNKNOWN_TABLE", ["CREATE TABLE a (x INT)", "CREATE TABLE b (p INT REFERENCES a)"], {}),
        ("UNKNOWN_TABLE", [KEYED, "CREATE TABLE b (p INT REFERENCES a (z))"], {}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x INT)", "INSERT INTO t VALUES ('three')"], {}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x INT)", "INSERT INTO t VALUES (2.5)"], {}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (x'01')"], {}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x TEXT)", "INSERT INTO t VALUES (x'01')"], {"t": {"x": "text"}}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x BOOLEAN)", "INSERT INTO t VALUES (2)"], {}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (1)"], {"t": {"x": "text"}}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (1)"], {"t": {"x": "categorical"}}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (1)"], {"t": {"x": "timestamp"}}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (1)"], {"t": {"x": "boolean"}}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x TEXT)", "INSERT INTO t VALUES ('1')"], {"t": {"x": "numerical"}}),
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (x TEXT)", "INSERT INTO t VALUES (CAST(x'ff' AS TEXT))"], {"t": {"x": "text"}}),  # noqa: E501
        ("NON_FINITE", ["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (9e999)"], {}),
        ("NON_FINITE", ["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (1e308), (1e308), (1e308)"], {}),
        ("NON_FINITE", ["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (1e300), (-1e300)"], {}),
        ("DANGLING_KEY", ["CREATE TABLE t (x INTEGER PRIMARY KEY, y INT REFERENCES t)", "INSERT INTO t VALUES (1, 2)"], {}),  # noqa: E501
        ("CONTRACT_VIOLATION", ["CREATE TABLE a (x INT)", "CREATE TABLE t (y INT REFERENCES a(x))", "INSERT INTO a VALUES (3), (3)"], {}),  # noqa: E501
        ("CONTRACT_VIOLATION", ["CREATE TABLE t (rowid REAL, oid REAL, _rowid_ REAL)"], {}),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, expected: str, made: list[str], declaration: dict[str, Any]) -> None:
    assert code(tmp_path, *made, **declaration) == expected


def test_whatever_is_ignored_is_not_looked_at(tmp_path: Path) -> None:
    made = ["CREATE TABLE t (x INT, y REAL)", "INSERT INTO t VALUES ('three', 9e999)"]
    assert "t" in load(tmp_path, *made, t={"x": "ignored", "y": "ignored"})


def test_a_refusal_says_where_in_a_note(tmp_path: Path) -> None:
    path = write(tmp_path, "CREATE TABLE people (sure INT)", "INSERT INTO people VALUES (1)")
    with pytest.raises(ContractFailure) as failure:
        load_database(root=str(tmp_path), path=path, declaration={})
    assert "people.sure" in failure.value.__notes__[0]


@pytest.mark.parametrize("path", ["none.db", "../shop.db", "text.db", "."])
def test_a_file_that_is_none_is_refused(tmp_path: Path, path: str) -> None:
    write(tmp_path, "CREATE TABLE t (x REAL)")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "text.db").write_text("neither this nor that, at all")
    params = {"root": str(inside), "path": path, "declaration": {}}
    assert agreed(METHOD, params)["failure_code"] == "CONTRACT_VIOLATION"
