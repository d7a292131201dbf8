"""Database files as databases: whole schemas, published and made up, in SQLite and DuckDB."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from impl.tests.batch.batch_database import agreed, flat
from impl.tests.batch.batch_files import METHOD, key, write

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
        connection.execute("INSERT INTO a VALUES (2, 1), (1, 2)")
        connection.execute("INSERT INTO b VALUES (2, 1), (NULL, 1), (1, 2)")
    params = {"root": str(tmp_path), "path": "keys.duckdb", "declaration": {}}
    (_, child) = agreed(METHOD, params)["database"]["tables"]
    assert key(child, "p") == [1, -1, 0]
