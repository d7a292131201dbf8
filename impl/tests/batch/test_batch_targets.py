"""Targets of a query: labels with their own times, seen by their own sequence alone, and with the past alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.failure import ContractFailure
from impl.library.batch import BatchBuilder, Database, FileLimits, TargetQuery, open_database, split_rows
from impl.library.declaration import read_declaration
from impl.reference import backend as reference
from impl.tests.batch.batch_database import flat, sqlite_file
from impl.vectorized.batch.arrays import AnyArray, tensor_of
from impl.vectorized.batch.model import Column, ForeignKey, Table

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE UNIQUE, joined DATE);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customers, placed TIMESTAMP, total REAL);
CREATE TABLE lines ("order" INT REFERENCES orders, line INT, amount REAL, PRIMARY KEY ("order", line));
CREATE TABLE labels (customer INT, at TEXT, churned INT, left REAL, why TEXT);
INSERT INTO customers VALUES (10, 'anna', '2024-01-01'), (20, 'Bert', '2024-03-01'), (30, 'carl', NULL);
INSERT INTO orders VALUES
    (1, 10, '2024-02-01', 1), (2, 10, '2024-03-01', 2), (3, 20, '2024-03-02', 3), (4, 10, '2024-04-01', 4);
INSERT INTO lines VALUES (1, 1, 5), (1, 2, 6), (4, 1, 7);
INSERT INTO labels VALUES
    (10, '2024-02-15', 0, 2.5, 'price'), (10, '2024-03-01', 1, 7.5, 'service'), (20, '2024-02-15', NULL, NULL, NULL),
    (30, '2024-05-01 12:00', 1, 5.0, 'price');
"""
WORDS = {"customers": {"code": "text"}, "lines": {}, "orders": {}}
CHURN = TargetQuery(
    "SELECT customer, at, churned FROM labels ORDER BY at, customer",
    "customers",
    {"customer": "id"},
    {"at": "time", "churned": "boolean"},
)
DAY = 86_400_000_000
FEBRUARY_15, MARCH_1, MAY_1 = 19_768 * DAY, 19_783 * DAY, 19_844 * DAY + DAY // 2


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return sqlite_file(tmp_path / "shop.db", SHOP)


def opened(file: Path, *, name: str = "churn", asked: TargetQuery = CHURN, **more: Any) -> Database:
    return open_database(file, WORDS, leave_out=["labels"], targets={name: asked}, **more)


def table(database: Database, name: str) -> Table:
    return next(held for held in database.tables if held.name == name)


def builder(database: Database, name: str = "churn", column: str = "churned", **more: Any) -> BatchBuilder:
    return BatchBuilder(database, name, column, sequence_length=64, **more)


def numbers(batch: Any, database: Database, column: str) -> list[float]:
    """The z-scores of a column in a batch, as they were in the file."""
    names = [one for held in sorted(database.tables, key=lambda held: held.name.encode()) for one in held.columns]
    place = next(number for number, held in enumerate(names) if held.name == column)
    found = batch.numeric_values[(batch.column_ids == place) & ~batch.is_padding]
    return sorted(round(float(one) * (names[place].deviation or 0) + (names[place].mean or 0), 3) for one in found)


def test_the_targets_are_a_table_of_their_own(shop: Path) -> None:
    database = opened(shop)
    churn = table(database, "churn")
    assert [(column.name, column.semantic_type) for column in churn.columns] == [
        ("customer", "identifier"), ("at", "timestamp"), ("churned", "boolean"),
    ]  # fmt: skip
    assert (churn.row_count, churn.time_column, churn.target_column) == (4, "at", "churned")
    assert churn.columns[1].values.tolist() == [FEBRUARY_15, FEBRUARY_15, MARCH_1, MAY_1]
    assert churn.columns[2].values.tolist() == [False, False, True, True]
    assert churn.columns[2].is_null.tolist() == [False, True, False, False]
    assert [(key.column, key.table, key.rows.tolist()) for key in churn.foreign_keys] == [
        ("customer", "customers", [0, 1, 0, 2])
    ]
    plain = open_database(shop, WORDS, leave_out=["labels"])
    assert [held.name for held in database.tables] == [*(held.name for held in plain.tables), "churn"]


def test_a_target_sees_the_past_of_its_row_and_no_other_target(shop: Path) -> None:
    database = opened(shop)
    batch = builder(database).batch(range(4))
    # Anna in the middle of February: order 1 with its two lines; on March 1 the order of that moment as well.
    assert numbers(builder(database).batch([0]), database, "total") == [1.0]
    assert numbers(builder(database).batch([0]), database, "amount") == [5.0, 6.0]
    assert numbers(builder(database).batch([2]), database, "total") == [1.0, 2.0]
    # Bert joins later than his label: the source keeps a parent from the future; strict does not.
    assert numbers(builder(database).batch([1]), database, "total") == []
    assert (batch.seq_row_ids.max(axis=1) + 1).tolist() == [5, 2, 6, 2]
    strict = builder(database, cutoff="strict").batch(range(4))
    assert (strict.seq_row_ids.max(axis=1) + 1).tolist() == [5, 1, 6, 2]
    targets = sorted(held.name for held in database.tables).index("churn")
    first = sum(len(held.columns) for held in sorted(database.tables, key=lambda held: held.name)[:targets])
    labels = (batch.column_ids == first + 2) & ~batch.is_padding
    assert labels.sum(axis=1).tolist() == [1, 1, 1, 1]
    assert np.array_equal(labels, batch.is_target)
    assert batch.bool_values[batch.is_target].tolist() == [False, False, True, True]
    assert batch.is_null[batch.is_target].tolist() == [False, True, False, False]
    assert batch.semantic_types[batch.is_target].tolist() == [3, 3, 3, 3]


def alone(database: Database, row: int) -> dict[str, Any]:
    """The database on the wire with one row of its targets, and without what the library adds."""

    def part(held: Table, values: AnyArray) -> AnyArray:
        return values[row : row + 1] if held.target_column else values

    def column(held: Table, one: Column) -> dict[str, Any]:
        told = {"mean": one.mean, "deviation": one.deviation, "cat_emb_start": one.cat_emb_start,
                "categories": None if one.categories is None else list(one.categories)}  # fmt: skip
        return {
            "name": one.name,
            "semantic_type": one.semantic_type,
            "values": tensor_of(part(held, one.values)),
            "is_null": tensor_of(part(held, one.is_null)),
            **{name: value for name, value in told.items() if value is not None},
        }

    def key(held: Table, one: ForeignKey) -> dict[str, Any]:
        return {"column": one.column, "table": one.table, "rows": tensor_of(part(held, one.rows))}

    tables = [
        {
            "name": held.name,
            "row_count": 1 if held.target_column else held.row_count,
            "columns": [column(held, one) for one in held.columns],
            "foreign_keys": [key(held, one) for one in held.foreign_keys],
            **({} if held.time_column is None else {"time_column": held.time_column}),
        }
        for held in database.tables
    ]
    return {"tables": tables, "text_embeddings": tensor_of(database.text_embeddings)}


LEFT = TargetQuery(
    "SELECT left, at, customer FROM labels", "customers", {"customer": "id"}, {"at": "time", "left": "numerical"}
)
WHY = replace(LEFT, query="SELECT at, why, customer FROM labels", columns={"at": "time", "why": "categorical"})
TOLD = replace(WHY, columns={"at": "time", "why": "text"})
WHEN = replace(LEFT, query="SELECT at, at AS due, customer FROM labels", columns={"at": "time", "due": "timestamp"})
VALUES = {"churned": CHURN, "left": LEFT, "why": WHY, "told": TOLD, "due": WHEN}


@pytest.mark.parametrize("cutoff", ["children", "strict"])
@pytest.mark.parametrize("asked", VALUES.values(), ids=list(VALUES))
@pytest.mark.parametrize("name", ["churn", "zz"])
def test_a_sequence_is_that_of_the_contract_with_this_one_target(
    shop: Path, asked: TargetQuery, cutoff: str, name: str
) -> None:
    database = opened(shop, name=name, asked=asked)
    held = table(database, name)
    times = held.columns[held.place("at")].values.tolist()
    fast = builder(database, name, asked.value, cutoff=cutoff)
    for row, time in enumerate(times):
        expected = reference.call(
            "Batch.Build",
            {
                "database": alone(database, row),
                "task": {"table": name, "column": asked.value},
                "seeds": [{"row": 0, "time": time}],
                "config": {"sequence_length": 64, "cutoff": cutoff},
            },
        )
        batch = fast.batch([row])
        assert len(expected) == 16
        for field, tensor in expected.items():
            assert tensor_of(getattr(batch, field)) == tensor, field
        assert sum(flat(expected["is_target"])) == 1


def test_other_tasks_see_no_targets(shop: Path) -> None:
    plain = BatchBuilder(open_database(shop, WORDS, leave_out=["labels"]), "orders", "total", sequence_length=64)
    other = BatchBuilder(opened(shop, name="zz"), "orders", "total", sequence_length=64)
    for field in ("column_ids", "seq_row_ids", "numeric_values", "is_padding", "fk_adj", "out_perm"):
        assert np.array_equal(getattr(plain.batch([0, 3]), field), getattr(other.batch([0, 3]), field)), field


def test_the_variants_work_together(shop: Path) -> None:
    database = opened(shop)
    batch = builder(database, fixed_rows=9, children_seed=3, child_width=1).batch([0, 2])
    assert batch.fk_adj.shape == (2, 9, 9)
    one, other = split_rows(database, "churn", (1, 1), by="customer", seed=1)
    values = table(database, "churn").columns[0].values
    assert not set(values[one].tolist()) & set(values[other].tolist())


KEYS: Mapping[str, tuple[str, Mapping[str, str], str, list[int]]] = {
    "another letter case": ("SELECT 'ANNA' AS k, 5 AS at, 1.5 AS v UNION ALL SELECT 'bert', 6, 2", {"k": "code"},
                            "customers", [0, 1]),
    "a text of a number": ("SELECT '20' AS k, 5 AS at, 1.5 AS v UNION ALL SELECT 30.0, 6, NULL", {"k": "id"},
                           "customers", [1, 2]),
    "two columns": ('SELECT line AS b, "order" AS a, 5 AS at, amount AS v FROM lines ORDER BY v DESC',
                    {"b": "line", "a": "order"}, "lines", [2, 1, 0]),
    "a comment at the end": ("-- all\nWITH x AS (VALUES (10)) SELECT column1 AS k, 5 AS at, 1.0 AS v FROM x; --",
                             {"k": "id"}, "customers", [0]),
    "no rows": ("SELECT id AS k, 5 AS at, 1.0 AS v FROM customers WHERE id > 99", {"k": "id"}, "customers", []),
}  # fmt: skip


@pytest.mark.parametrize(("query", "key", "other", "rows"), KEYS.values(), ids=list(KEYS))
def test_keys_compare_as_sqlite_compares_them(
    shop: Path, query: str, key: dict[str, str], other: str, rows: list[int]
) -> None:
    asked = TargetQuery(query, other, key, {"at": "time[day]", "v": "numerical"})
    found = table(opened(shop, name="asked", asked=asked), "asked")
    assert found.foreign_keys[0].rows.tolist() == rows
    assert found.columns[found.place("at")].values.tolist()[:1] == [5 * DAY][: len(rows)]


def of(query: str, **more: Any) -> TargetQuery:
    return replace(CHURN, query=query, **more)


TEN = "SELECT 10 AS customer, '2024-01-01' AS at, 1 AS churned"
FAULTS: Mapping[str, tuple[TargetQuery, str, str]] = {
    "insert": (of("INSERT INTO labels VALUES (1, 2, 3, 4, 5)"), "CONTRACT_VIOLATION", "got INSERT"),
    "insert behind a with": (of("WITH x AS (SELECT 1) INSERT INTO labels SELECT 1, 2, 3, 4, 5 FROM x"),
                             "CONTRACT_VIOLATION", "got INSERT"),
    "delete that gives rows": (of("DELETE FROM labels RETURNING customer, at, churned"), "CONTRACT_VIOLATION", "DEL"),
    "schema": (of("CREATE TEMP TABLE x AS SELECT 1"), "CONTRACT_VIOLATION", "got CREATE"),
    "attach": (of("ATTACH 'other.db' AS other"), "CONTRACT_VIOLATION", "got ATTACH"),
    "vacuum into": (of("VACUUM INTO 'other.db'"), "CONTRACT_VIOLATION", "got VACUUM"),
    "pragma": (of("PRAGMA table_info(labels)"), "CONTRACT_VIOLATION", "got PRAGMA"),
    "pragma as a table": (of("SELECT name AS customer, type AS at, pk AS churned FROM pragma_table_info('labels')"),
                          "CONTRACT_VIOLATION", "got a virtual table, or a change"),
    "explain": (of(f"EXPLAIN {TEN}"), "CONTRACT_VIOLATION", "got EXPLAIN"),
    "two statements": (of(f"{TEN}; {TEN}"), "CONTRACT_VIOLATION", "one statement at a time"),
    "a second statement that writes": (of(f"{TEN}; DELETE FROM labels"), "CONTRACT_VIOLATION", "one statement"),
    "nothing": (of(" -- nothing"), "CONTRACT_VIOLATION", "got none"),
    "a slip": (of("SELECT customer at churned FORM labels"), "CONTRACT_VIOLATION", "syntax error"),
    "a parameter": (of(f"{TEN} WHERE ?"), "CONTRACT_VIOLATION", "binding"),
    "NUL": (of(f"{TEN}\0"), "CONTRACT_VIOLATION", "null character"),
    "no such table": (of("SELECT customer, at, churned FROM label"), "CONTRACT_VIOLATION", "no such table: label"),
    "an extension": (of(f"{TEN} WHERE load_extension('x')"), "CONTRACT_VIOLATION", "not authorized"),
    "another column": (of("SELECT customer, at, left FROM labels"), "UNKNOWN_TABLE", "got customer, at, left"),
    "a column more": (of(f"{TEN}, 5 AS more"), "UNKNOWN_TABLE", "exactly the declared columns"),
    "a column twice": (of(f"{TEN}, 5 AS at"), "UNKNOWN_TABLE", "got customer, at, churned, at"),
    "an unknown row": (of("SELECT 11 AS customer, at, churned FROM labels"), "DANGLING_KEY", "got 4 of 4 that do not"),
    "a text for a row": (of("SELECT 'x' AS customer, at, churned FROM labels"), "DANGLING_KEY", "leave them out in"),
    "no row": (of(f"{TEN} UNION SELECT NULL, '2024-01-01', 1"), "CONTRACT_VIOLATION", "must have no NULL: got 1"),
    "no time": (of(f"{TEN} UNION SELECT 10, NULL, 1"), "CONTRACT_VIOLATION", "churn.at must have no NULL"),
    "a time without unit": (of("SELECT 10 AS customer, 5 AS at, 1 AS churned"), "CONTRACT_VIOLATION", "or have a unit"),
    "no time at all": (of("SELECT 10 AS customer, 'soon' AS at, 1 AS churned"), "CONTRACT_VIOLATION", "got 'soon'"),
    "no truth": (of("SELECT 10 AS customer, '2024-01-01' AS at, 2 AS churned"), "CONTRACT_VIOLATION", "boolean values"),
    "text for truth": (of("SELECT 10 AS customer, '2024-01-01' AS at, 'no' AS churned"), "CONTRACT_VIOLATION", "bool"),
    "another table": (of(TEN, table="costumers"), "UNKNOWN_TABLE", "got 'costumers'"),
    "a table left out": (of(TEN, table="labels", key={"customer": "customer"}), "UNKNOWN_TABLE", "table that is read"),
    "another column of the table": (of(TEN, key={"customer": "number"}), "UNKNOWN_TABLE", "columns of customers"),
    "a key of many": (of("SELECT 10 AS customer, '2024-01-01' AS at, 1 AS churned", table="orders",
                         key={"customer": "customer"}), "CONTRACT_VIOLATION", "which has one twice"),
    "no key": (of(TEN, key={}), "CONTRACT_VIOLATION", "have a key: got none"),
    "two times": (of(TEN, columns={"at": "time", "churned": "time"}), "CONTRACT_VIOLATION", "two columns besides"),
    "no value": (of(TEN, columns={"at": "time"}), "CONTRACT_VIOLATION", "two columns besides"),
    "an identifier": (of(TEN, columns={"at": "time", "churned": "identifier"}), "CONTRACT_VIOLATION", "two columns"),
    "a key that is the time": (of(TEN, key={"at": "id"}), "CONTRACT_VIOLATION", "two columns besides"),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "code", "sentence"), FAULTS.values(), ids=list(FAULTS))
def test_a_faulty_query_is_refused_and_changes_nothing(
    shop: Path, asked: TargetQuery, code: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    before = shop.read_bytes()
    with pytest.raises(ContractFailure, match=sentence) as refused:
        opened(shop, asked=asked)
    assert refused.value.code == code
    assert refused.value.data["failure_operator"] == "Batch.LoadDatabase"
    assert shop.read_bytes() == before
    assert [file.name for file in shop.parent.iterdir()] == ["shop.db"]


LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
TOO_MUCH = {
    "time": (of(f"{LONG} SELECT i AS customer, '2024-01-01' AS at, 1 AS churned FROM n WHERE i < 0"), {"seconds": 0.5}),
    "rows": (of(f"{LONG} SELECT 10 AS customer, '2024-01-01' AS at, 1 AS churned FROM n"), {"rows": 9_999}),
    "bytes": (of("SELECT 10 AS customer, '2024-01-01' AS at, zeroblob(70000) AS churned"), {"value_bytes": 60_000}),
}


@pytest.mark.parametrize(("asked", "limits"), TOO_MUCH.values(), ids=list(TOO_MUCH))
def test_a_query_that_asks_too_much_is_refused(shop: Path, asked: TargetQuery, limits: dict[str, Any]) -> None:
    with pytest.raises(ContractFailure) as refused:
        opened(shop, asked=asked, limits=FileLimits(**limits))
    assert refused.value.code == "LIMIT_EXCEEDED"
    assert "churn" in refused.value.sentence


def test_functions_of_the_schema_are_not_trusted_in_a_view(shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("CREATE VIEW plain AS SELECT customer, at, churned FROM labels")
        connection.execute(
            "CREATE VIEW odd AS SELECT customer, at, churned FROM labels WHERE load_extension('x') IS NULL"
        )
        connection.commit()
    asked = of("SELECT customer, at, churned FROM plain")
    assert table(opened(shop, asked=asked), "churn").row_count == 4
    with pytest.raises(ContractFailure, match=r"not authorized|unsafe use"):
        opened(shop, asked=of("SELECT customer, at, churned FROM odd"))


def test_the_name_of_a_table_is_taken(shop: Path) -> None:
    for name in ("orders", "ORDERS", "labels"):
        with pytest.raises(ContractFailure, match="have a name that no table has"):
            opened(shop, name=name)


def test_targets_have_their_own_times_and_one_value(shop: Path) -> None:
    database = opened(shop)
    with pytest.raises(ContractFailure, match="times must be None for targets"):
        builder(database).batch([0], [5])
    with pytest.raises(ContractFailure, match="column must be 'churned', the value of the targets 'churn': got 'at'"):
        builder(database, column="at")
    with pytest.raises(ContractFailure, match="did you mean 'churned'"):
        builder(database, column="churnd")


def test_targets_are_kept_and_loaded_anew_when_the_query_changes(shop: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    first, second = opened(shop, keep=folder), opened(shop, keep=folder)
    assert table(second, "churn").target_column == "churned"
    one, other = (builder(database).batch(range(4)) for database in (first, second))
    assert np.array_equal(one.bool_values, other.bool_values)
    assert np.array_equal(one.seq_row_ids, other.seq_row_ids)
    fewer = opened(shop, asked=of(f"{CHURN.query} LIMIT 2"), keep=folder)
    assert table(fewer, "churn").row_count == 2


YAML = """
tables:
  customers:
    code: text
leave_out: [labels]
targets:
  churn:
    query: |
      SELECT customer, at, churned FROM labels
      ORDER BY at, customer
    table: customers
    key:
      customer: id
    columns:
      at: time
      churned: boolean
"""


def test_the_declaration_names_the_query(shop: Path) -> None:
    file = shop.with_suffix(".yaml")
    file.write_text(YAML)
    named, given = open_database(shop, file), opened(shop)
    for held, other in zip(named.tables, given.tables, strict=True):
        for one, same in zip(held.columns, other.columns, strict=True):
            assert np.array_equal(one.values, same.values)
    assert read_declaration(file).targets["churn"].columns == CHURN.columns
    for old, new, why in (
        ("    table: customers\n", "", "must have the parts query, table, key, columns: got query, key, columns"),
        ("at: time", "at: [time]", "must have a word: got a list"),
        ("at: time", "at: thyme", "two columns besides the key"),
        ("    key:\n      customer: id\n", "    key: customer\n", "names and what is declared for them"),
    ):
        assert YAML.count(old) == 1
        file.write_text(YAML.replace(old, new))
        with pytest.raises(ContractFailure, match=why):
            open_database(shop, file)
