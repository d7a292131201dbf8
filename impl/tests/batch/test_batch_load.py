"""Database files as databases: the numbers of categories, the note of a refusal, and DuckDB beside SQLite."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.reference.batch.load.load_database import load_database
from impl.tests.batch.batch_database import agreed, flat, sqlite_file

METHOD = "Batch.LoadDatabase"


def test_categories_are_blocks_in_the_order_of_the_columns(tmp_path: Path) -> None:
    rows = "('é', 10, 'x'), ('a', 9, NULL), ('Z', -1, 'x')"
    file = sqlite_file(tmp_path / "t.db", f"CREATE TABLE t (a TEXT, b INT, c TEXT); INSERT INTO t VALUES {rows}")
    declaration = {"t": dict.fromkeys("abc", "categorical")}
    loaded = agreed(METHOD, {"root": str(tmp_path), "path": file.name, "declaration": declaration})
    columns = loaded["database"]["tables"][0]["columns"]
    assert [held["categories"] for held in columns] == [["Z", "a", "é"], ["-1", "10", "9"], ["x"]]
    assert [held["cat_emb_start"] for held in columns] == [0, 3, 6]
    assert [flat(held["values"]) for held in columns] == [[2, 1, 0], [1, 2, 0], [0, 0, 0]]


def test_a_refusal_says_where_in_a_note(tmp_path: Path) -> None:
    file = sqlite_file(tmp_path / "people.db", "CREATE TABLE people (sure INT); INSERT INTO people VALUES (1)")
    with pytest.raises(ContractFailure) as failure:
        load_database(root=str(tmp_path), path=file.name, declaration={})
    assert "people.sure" in failure.value.__notes__[0]


def test_a_duckdb_file_gives_what_the_same_sqlite_file_gives(tmp_path: Path, package: Callable[[str], Any]) -> None:
    duckdb = package("duckdb")
    made = (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, vip BOOLEAN, joined DATE)",
        """CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT REFERENCES customers, total DOUBLE,
           placed TIMESTAMP, status TEXT)""",
        "CREATE TABLE loose (name TEXT PRIMARY KEY, price DECIMAL(9,2))",
        """INSERT INTO customers VALUES (3, 'Ada Byron', TRUE, '1990-01-01'), (1, 'Alan T', NULL, NULL),
           (2, 'Ada Byron', FALSE, '2000-02-29')""",
        """INSERT INTO orders VALUES (12, 1, NULL, NULL, NULL), (10, 3, 5.0, '2024-01-01 10:00:00', 'new'),
           (11, NULL, 7.0, '2024-01-02 10:00:00.25', 'paid')""",
        "INSERT INTO loose VALUES ('é', 1.25), ('Z', 2.5), ('a', NULL)",
    )
    declaration = {"customers": {"name": "text"}, "orders": {"status": "categorical"}}
    file = sqlite_file(tmp_path / "shop.db", "; ".join(made))
    expected = agreed(METHOD, {"root": str(tmp_path), "path": file.name, "declaration": declaration})
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        for statement in made:
            connection.execute(statement)
    params = {"root": str(tmp_path), "path": "shop.duckdb", "declaration": declaration}
    assert agreed(METHOD, params) == expected
    with duckdb.connect(str(tmp_path / "keys.duckdb")) as connection:
        connection.execute("CREATE TABLE a (x INT, y INT, PRIMARY KEY (x, y))")
        connection.execute("CREATE TABLE b (p INT, q INT, FOREIGN KEY (p, q) REFERENCES a (x, y))")
        connection.execute("INSERT INTO a VALUES (2, 1), (1, 2)")
        connection.execute("INSERT INTO b VALUES (2, 1), (NULL, 1), (1, 2)")
    params = {"root": str(tmp_path), "path": "keys.duckdb", "declaration": {}}
    (_, child) = agreed(METHOD, params)["database"]["tables"]
    (key,) = child["foreign_keys"]
    assert (key["column"], flat(key["rows"])) == ("p", [1, -1, 0])
