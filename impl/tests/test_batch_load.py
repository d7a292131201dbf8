"""Database files as databases: numbering, semantic types, keys and what is refused."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from impl.failure import ContractFailure
from impl.reference.batch.load.load_database import load_database
from impl.tests.batch_database import agreed, flat, nested

METHOD = "Batch.LoadDatabase"


def write(folder: Path, *statements: str) -> str:
    """A SQLite file made by these statements."""
    file = folder / "shop.db"
    file.unlink(missing_ok=True)
    connection = sqlite3.connect(file)
    for statement in statements:
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


# Chinook's tables, as published, with rows made here.
CHINOOK = """
CREATE TABLE [Album] ([AlbumId] INTEGER NOT NULL, [Title] NVARCHAR(160) NOT NULL, [ArtistId] INTEGER NOT NULL,
  CONSTRAINT [PK_Album] PRIMARY KEY ([AlbumId]), FOREIGN KEY ([ArtistId]) REFERENCES [Artist] ([ArtistId]));
CREATE TABLE [Artist] ([ArtistId] INTEGER NOT NULL, [Name] NVARCHAR(120), PRIMARY KEY ([ArtistId]));
CREATE TABLE [Customer] ([CustomerId] INTEGER NOT NULL, [FirstName] NVARCHAR(40) NOT NULL,
  [LastName] NVARCHAR(20) NOT NULL, [Company] NVARCHAR(80), [Address] NVARCHAR(70), [City] NVARCHAR(40),
  [State] NVARCHAR(40), [Country] NVARCHAR(40), [PostalCode] NVARCHAR(10), [Phone] NVARCHAR(24), [Fax] NVARCHAR(24),
  [Email] NVARCHAR(60) NOT NULL, [SupportRepId] INTEGER, PRIMARY KEY ([CustomerId]),
  FOREIGN KEY ([SupportRepId]) REFERENCES [Employee] ([EmployeeId]));
CREATE TABLE [Employee] ([EmployeeId] INTEGER NOT NULL, [LastName] NVARCHAR(20) NOT NULL,
  [FirstName] NVARCHAR(20) NOT NULL, [Title] NVARCHAR(30), [ReportsTo] INTEGER, [BirthDate] DATETIME,
  [HireDate] DATETIME, [Address] NVARCHAR(70), [City] NVARCHAR(40), [State] NVARCHAR(40), [Country] NVARCHAR(40),
  [PostalCode] NVARCHAR(10), [Phone] NVARCHAR(24), [Fax] NVARCHAR(24), [Email] NVARCHAR(60),
  PRIMARY KEY ([EmployeeId]), FOREIGN KEY ([ReportsTo]) REFERENCES [Employee] ([EmployeeId]));
CREATE TABLE [Genre] ([GenreId] INTEGER NOT NULL, [Name] NVARCHAR(120), PRIMARY KEY ([GenreId]));
CREATE TABLE [Invoice] ([InvoiceId] INTEGER NOT NULL, [CustomerId] INTEGER NOT NULL, [InvoiceDate] DATETIME NOT NULL,
  [BillingAddress] NVARCHAR(70), [BillingCity] NVARCHAR(40), [BillingState] NVARCHAR(40),
  [BillingCountry] NVARCHAR(40), [BillingPostalCode] NVARCHAR(10), [Total] NUMERIC(10,2) NOT NULL,
  PRIMARY KEY ([InvoiceId]), FOREIGN KEY ([CustomerId]) REFERENCES [Customer] ([CustomerId]));
CREATE TABLE [InvoiceLine] ([InvoiceLineId] INTEGER NOT NULL, [InvoiceId] INTEGER NOT NULL, [TrackId] INTEGER NOT NULL,
  [UnitPrice] NUMERIC(10,2) NOT NULL, [Quantity] INTEGER NOT NULL, PRIMARY KEY ([InvoiceLineId]),
  FOREIGN KEY ([InvoiceId]) REFERENCES [Invoice] ([InvoiceId]),
  FOREIGN KEY ([TrackId]) REFERENCES [Track] ([TrackId]));
CREATE TABLE [MediaType] ([MediaTypeId] INTEGER NOT NULL, [Name] NVARCHAR(120), PRIMARY KEY ([MediaTypeId]));
CREATE TABLE [Playlist] ([PlaylistId] INTEGER NOT NULL, [Name] NVARCHAR(120), PRIMARY KEY ([PlaylistId]));
CREATE TABLE [PlaylistTrack] ([PlaylistId] INTEGER NOT NULL, [TrackId] INTEGER NOT NULL,
  PRIMARY KEY ([PlaylistId], [TrackId]), FOREIGN KEY ([PlaylistId]) REFERENCES [Playlist] ([PlaylistId]),
  FOREIGN KEY ([TrackId]) REFERENCES [Track] ([TrackId]));
CREATE TABLE [Track] ([TrackId] INTEGER NOT NULL, [Name] NVARCHAR(200) NOT NULL, [AlbumId] INTEGER,
  [MediaTypeId] INTEGER NOT NULL, [GenreId] INTEGER, [Composer] NVARCHAR(220), [Milliseconds] INTEGER NOT NULL,
  [Bytes] INTEGER, [UnitPrice] NUMERIC(10,2) NOT NULL, PRIMARY KEY ([TrackId]),
  FOREIGN KEY ([AlbumId]) REFERENCES [Album] ([AlbumId]), FOREIGN KEY ([GenreId]) REFERENCES [Genre] ([GenreId]),
  FOREIGN KEY ([MediaTypeId]) REFERENCES [MediaType] ([MediaTypeId]));
INSERT INTO Artist VALUES (1, 'The First Band'), (2, 'A Second Band'), (3, NULL);
INSERT INTO Album VALUES (1, 'One Long Night', 1), (2, 'Two Short Days', 1), (3, 'Third Time Lucky', 2);
INSERT INTO Genre VALUES (1, 'Rock'), (2, 'Jazz');
INSERT INTO MediaType VALUES (1, 'MPEG'), (2, 'AAC');
INSERT INTO Playlist VALUES (1, 'Music'), (2, 'Quiet Music');
INSERT INTO Track VALUES (1, 'Night', 1, 1, 1, 'A. One', 200000, 5000000, 0.99),
  (2, 'Day and Night', 2, 2, NULL, NULL, 180000, NULL, 0.99), (3, 'Luck', 3, 1, 2, 'B. Two', 240000, 7000000, 1.99);
INSERT INTO PlaylistTrack VALUES (2, 3), (1, 3), (1, 1), (1, 2);
INSERT INTO Employee VALUES
  (1, 'Boss', 'Big', 'Manager', NULL, '1962-02-18 00:00:00', '2002-08-14 00:00:00', 'A Road', 'Edmonton', 'AB',
   'Canada', 'T5K', '+1', '+1', 'b@x'),
  (2, 'Seller', 'Sue', 'Agent', 1, '1958-12-08 00:00:00', '2002-05-01 00:00:00', 'B Road', 'Calgary', 'AB', 'Canada',
   'T2P', '+1', '+1', 's@x');
INSERT INTO Customer VALUES (1, 'Ann', 'Lee', NULL, 'C Road', 'Oslo', NULL, 'Norway', '0171', '+47', NULL, 'a@x', 2),
  (2, 'Bob', 'Ray', 'Co', 'D Road', 'Prague', NULL, 'Czechia', '147', '+420', NULL, 'b@y', NULL);
INSERT INTO Invoice VALUES (1, 1, '2009-01-01 00:00:00', 'C Road', 'Oslo', NULL, 'Norway', '0171', 1.98),
  (2, 1, '2009-02-01 00:00:00', 'C Road', 'Oslo', NULL, 'Norway', '0171', 1.99),
  (3, 2, '2009-03-01 00:00:00', 'D Road', 'Prague', NULL, 'Czechia', '147', 0.99);
INSERT INTO InvoiceLine VALUES (1, 1, 1, 0.99, 2), (2, 1, 2, 0.99, 1), (3, 2, 3, 1.99, 3), (4, 3, 1, 0.99, 2);
"""
TEXTUAL = {
    "Album": {"Title": "text"},
    "Artist": {"Name": "text"},
    "Customer": {
        **dict.fromkeys(("FirstName", "LastName", "Company", "Address", "Email"), "text"),
        **dict.fromkeys(("City", "State", "Country"), "categorical"),
        **dict.fromkeys(("PostalCode", "Phone", "Fax"), "ignored"),
    },
    "Employee": {
        **dict.fromkeys(("FirstName", "LastName", "Address", "Email"), "text"),
        **dict.fromkeys(("Title", "City", "State", "Country"), "categorical"),
        **dict.fromkeys(("PostalCode", "Phone", "Fax"), "ignored"),
        "HireDate": "time",
    },
    "Genre": {"Name": "categorical"},
    "Invoice": {
        "BillingAddress": "text",
        **dict.fromkeys(("BillingCity", "BillingState", "BillingCountry"), "categorical"),
        "BillingPostalCode": "ignored",
    },
    "MediaType": {"Name": "categorical"},
    "Playlist": {"Name": "text"},
    "Track": {"Name": "text", "Composer": "text"},
}


def test_chinooks_schema_is_read_with_a_declaration_of_its_texts_only(tmp_path: Path) -> None:
    statements = [statement for statement in CHINOOK.split(";") if statement.strip()]
    path = write(tmp_path, *statements)
    held = agreed(METHOD, {"root": str(tmp_path), "path": path, "declaration": TEXTUAL})["database"]
    tables = {table["name"]: table for table in held["tables"]}
    assert len(tables) == 11
    assert key(tables["Employee"], "ReportsTo") == [-1, 0]
    # By (PlaylistId, TrackId), whatever the order of insertion.
    assert key(tables["PlaylistTrack"], "TrackId") == [0, 1, 2, 2]
    assert [held["column"] for held in tables["Track"]["foreign_keys"]] == ["AlbumId", "MediaTypeId", "GenreId"]
    assert tables["Employee"]["time_column"] == "HireDate"
    batch = agreed(
        "Batch.Build",
        {
            "database": held,
            "task": {"table": "Invoice", "column": "Total"},
            "seeds": [{"row": row, "time": 1_235_000_000_000_000} for row in range(3)],
            "config": {"sequence_length": 64, "cutoff": "strict", "child_width": 3},
        },
    )
    assert sum(flat(batch["is_target"])) == 3


SQL_NAMES = st.sampled_from(["select", "Order", "é", "a b", 'q"q', "group", "rowid", "x"])


@st.composite
def schemas(draw: st.DrawFn) -> list[str]:
    """Any schema: reserved words as names, self keys, cycles, NULL keys, without a line of code for it."""

    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    names = draw(st.lists(SQL_NAMES, min_size=1, max_size=3, unique_by=str.lower))
    sizes = {name: draw(st.integers(0, 5)) for name in names}
    made = []
    for name in names:
        others = draw(st.lists(st.sampled_from(names), max_size=3))
        columns = ['"key" INTEGER PRIMARY KEY', '"number" REAL', '"when" DATETIME', '"words" VARCHAR(9)']
        columns += [f'"to {i}" INT REFERENCES {quoted(other)}' for i, other in enumerate(others)]
        made.append(f"CREATE TABLE {quoted(name)} ({', '.join(columns)})")
        for row in draw(st.permutations(range(sizes[name]))):
            held = [
                str(row * 3 + 1),
                draw(st.sampled_from(["NULL", "1", "2.5", "-1e9"])),
                draw(st.sampled_from(["NULL", "'2024-02-29'", "'2024-02-29 12:00:01.25'"])),
                draw(st.sampled_from(["NULL", "'a'", "'b c'", "'ü'"])),
            ]
            for other in others:
                keys = ["NULL", *(str(target * 3 + 1) for target in range(sizes[other]))]
                held.append(draw(st.sampled_from(keys)))
            made.append(f"INSERT INTO {quoted(name)} VALUES ({', '.join(held)})")
    return made


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schemas(), st.sampled_from(["text", "categorical"]))
def test_any_schema_is_read_without_code(tmp_path: Path, made: list[str], words: str) -> None:
    tables = [statement.split('"')[1::2] for statement in made if statement.startswith("CREATE")]
    path = write(tmp_path, *made)
    connection = sqlite3.connect(tmp_path / path)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    connection.close()
    assert len(names) == len(tables)
    declaration = {name: {"when": "timestamp", "words": words} for name in names}
    held = agreed(METHOD, {"root": str(tmp_path), "path": path, "declaration": declaration})["database"]
    assert [table["name"] for table in held["tables"]] == sorted(names, key=str.encode)
    agreed("Batch.BuildGraph", {"database": held})


def test_a_duckdb_file_gives_what_the_same_sqlite_file_gives(tmp_path: Path, package: Callable[[str], Any]) -> None:
    duckdb = package("duckdb")
    made = (
        """CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, vip BOOLEAN, joined DATE)""",
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
    expected = agreed(METHOD, {"root": str(tmp_path), "path": write(tmp_path, *made), "declaration": declaration})
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        for statement in made:
            connection.execute(statement)
    params = {"root": str(tmp_path), "path": "shop.duckdb", "declaration": declaration}
    assert agreed(METHOD, params) == expected
    with duckdb.connect(str(tmp_path / "keys.duckdb")) as connection:
        connection.execute("CREATE TABLE a (x INT, y INT, PRIMARY KEY (x, y))")
        connection.execute("CREATE TABLE b (p INT, q INT, FOREIGN KEY (p, q) REFERENCES a (x, y))")
    params = {"root": str(tmp_path), "path": "keys.duckdb", "declaration": {}}
    assert agreed(METHOD, params)["failure_code"] == "COMPOSITE_KEY"
