"""Tables full of rare values: each kind of column with NULLs at every place, schemas that few files have, their rows.

A file has many columns, because one answer then shows a mistake in any of them; what is refused has a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

# Times that are well formed: a day in a leap year, the ends, every sign of an offset with and without hours, fractions.
TIMES: Final = (
    "2024-02-29", "2000-02-29", "1969-12-31", "0001-01-01", "9999-12-31", "1900-03-01",
    "2024-02-29 23:59", "2024-02-29T00:00", "1969-12-31T23:59:59", "1970-01-01 00:00:00",
    "2024-02-29 01:00Z", "2024-02-29T01:00:00Z", "2024-02-29T01:00:00.5Z", "1969-12-31 23:59:59.999999",
    "1969-12-31T23:59:59.5", "1970-01-01T00:00:00.000001", "2024-02-29 12:00:00.10", "2024-02-29 12:00:00.012",
    "2024-02-29 12:00:00.0001", "2024-02-29 12:00:00.00010", "2024-02-29 12:00:00.000000",
    "2024-01-01 00:00:00-00:30", "2024-01-01 00:00:00+00:30", "2024-01-01 00:00:00-00:00", "2024-01-01T00:00:00+00:00",
    "2024-01-01T00:00-00:01", "2024-01-01T00:00+00:01", "2024-03-01 00:15+05:45", "2024-02-29 23:45-09:30",
    "2024-02-29T23:59:59.999999-23:59", "2024-03-01T00:00:00+23:59", "2024-12-31T23:00:00.25-01:15",
    "0001-01-02T00:00+23:59", "0001-01-01T00:00+00:01", "0001-01-01T00:00+23:59", "9999-12-31T23:59:59.999999-23:59",
)  # fmt: skip

# Nearly times: no such day, hour, second or zone, another sign, letter, digit, length or blank.
NEARLY_TIMES: Final = (
    "2023-02-29", "1900-02-29", "2024-04-31", "2024-00-10", "2024-13-01", "2024-01-00", "0000-01-01", "10000-01-01",
    "-2024-01-01", "+2024-01-01", "2024-1-01", "2024-01-1", "24-01-01", "20240101", "2024/01/01", "2024-01", "2024",
    "2024-060", "2024-W09-4", "01.02.2024", "2024-01-01 24:00", "2024-01-01 24:00:00", "2024-01-01 23:60",
    "2016-12-31T23:59:60Z", "2016-12-31 23:59:61", "2024-01-01t01:00", "2024-01-01 01:00z", "2024-01-01  01:00",
    "2024-01-01T 01:00", "2024-01-01_01:00", "2024-01-01T1:00", "2024-01-01T01", "2024-01-01T0100", "2024-01-01T010000",
    "2024-01-01T", "2024-01-01Z", "2024-01-01+01:00", "2024-01-01T01:00:00.", "2024-01-01T01:00:00,5",
    "2024-01-01T01:00.5", "2024-01-01T01:00:00.1234567", "2024-01-01T01:00:00.0000000", "2024-01-01T01:00 Z",
    "2024-01-01T01:00 +01:00", "2024-01-01T01:00+1:00", "2024-01-01T01:00+01", "2024-01-01T01:00+0100",
    "2024-01-01T01:00+01:60", "2024-01-01T01:00+24:00", "2024-01-01T01:00-24:00", "2024-01-01T01:00\u221201:00",
    "2024-01-01T01:00+01:00:00", "2024-01-01T01:00ZZ", "2024-01-01T01:00UTC", " 2024-01-01", "2024-01-01 ",
    "2024-01-01\n", "2024-01-01T01:00\n", "\ufeff2024-01-01", "\u0662\u0660\u0662\u0664-01-01", "now", "",
)  # fmt: skip

# Values in the words of SQL: a number, a text that looks like one, a text that is near to one, bytes.
NUMBERS: Final = (
    "0", "1", "2", "-1", "1.0", "0.0", "-0.0", "2.5", "1e300", "9e999", "9007199254740993", "9223372036854775807",
    "-9223372036854775807 - 1", "9223372036854775808",
)  # fmt: skip
TEXTS: Final = (
    "'0'", "'1'", "'01'", "'1.0'", "' 1'", "'1 '", "'1e0'", "'+1'", "'0x1'", "'1_0'", "'inf'", "'NaN'", "'-0'",
    "'true'",
    "'TRUE'", "'t'", "'yes'", "'null'", "'NULL'", "'\u0661'", "''", "' '", "x'31'", "x''", "'2024-01-01'",
)  # fmt: skip

# What may divide two words, and texts whose order depends on what is compared: bytes, code units, letters or numbers.
BLANKS: Final = (" ", "\t", "\n", "\u00a0", "\u3000", "\u200b", "_")
KEYS: Final = (
    "\U00010000", "\ufffd", "\ue000", "\U0010ffff", "b", "B", "a", "a ", "\u00e9", "e\u0301", "z", "10", "9", "",
    "\u00df", "ss", "_",
)  # fmt: skip

# Names of tables and columns: near those that SQLite keeps for itself, wildcards, quotes, reserved words, other cases.
NAMES: Final = (
    "sqlitebooks", "sqlite", "sqlite-x", "SQLITEx", "sqlit_e", "xsqlite_", "_sqlite_", "sqlit\u00e9_x", "a_b", "a%b",
    "aXb",
    "_", "%", "~", "~_", "\\", "a b", " a", "a ", "a.b", "main", "temp", "main.t", "order", "GROUP", "Select", "table",
    "values",
    "rowid", "oid", "_rowid_", "'", "\"", "`", "[a]", ";", "--", "?", ":a", "0", "1a", "\u00e9", "e\u0301", "\u00c9",
    "\u00df",
    "\ufeffa", "\U0001f600", "\uff61", "null", "true",
)  # fmt: skip
COLUMN_NAMES: Final = tuple(name for name in NAMES if name not in ("rowid", "oid", "_rowid_"))

# Texts in the words of SQL that are one to a program that cuts, trims, folds, composes or counts code units.
LETTERS: Final = [
    "'ab'", "'ab' || char(0) || 'cd'", "'ab' || char(0) || 'ce'", "'ab' || char(0)", "char(0) || 'ab'", "char(0)",
    "''",
    "' '", "'ab '", "' ab'", "'AB'", "char(65279) || 'ab'", "'ab' || char(65279)", "char(9) || 'ab'",
    "'ab' || char(10)",
    "'ab' || char(13, 10)", "char(233)", "'e' || char(769)", "'E' || char(769)", "char(201)", "char(223)", "'ss'",
    "char(304)", "char(305)", "'i'", "char(8490)", "'k'", "char(65377)", "char(57344)", "char(65533)", "char(65536)",
    "char(128512)", "char(128512, 128513)", "char(1114111)", "'1'", "'01'", "'1.0'", "'1e0'", "char(1633)", "'-0'",
    "'nan'",
    "'NULL'", "'null'", "'x''y'", "'x\"y'", "'a\\n'", "char(8232)", "char(127)", "char(1)",
    "printf('%.300c', 'x') || 'a'", "printf('%.300c', 'x') || 'b'", "printf('%.9000c', 'y')",
]  # fmt: skip
# Integers beside the powers of two, and numbers that are not what they are written as.
INTEGERS: Final = [
    "9007199254740993", "9007199254740992", "-9007199254740993", "9223372036854775807", "-9223372036854775807 - 1",
    "4294967296", "4294967295", "2147483648", "-2147483649", "65536", "256", "-1", "0", "7", "'12'", "3.0",
]  # fmt: skip
FLOATS: Final = [
    "-0.0", "0.0", "0.1", "0.30000000000000004", "5e-324", "2.2250738585072014e-308", "16777217.0",
    "9007199254740993.0", "-9007199254740991.0", "1e22", "1e23", "3.4028236e38", "-2.5", "3", "'4.5'",
]  # fmt: skip
# Names of files that mean something to a shell, a URI, a driver of databases or a program that cuts names.
PATHS: Final = (
    "a b.db", "a?mode=rw.db", "a#b.db", "%41.db", "a%20b.db", "\u00e9.db", "e\u0301.db", "-x.db", "a'b.db", 'a"b.db',
    "a\nb.db", "d", "d.txt", ".db", "d.db ", "x.duckdb", ":memory:", "file:d.db", "~", "$HOME", "*.db", "\ufeffd.db",
    "\U0001f600.db", "deep/er/d.db", "..d.db", "d..db/..d", "x" * 255, "D.DB", "a;b.db", "a\\b.db",
)  # fmt: skip


OperationText = dict[str, dict[str, str]]
File = tuple[list[str], OperationText]  # statements and the declaration
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
    statements, words = list[str](), OperationText()
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
    orders, named = list[str](), OperationText()
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
