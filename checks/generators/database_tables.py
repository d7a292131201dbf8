"""Tables full of rare values: each kind of column with NULLs at every place, schemas that few files have, their rows.

A file has many columns, because one answer then shows a mistake in any of them; what is refused has a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from checks.generators.database_values import FLOATS, INTEGERS, LETTERS, TIMES

Words = dict[str, dict[str, str]]
File = tuple[list[str], Words]  # statements and the declaration
Column = tuple[str, str, list[str]]  # declared type, word or none, values in the words of SQL

_TIMES: Final = [f"'{time}'" for time in TIMES]
_WHOLE: Final = INTEGERS[:-2]  # those that no affinity has to make integers
_FLAGS: Final = ["0", "1", "1", "0"]
_BLOBS: Final = ["x''", "x'00'", "x'61'", "x'6100'", "x'6162'", "x'e9'"]
# By what a column is read as: declared types, and values that fit them.
_KINDS: Final[dict[str, tuple[tuple[str, list[str]], ...]]] = {
    "identifier": (("TEXT", LETTERS), ("INTEGER", INTEGERS), ("REAL", FLOATS), ("", [*LETTERS, *_BLOBS, "2.5"])),
    "categorical": (("TEXT", LETTERS), ("INTEGER", INTEGERS), ("", [*LETTERS, *_WHOLE])),
    "text": (("TEXT", LETTERS), ("VARCHAR(3)", LETTERS), ("TEXT COLLATE NOCASE", LETTERS)),
    "numerical": (("REAL", FLOATS), ("INTEGER", INTEGERS), ("NUMERIC", [*FLOATS, "'1e2'"]),
                  ("", [*FLOATS[:-1], *_WHOLE])),
    "timestamp": (("TEXT", _TIMES), ("DATETIME", _TIMES), ("INTEGER", INTEGERS), ("", [*_TIMES, *_WHOLE])),
    "boolean": (("BOOLEAN", _FLAGS), ("INTEGER", _FLAGS), ("", _FLAGS)),
    "ignored": (("", [*LETTERS, *_BLOBS, *INTEGERS, "9e999"]),),
}  # fmt: skip


def full_files() -> Iterator[File]:
    """A file for each kind of column, then schemas, keys and orders, then what NULLs change in an obvious type."""
    for word, kinds in _KINDS.items():
        columns = [(declared, word, cells) for declared, values in kinds for cells in _with_nulls(values)]
        if word == "timestamp":
            columns = [("DATE", "time", _TIMES), *columns]
        yield _table("t", columns), {"t": {f"c{k}": column[1] for k, column in enumerate(columns)}}
    yield from _SCHEMAS
    yield from _keyed()
    for declared, repeats in _NEARLY_OBVIOUS:
        yield _table("t", [(declared, "", repeats)]), {}


def _with_nulls(values: Sequence[str]) -> Iterator[list[str]]:
    """The values with NULL before all, before each, behind all, amid the reversed, and in the place of each second."""
    yield ["NULL", *values]
    yield [one for value in values for one in ("NULL", value)]
    yield [*values, "NULL"]
    back, middle = list(reversed(values)), len(values) // 2
    yield [*back[:middle], "NULL", *back[middle:]]
    yield [value if k % 2 else "NULL" for k, value in enumerate(values)]


def _table(name: str, columns: Sequence[Column]) -> list[str]:
    """A table as long as its longest column; a shorter one begins again, so that its values repeat."""
    declared = ", ".join(f"c{k} {column[0]}".rstrip() for k, column in enumerate(columns))
    count = max(len(cells) for _, _, cells in columns)
    rows = [", ".join(cells[k % len(cells)] for _, _, cells in columns) for k in range(count)]
    return [f"CREATE TABLE {name} ({declared})", *_rows(name, rows)]


def _rows(name: str, rows: Sequence[str]) -> list[str]:
    return [f"INSERT INTO {name} VALUES ({row})" for row in rows]  # noqa: S608 (a database of its own)


# Columns that are computed, defaulted, added, dropped or renamed; what is no table; how a file is written.
_SCHEMAS: Final[tuple[File, ...]] = (
    (
        [
            "CREATE TABLE t (g INT GENERATED ALWAYS AS (id * 2) VIRTUAL, id INTEGER PRIMARY KEY, h REAL AS (x + 1)"
            " STORED, x REAL, s TEXT AS ('g' || id), d DATE AS ('2024-01-0' || id) STORED, b BOOLEAN AS (id > 1),"
            " up INT AS (1) REFERENCES t, n REAL AS (NULL))",
            *_rows("t", ["2, 2.5", "1, NULL"]),
            "CREATE TABLE u (x REAL, y REAL AS (x))",
        ],
        {"t": {"s": "text"}},
    ),
    (
        [
            "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a REAL DEFAULT 2.5, b TEXT DEFAULT 'b', gone REAL)",
            *_rows("t", ["7, 1, 'x', 1", "-3, 2, 'y', 2", "5, 3, 'z', 3"]),
            "INSERT INTO t DEFAULT VALUES",
            "INSERT INTO t (a) VALUES (NULL)",
            "DELETE FROM t WHERE id = 5",
            "ALTER TABLE t ADD COLUMN c REAL DEFAULT 7",
            "ALTER TABLE t ADD COLUMN e TEXT DEFAULT 'e'",
            "ALTER TABLE t ADD COLUMN f REAL",
            "INSERT INTO t (id, c) VALUES (3, 1)",
            "ALTER TABLE t DROP COLUMN gone",
            "ALTER TABLE t RENAME COLUMN b TO bb",
            "CREATE TABLE u (t INT REFERENCES t (id), x REAL)",
            *_rows("u", ["NULL, 1", "-3, 2"]),
            "ALTER TABLE t RENAME TO tt",
            "CREATE VIEW v AS SELECT * FROM tt",
            "CREATE INDEX i ON tt (a DESC)",
            "CREATE TRIGGER r AFTER INSERT ON u BEGIN DELETE FROM u; END",
            "ANALYZE",
        ],
        {"tt": {"bb": "categorical", "e": "categorical"}},
    ),
    (
        [
            "CREATE TABLE t (a UNSIGNED BIG INT, b CHARINT, c FLOATING POINT, d STRING, e DOUBLE PRECISION,"
            " f \"VARCHAR(5)\", g [REAL], h `date time`, i NATIVE CHARACTER(70), j DECIMAL(10,5) NOT NULL,"
            " k nUmErIc CHECK (k > 0), l BLOB)",
            *_rows("t", ["2, 3, 4, 5.5, 6, 'x', 7, '2024-01-01', 'y', 8, 9, 1",
                       "5, 5, 5, 5, 5, 5, 5, '2024-01-02', 5, 5, 5, 2"]),
        ],
        {"t": {"f": "text", "i": "categorical", "l": "numerical"}},
    ),
    *(
        (
            [pragma, *_table("t", [("TEXT", "", LETTERS), ("TEXT", "", LETTERS), ("INT", "", INTEGERS)])],
            {"t": {"c0": "text", "c1": "categorical"}},
        )
        for pragma in ("PRAGMA encoding = 'UTF-16le'", "PRAGMA encoding = 'UTF-16be'", "PRAGMA page_size = 512",
                       "PRAGMA page_size = 65536")
    ),
    (
        [
            "CREATE TABLE t (a ANY, b INT, c TEXT, d BLOB) STRICT",
            *_rows("t", ["'1', 1, 'x', x'00'", "1, NULL, NULL, NULL", "1.5, 3, 'y', NULL", "NULL, 4, 'x', x''"]),
        ],
        {"t": {"a": "identifier", "c": "text", "d": "ignored"}},
    ),
)  # fmt: skip

_CELLS: Final = ("NULL, 1, 'b'", "2, 1, 'a'", "10, NULL, 'B'", "-1, 2, NULL", "2, 0, 'a '", "3, 1.5, 'e' || char(769)")
_ORDERS: Final = (
    "PRIMARY KEY (b, a)", "PRIMARY KEY (c, b, a)", "PRIMARY KEY (a DESC, b)", "PRIMARY KEY (c COLLATE NOCASE, a)",
    "UNIQUE (b, a)", "CHECK (1)",
)  # fmt: skip


def _keyed() -> Iterator[File]:
    """Keys to each letter and number, NULL before each; rows in the order of keys of several columns, and of none."""
    statements, words = list[str](), Words()
    for k, (declared, values) in enumerate((("TEXT", LETTERS), ("INT", INTEGERS), ("REAL", FLOATS[2:]), ("", _BLOBS))):
        referred, name = f"p{k}", f"q{k}"
        statements.append(f"CREATE TABLE {referred} (x {declared} UNIQUE, n REAL)")
        statements += _rows(referred, [f"{value}, {number}" for number, value in enumerate(("NULL", *values, "NULL"))])
        refers = f"up {declared} REFERENCES {referred} (x), self INT REFERENCES {name} (own), own INT"
        statements.append(f"CREATE TABLE {name} ({refers})")
        cells = [one for value in reversed(values) for one in ("NULL", value, value)]
        statements += _rows(name, [f"{one}, {own if own % 3 else 'NULL'}, {own}" for own, one in enumerate(cells)])
        words[referred] = {"x": "identifier"}
    yield statements, words
    orders, named = list[str](), Words()
    for k, order in enumerate(_ORDERS):
        for letter, suffix in (("t", ""), *([("w", " WITHOUT ROWID")] if order.startswith("PRIMARY") else [])):
            orders.append(f"CREATE TABLE {letter}{k} (a INT, b NUMERIC, c TEXT, {order}){suffix}")
            # Without row numbers no part of a primary key is NULL.
            orders += _rows(f"{letter}{k}", [cells for cells in _CELLS if not suffix or "NULL" not in cells])
            named[f"{letter}{k}"] = {"a": "identifier", "b": "identifier", "c": "text"}
    yield orders, named


# Declared types and values of columns without a word, on both sides of where NULLs could make a type obvious.
_NEARLY_OBVIOUS: Final = (
    ("TEXT", ["NULL", *["'a'"] * 10]), ("TEXT", ["NULL", *["'a'"] * 9]), ("TEXT", ["'a'", "NULL"] * 10),
    ("TEXT", ["'a b'", "NULL", "'c'", "NULL"]), ("TEXT", ["'a b'", "'a b'", "NULL"]), ("TEXT", ["NULL"]),
    ("TEXT", ["NULL", "'2024-01-01'"]), ("TEXT", ["'2024-01-01'", "''"]), ("DATE", ["NULL"]),
    ("DATE", ["NULL", "'2024-01-01'"]),
    ("INT", ["NULL"]), ("INT", ["NULL", "1"]), ("INT", ["0", "2", "NULL"]), ("BOOLEAN", ["NULL"]),
    ("TEXT", ["'a' || char(0) || ' b'", "'c' || char(0)"]), ("TEXT", ["'a' || char(0) || 'b'"] * 9 + ["'a'"]),
    ("TEXT", (LETTERS * 10)[1:]),  # one repeat too few for categories, unless two of them are taken for one
)  # fmt: skip
