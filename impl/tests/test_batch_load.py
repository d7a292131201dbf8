"""Database files as databases: the order of rows, numbering and keys."""

from pathlib import Path

import pytest

from impl.tests.batch_database import agreed, flat, nested
from impl.tests.batch_files import METHOD, column, key, load, values, write


def test_rows_stand_by_their_integer_primary_key(tmp_path: Path) -> None:
    tables = load(
        tmp_path,
        "CREATE TABLE t (n REAL, id INTEGER PRIMARY KEY) STRICT",
        "INSERT INTO t VALUES (1.5, 7), (2.5, -3), (3.5, 5)",
    )
    assert values(tables["t"], "id") == [-3, 5, 7]
    assert values(tables["t"], "n") == [2.5, 3.5, 1.5]


def test_rows_without_a_primary_key_stand_by_their_rowid(tmp_path: Path) -> None:
    tables = load(
        tmp_path,
        'CREATE TABLE t (n REAL, "RowId" REAL) STRICT',
        "INSERT INTO t (_rowid_, n) VALUES (9, 1.0), (2, 2.0), (5, 3.0)",
    )
    assert values(tables["t"], "n") == [2.0, 3.0, 1.0]


@pytest.mark.parametrize("ending", ["", "WITHOUT ROWID"])
def test_a_primary_key_of_several_columns_orders_column_by_column(tmp_path: Path, ending: str) -> None:
    # By value 9 < 10; by bytes "Z" < "a" < "é".
    tables = load(
        tmp_path,
        f"CREATE TABLE t (b TEXT COLLATE NOCASE, a INT, n REAL, PRIMARY KEY (a, b)) {ending}",
        "INSERT INTO t VALUES ('é', 9, 1), ('a', 10, 2), ('Z', 9, 3), ('a', 9, 4)",
    )
    assert values(tables["t"], "n") == [3.0, 4.0, 1.0, 2.0]
    # Texts have no integers: their numbers by first occurrence.
    assert values(tables["t"], "b") == [0, 1, 2, 1]
    assert column(tables["t"], "b")["semantic_type"] == "identifier"


def test_tables_stand_by_the_bytes_of_their_names(tmp_path: Path) -> None:
    names = ["\U0001f600", "ｚ", "é", "a", "B", "select"]
    tables = load(tmp_path, *(f'CREATE TABLE "{name}" (x REAL)' for name in names))
    assert list(tables) == ["B", "a", "select", "é", "ｚ", "\U0001f600"]


SHOP = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, vip BOOLEAN, joined DATE)",
    """CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customers,
       previous INT REFERENCES orders(id), total REAL, placed TIMESTAMP, status TEXT)""",
    "INSERT INTO customers VALUES (3, 'Ada Byron', 1, '1990-01-01'), (1, 'Alan T', NULL, NULL), (2, 'Ada Byron', 0, '2000-02-29')",  # noqa: E501
    """INSERT INTO orders VALUES (10, 3, NULL, 5.0, '2024-01-01 10:00:00', 'new'),
       (11, NULL, 10, 7.0, '2024-01-02T10:00:00+02:00', 'paid'), (12, 1, 12, NULL, NULL, NULL)""",
)
TYPES = {"customers": {"name": "text"}, "orders": {"status": "categorical"}}


def test_a_shop_of_two_tables(tmp_path: Path) -> None:
    tables = load(tmp_path, *SHOP, **TYPES)
    customers, orders = tables["customers"], tables["orders"]
    assert [held["semantic_type"] for held in customers["columns"]] == ["identifier", "text", "boolean", "timestamp"]
    assert [held["semantic_type"] for held in orders["columns"]] == [
        "identifier", "identifier", "identifier", "numerical", "timestamp", "categorical",
    ]  # fmt: skip
    assert (customers["time_column"], orders["time_column"]) == ("joined", "placed")
    assert key(orders, "customer") == [2, -1, 0]
    assert key(orders, "previous") == [-1, 0, 2]
    assert values(customers, "vip") == [False, False, True]
    assert flat(column(customers, "vip")["is_null"]) == [True, False, False]
    assert values(customers, "joined") == [0, 951_782_400_000_000, 631_152_000_000_000]
    assert values(orders, "placed") == [1_704_103_200_000_000, 1_704_182_400_000_000, 0]
    total = column(orders, "total")
    assert (total["mean"], total["deviation"]) == (6.0, 1.0)
    status = column(orders, "status")
    assert (status["categories"], status["cat_emb_start"]) == (["new", "paid"], 0)
    assert flat(status["is_null"]) == [False, False, True]


def test_texts_are_numbered_by_first_occurrence_over_table_row_and_column(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "CREATE TABLE b (id INTEGER PRIMARY KEY, x TEXT, y TEXT)",
        "INSERT INTO b VALUES (2, 'p', 'q'), (1, 'q', 'r')",
        "CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT)",
        "INSERT INTO a VALUES (1, 'z'), (2, NULL), (3, 'p')",
    )
    declaration = {"a": {"x": "text"}, "b": {"x": "text", "y": "text"}}
    held = agreed(METHOD, {"root": str(tmp_path), "path": path, "declaration": declaration})["database"]
    a, b = held["tables"]
    assert (values(a, "x"), values(b, "x"), values(b, "y")) == ([0, 0, 1], [2, 1], [3, 2])
    assert held["text_embeddings"].shape == (4, 256)


def test_the_default_embedding_of_a_text_is_its_hash(tmp_path: Path) -> None:
    path = write(tmp_path, "CREATE TABLE a (x TEXT)", "INSERT INTO a VALUES ('tally'), ('stick')")
    held = agreed(METHOD, {"root": str(tmp_path), "path": path, "declaration": {"a": {"x": "text"}}})["database"]
    rows = nested(held["text_embeddings"])
    assert rows[0][:4] == [-0.8046875, 0.8681640625, -0.98046875, 0.7900390625]
    assert all(-1 <= number < 1 and number * 1024 == int(number * 1024) for row in rows for number in row)


def test_categories_are_blocks_in_the_order_of_the_columns(tmp_path: Path) -> None:
    tables = load(
        tmp_path,
        "CREATE TABLE t (a TEXT, b INT, c TEXT)",
        "INSERT INTO t VALUES ('é', 10, 'x'), ('a', 9, NULL), ('Z', -1, 'x')",
        t={"a": "categorical", "b": "categorical", "c": "categorical"},
    )
    columns = tables["t"]["columns"]
    assert [held["categories"] for held in columns] == [["Z", "a", "é"], ["-1", "10", "9"], ["x"]]
    assert [held["cat_emb_start"] for held in columns] == [0, 3, 6]
    assert [flat(held["values"]) for held in columns] == [[2, 1, 0], [1, 2, 0], [0, 0, 0]]


def test_mean_and_deviation_do_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    numbers = [1e16, 1.0, -1e16, 3.5, 1e-9]
    found = set()
    for order in (numbers, numbers[::-1], sorted(numbers)):
        tables = load(tmp_path, "CREATE TABLE t (x REAL)", *(f"INSERT INTO t VALUES ({x!r})" for x in order))
        found.add((column(tables["t"], "x")["mean"], column(tables["t"], "x")["deviation"]))
    assert len(found) == 1
    assert next(iter(found))[0] == 0.9000000002


def test_a_column_without_values_has_mean_and_deviation_0(tmp_path: Path) -> None:
    tables = load(tmp_path, "CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (NULL)")
    assert (column(tables["t"], "x")["mean"], column(tables["t"], "x")["deviation"]) == (0.0, 0.0)


def test_names_are_reserved_words_with_quotes_and_keys_name_them_in_any_case(tmp_path: Path) -> None:
    tables = load(
        tmp_path,
        'CREATE TABLE "select" ("from" INTEGER PRIMARY KEY, "wh""ere" REAL)',
        'CREATE TABLE "group" ("order" INT REFERENCES "SELECT"("FROM"), "by" REAL)',
        'INSERT INTO "select" VALUES (4, 1.0), (2, 2.0)',
        'INSERT INTO "group" VALUES (4, 1.0), (NULL, 2.0)',
    )
    assert key(tables["group"], "order") == [1, -1]
    assert tables["group"]["foreign_keys"][0]["table"] == "select"
    assert values(tables["select"], 'wh"ere') == [2.0, 1.0]


def test_several_keys_stand_by_the_place_of_their_column(tmp_path: Path) -> None:
    tables = load(
        tmp_path,
        "CREATE TABLE a (id INTEGER PRIMARY KEY)",
        "CREATE TABLE b (id INTEGER PRIMARY KEY)",
        "CREATE TABLE c (x INT, y INT, FOREIGN KEY (y) REFERENCES a, FOREIGN KEY (x) REFERENCES b, FOREIGN KEY (x) REFERENCES a)",  # noqa: E501
    )
    assert [(held["column"], held["table"]) for held in tables["c"]["foreign_keys"]] == [
        ("x", "b"), ("x", "a"), ("y", "a"),
    ]  # fmt: skip


def test_a_key_may_refer_to_a_unique_text(tmp_path: Path) -> None:
    tables = load(
        tmp_path,
        "CREATE TABLE a (id INTEGER PRIMARY KEY, code TEXT UNIQUE)",
        "CREATE TABLE b (code TEXT REFERENCES a(code))",
        "INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, NULL), (4, NULL)",
        "INSERT INTO b VALUES ('y'), ('x'), (NULL)",
        a={"code": "ignored"},
    )
    assert key(tables["b"], "code") == [1, 0, -1]
    assert values(tables["a"], "code") == [0, 0, 0, 0]


def test_a_loaded_database_makes_a_batch(tmp_path: Path) -> None:
    path = write(tmp_path, *SHOP)
    held = agreed(METHOD, {"root": str(tmp_path), "path": path, "declaration": TYPES})["database"]
    batch = agreed(
        "Batch.Build",
        {
            "database": held,
            "task": {"table": "orders", "column": "total"},
            "seeds": [{"row": 1, "time": 1_704_182_400_000_000}, {"row": 0}],
            "config": {"sequence_length": 20, "cutoff": "strict"},
        },
    )
    assert nested(batch["seq_row_ids"])[0][:16] == [0] * 6 + [1] * 6 + [2] * 4
