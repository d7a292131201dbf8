"""Values and names that a reader of databases meets seldom: times, numbers, texts near the line between two types."""

from __future__ import annotations

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
