"""Targets of a query over a DuckDB file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.library.batch import BatchBuilder, Database, FileLimits, TargetQuery, open_database

SCRIPT = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, joined DATE);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers(id), placed TIMESTAMP, total DOUBLE);
CREATE TABLE labels (customer INTEGER, day TIMESTAMP, churned BOOLEAN, "left" DECIMAL(8, 2));
INSERT INTO customers VALUES (10, '2024-01-01'), (20, '2024-03-01');
INSERT INTO orders VALUES (1, 10, '2024-02-01', 1), (2, 10, '2024-03-01', 2), (3, 20, '2024-03-02', 3);
INSERT INTO labels VALUES (20, '2024-03-02', NULL, 1.5), (10, '2024-02-15', true, 2.5), (10, '2024-03-01', false, NULL);
"""
TEN = "SELECT 10 AS customer, TIMESTAMP '2024-01-01' AS day, true AS churned"
KEY, WORDS = {"customer": "id"}, {"day": "time", "churned": "boolean"}


@pytest.fixture
def shop(tmp_path: Path, package: Callable[[str], Any]) -> Path:
    duckdb = package("duckdb")
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(SCRIPT)
    return file


def opened(file: Path, query: str, words: dict[str, str] = WORDS, **limits: Any) -> Database:
    asked = TargetQuery(query, "customers", KEY, words)
    return open_database(file, leave_out=["labels"], targets={"churn": asked}, limits=FileLimits(**limits))


def test_targets_of_a_query(shop: Path) -> None:
    database = opened(shop, "SELECT customer, day, churned FROM labels ORDER BY day DESC")
    churn = database.tables[-1]
    assert churn.foreign_keys[0].rows.tolist() == [1, 0, 0]
    assert churn.columns[1].values.tolist() == [date * 86_400_000_000 for date in (19_784, 19_783, 19_768)]
    assert churn.columns[2].values.tolist() == [False, False, True]
    assert churn.columns[2].is_null.tolist() == [True, False, False]
    builder = BatchBuilder(database, "churn", "churned", sequence_length=32)
    rows = builder.batch(range(3)).seq_row_ids.max(axis=1) + 1  # the target, its customer, the orders until then
    assert rows.tolist() == [3, 4, 3]
    left = opened(shop, 'SELECT customer, day, "left" FROM labels', {"day": "time", "left": "numerical"})
    assert left.tables[-1].columns[2].mean == 2.0


@pytest.mark.parametrize(
    ("query", "code", "sentence"),
    [
        ("DELETE FROM labels", "CONTRACT_VIOLATION", "got DELETE"),
        ("COPY (SELECT 1) TO 'out.csv'", "CONTRACT_VIOLATION", "got COPY"),
        (f"{TEN}; DELETE FROM labels", "CONTRACT_VIOLATION", "SELECT, DELETE, which is no single SELECT"),
        (f"{TEN}; {TEN}", "CONTRACT_VIOLATION", "SELECT, SELECT, which is no single SELECT"),
        ("SELECT a b c", "CONTRACT_VIOLATION", "syntax error"),
        ("SELECT customer, day, churned FROM label", "CONTRACT_VIOLATION", "label does not exist"),
        ("SELECT * FROM 'secret.csv'", "CONTRACT_VIOLATION", "disabled"),
        ("SELECT customer, day, churned FROM outside", "CONTRACT_VIOLATION", "outside does not exist"),
        ("SELECT customer, day FROM labels", "UNKNOWN_TABLE", "got customer, day"),
        ("SELECT 11 AS customer, day, churned FROM labels", "DANGLING_KEY", "got 3 of 3 that do not"),
        ("SELECT NULL::INTEGER AS customer, day, churned FROM labels", "CONTRACT_VIOLATION", "have no NULL: got 3"),
        ("SELECT customer, 5 AS day, churned FROM labels", "CONTRACT_VIOLATION", "have a unit"),
        ("SELECT customer, day, 'no' AS churned FROM labels", "CONTRACT_VIOLATION", "must hold boolean values"),
    ],
)
def test_a_faulty_query_is_refused(
    shop: Path, query: str, code: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    (shop.parent / "secret.csv").write_text("customer,day,churned\n10,2024-01-01,true\n")
    outside: Any = __import__("numpy").zeros((1, 3))  # a name of this function, which DuckDB would find by itself
    before = shop.read_bytes()
    with pytest.raises(ContractFailure, match=sentence) as refused:
        opened(shop, query)
    assert refused.value.code == code
    assert shop.read_bytes() == before
    assert sorted(file.name for file in shop.parent.iterdir()) == ["secret.csv", "shop.duckdb"]
    assert outside.size


def test_a_query_that_asks_too_much_is_refused(shop: Path) -> None:
    endless = f"{TEN} FROM range(1000000000000) t(i)"
    for query, limits in (
        (f"{endless} WHERE sin(i) > 2", {"seconds": 0.5}),
        (f"{TEN} FROM range(9000)", {"rows": 8_999}),
        (f"{TEN.removesuffix('true AS churned')} repeat('x', 70000) AS churned", {"value_bytes": 60_000}),
    ):
        with pytest.raises(ContractFailure) as refused:
            opened(shop, query, **limits)
        assert refused.value.code == "LIMIT_EXCEEDED", query
