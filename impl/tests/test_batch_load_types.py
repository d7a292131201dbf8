"""Database files as databases: semantic types and times."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from impl.tests.batch_files import code, column, load, values


@pytest.mark.parametrize(
    ("declared", "stored", "expected"),
    [
        ("INT", ["3", "4"], "numerical"),
        ("DECIMAL(10,2)", ["1", "2.5"], "numerical"),
        ("BOOLEAN", ["0", "1"], "boolean"),
        ("DATETIME", ["'2024-01-01'"], "timestamp"),
        ("TEXT", ["'2024-01-01 00:00'"], "timestamp"),
        ("TEXT", ["'a'"] * 10, "categorical"),
        ("TEXT", ["'two words'", "'more words'", "'x'"], "text"),
    ],
)
def test_obvious_types_need_no_declaration(
    tmp_path: Path, declared: str, stored: Sequence[str], expected: str
) -> None:
    tables = load(
        tmp_path, f"CREATE TABLE t (x {declared})", *(f"INSERT INTO t VALUES ({value})" for value in stored)
    )
    assert column(tables["t"], "x")["semantic_type"] == expected


@pytest.mark.parametrize(
    ("declared", "stored"),
    [
        ("INT", ["0", "1"]),
        ("TEXT", ["'a'"] * 9),
        ("TEXT", ["'a'", "'b'"]),
        ("TEXT", ["'a b'", "'a b'"]),
        ("TEXT", []),
        ("TEXT", [f"'{i // 10}'" for i in range(1010)]),
        ("DATETIME", ["1704067200"]),
        ("DATETIME", []),
        ("BLOB", ["x'00'"]),
        ("", ["1"]),
    ],
)
def test_a_doubtful_type_must_be_declared(tmp_path: Path, declared: str, stored: Sequence[str]) -> None:
    made = [f"CREATE TABLE t (x {declared})", *(f"INSERT INTO t VALUES ({value})" for value in stored)]
    assert code(tmp_path, *made) == "CONTRACT_VIOLATION"
    assert "t" in load(tmp_path, *made, t={"x": "ignored"})


def test_a_declared_time_dates_the_rows_where_there_are_several(tmp_path: Path) -> None:
    made = ("CREATE TABLE t (born DATE, hired DATE)", "INSERT INTO t VALUES ('1970-01-02', '1970-01-03')")
    assert code(tmp_path, *made) == "CONTRACT_VIOLATION"
    assert load(tmp_path, *made, t={"hired": "time"})["t"]["time_column"] == "hired"
    assert load(tmp_path, *made, t={"born": "ignored"})["t"]["time_column"] == "hired"
    assert code(tmp_path, *made, t={"born": "time", "hired": "time"}) == "CONTRACT_VIOLATION"


def test_declared_integers_are_microseconds(tmp_path: Path) -> None:
    made = ("CREATE TABLE t (at INT)", "INSERT INTO t VALUES (-5), (9223372036854775807)")
    assert values(load(tmp_path, *made, t={"at": "timestamp"})["t"], "at") == [-5, 2**63 - 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("1969-12-31 23:59", -60_000_000),
        ("1970-01-01T00:00:01.5Z", 1_500_000),
        ("1970-01-01 00:00:00.000001", 1),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1970-01-01 00:00:00-23:59", 86_340_000_000),
        ("0001-01-01", -62_135_596_800_000_000),
        ("9999-12-31 23:59:59.999999", 253_402_300_799_999_999),
        ("1970-02-30", None),
        ("1970-13-01", None),
        ("0000-01-01", None),
        ("1970-01-01 24:00", None),
        ("1970-01-01 00:60", None),
        ("1970-01-01 00:00:60", None),
        ("1970-01-01 00:00:00.1234567", None),
        ("1970-01-01 00:00+24:00", None),
        ("1970-01-01 00", None),
        ("1970-01-01Z", None),
        ("70-01-01", None),
        ("1970-1-1", None),
        ("+1970-01-01", None),
        ("1970-01-01 ", None),
        ("١٩٧٠-01-01", None),
        ("", None),
    ],
)
def test_times_in_iso_8601(tmp_path: Path, text: str, expected: int | None) -> None:
    made = ("CREATE TABLE t (at TEXT)", f"INSERT INTO t VALUES ('{text}')")
    if expected is None:
        assert code(tmp_path, *made, t={"at": "timestamp"}) == "CONTRACT_VIOLATION"
    else:
        assert values(load(tmp_path, *made, t={"at": "timestamp"})["t"], "at") == [expected]
