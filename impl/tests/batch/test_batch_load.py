"""Database files as databases, where no frozen file looks: sums, notes, times, and a batch of what was loaded."""

from pathlib import Path

import pytest

from impl.failure import ContractFailure
from impl.reference.batch.load.load_database import load_database
from impl.tests.batch.batch_database import agreed, flat, nested
from impl.tests.batch.batch_files import METHOD, code, load, values, write

SHOP = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, vip BOOLEAN, joined DATE)",
    """CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customers,
       previous INT REFERENCES orders(id), total REAL, placed TIMESTAMP, status TEXT)""",
    "INSERT INTO customers VALUES (3, 'Ada Byron', 1, '1990-01-01'), (1, 'Alan T', NULL, NULL), (2, 'Ada Byron', 0, '2000-02-29')",  # noqa: E501
    """INSERT INTO orders VALUES (10, 3, NULL, 5.0, '2024-01-01 10:00:00', 'new'),
       (11, NULL, 10, 7.0, '2024-01-02T10:00:00+02:00', 'paid'), (12, 1, 12, NULL, NULL, NULL)""",
)
TYPES = {"customers": {"name": "text"}, "orders": {"status": "categorical"}}


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
