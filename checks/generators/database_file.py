"""Small SQLite files: declared types, affinities, collations, NULLs and keys of every kind, and their declaration.

A statement that SQLite refuses is left out, so that every file is a valid one.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from checks.generators.database_tables import (
    BLANKS,
    COLUMN_NAMES,
    FLOATS,
    INTEGERS,
    KEYS,
    LETTERS,
    NAMES,
    NEARLY_TIMES,
    NUMBERS,
    PATHS,
    TEXTS,
    TIMES,
    full_files,
)
from conformance.trial.generator import Generator, Native, valid

_NAMES: Final = ("b", "a", "Z", "ab", "é", "order")
_NUMBERS: Final = ("1", "2", "3", "10", "-1", "1.0", "2.0", "2.5", "'1'", "'2'", "9007199254740993", "1e3")
_TEXTS: Final = ("'x'", "'X'", "'x '", "'1'", "'10'", "'2'", "'é'", "''", "'y'", "'longer text'")
_DATES: Final = ("'2024-02-29'", "'1969-12-31 23:59'", "'2024-01-01T00:00:01.5Z'", "'0001-01-01'")
# What a column without a declaration may hold: each theme lies near the line between two types.
_THEMES: Final = (
    ("'2024-02-29'", "'2024-02-29 23:59'", "'2024-02-29T01:00:00+05:30'", "'2024-02-29T01:00:00-03:30'", "'1969-12-31'",
     "'2024-02-29T01:00:00.000001Z'", "'2024-02-29 01:00:00-00:00'", "'0001-01-01T00:00+23:59'", "'9999-12-31'"),
    ("'2024-02-29'", "'2024-02-30'", "'2024-2-9'", "'2024-02-29T24:00'", "'2024-02-29 '", "'2024-02-29T01:00+0530'"),
    ("'one'", "'two '", "' three'", "'four'", "'five' || char(9)", "'six' || char(10)", "'se' || char(160) || 'ven'"),
    ("'one two'", "'three'", "'four'", "'three four'", "' five '", "''"),
    ("'a'", "'b'", "'a'", "'A'", "'b '"),
    ("0", "1", "0", "1", "1", "NULL"),
    ("0", "1", "2", "-1", "0.0", "'1'"),
)  # fmt: skip
_UNDECLARED: Final = ("TEXT", "TEXT", "VARCHAR(9)", "DATE", "DATETIME", "INTEGER", "BOOLEAN", "REAL", "NUMERIC")
_FLAGS: Final = ("0", "1", "1", "0")
_KINDS: Final = {
    "number": (("INTEGER", "INT", "REAL", "NUMERIC", "DECIMAL(10,2)", "FLOAT", "", "BIGINT"), _NUMBERS),
    "text": (("TEXT", "VARCHAR(9)", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "CLOB", ""), _TEXTS),
    "date": (("DATE", "DATETIME", "TEXT", "TIMESTAMP"), _DATES),
    "flag": (("BOOLEAN", "INTEGER", "BOOL"), _FLAGS),
}
_WORDS: Final = {
    "number": ("numerical", "numerical", "categorical", "identifier", "ignored"),
    "text": ("text", "categorical", "text", "ignored"),
    "date": ("timestamp", "time", "ignored", "text"),
    "flag": ("boolean", "boolean", "categorical", "ignored"),
}
_RARE_VALUES: Final = {"number": (*INTEGERS, *FLOATS), "text": LETTERS, "date": [f"'{time}'" for time in TIMES]}
_KEYS: Final = (
    "INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY", "INT PRIMARY KEY", "REAL PRIMARY KEY",
    "NUMERIC PRIMARY KEY", "TEXT PRIMARY KEY", "TEXT COLLATE NOCASE PRIMARY KEY", "INTEGER PRIMARY KEY DESC",
    "INTEGER", "TEXT",
)  # fmt: skip


def database_file(random: Random) -> Native:
    """The file to be put in place, and the inputs of LoadDatabase."""
    names = random.sample(_NAMES, random.randint(1, 3))
    keys = {name: random.choice(_KEYS) for name in names}
    statements, declaration = [], dict[str, dict[str, str]]()
    for name in names:
        create, words, rows = _table(random, name, keys) if random.random() < 0.8 else _undeclared(random, name)
        statements += [create, *rows]
        declaration[name] = words
    made = _file(statements, {name: words for name, words in declaration.items() if words})
    return {**made, "inputs": {**made["inputs"], **_wishes(random, names, statements)}}


def _wishes(random: Random, names: list[str], statements: list[str]) -> dict[str, object]:
    """What is left out, and policies for the keys `up`; most of them for keys that are there."""
    wishes: dict[str, object] = {}
    if random.random() < _WISHED:
        wishes["leave_out"] = random.sample([*names, names[0], "nowhere"], 1)
    keyed = [name for name in names if any(" up " in one and f"TABLE {_quoted(name)}" in one for one in statements)]
    if keyed and random.random() < _POLICIES_GIVEN:
        wishes["dangling"] = {name: {"up": random.choice(_POLICIES)} for name in keyed if random.random() < 0.7}
    return wishes


_WISHED: Final = 0.15
_POLICIES_GIVEN: Final = 0.6
_POLICIES: Final = ("null", "null", "drop", "drop", "refuse", "none")


def _table(random: Random, name: str, keys: dict[str, str]) -> tuple[str, dict[str, str], list[str]]:
    columns, words, kinds = [f"id {keys[name]}"], dict[str, str](), list[str]()
    rare = random.random() < _RARE
    if "TEXT" in keys[name]:
        words["id"] = "text" if random.random() < 0.5 else "ignored"
    elif "INTEGER PRIMARY" not in keys[name]:
        words["id"] = random.choice(("identifier", "numerical", "ignored"))
    for number in range(random.randint(0, 3)):
        kind = random.choice(tuple(_KINDS))
        declared = random.choice(_KINDS[kind][0])
        columns.append(f"c{number} {declared}".rstrip())
        kinds.append(kind)
        if random.random() < 0.9:
            words[f"c{number}"] = random.choice(_WORDS[kind])
    if random.random() < 0.6:
        other = random.choice((*keys, *keys, *keys, "nowhere"))
        typed = random.choice(("INT", "INTEGER", "REAL", "NUMERIC", "TEXT", ""))
        named = random.choice(("", "(id)", "(ID)"))
        columns.append(f"up {typed} REFERENCES {_quoted(other)}{named}")
        kinds.append("key")
    if "PRIMARY" not in keys[name]:
        columns.append("PRIMARY KEY (id, c0)" if len(kinds) and "c0" in columns[1] else "UNIQUE (id)")
    if random.random() < _COMPUTED:
        declared, value, word = random.choice(_COMPUTATIONS)
        columns.insert(random.randint(0, 1 + len(kinds)), f"g {declared} AS ({value}) {random.choice(_KEPT)}")
        words |= {"g": word} if word else {}
    suffix = " WITHOUT ROWID" if random.random() < 0.2 else ""
    values = _TEXTS if "TEXT" in keys[name] else ("1", "2", "3", "1.0", "4", "10", "-1")
    rows = []
    for _ in range(random.randint(0, 5)):
        cells = [random.choice(values), *(_cell(random, kind, rare) for kind in kinds)]
        rows.append(f"INSERT INTO {_quoted(name)} VALUES ({', '.join(cells)})")  # noqa: S608 (a database of its own)
    return f"CREATE TABLE {_quoted(name)} ({', '.join(columns)}){suffix}", words, rows


def _undeclared(random: Random, name: str) -> tuple[str, dict[str, str], list[str]]:
    """A table with one column of a theme without a declaration: a few values of it, all different or repeated."""
    theme = random.choice(_THEMES)
    some = random.sample(theme, random.randint(1, len(theme)))
    cells = some * random.choice((1, 1, 1, 9, 10, 11))
    rows = [f"INSERT INTO {_quoted(name)} (c0) VALUES ({cell})" for cell in cells]  # noqa: S608
    return f"CREATE TABLE {_quoted(name)} (id INTEGER PRIMARY KEY, c0 {random.choice(_UNDECLARED)})", {}, rows


_RARE: Final = 0.3  # share of tables whose texts and numbers are rare ones, many of them NULL
_COMPUTED: Final = 0.25  # share of tables with a column that is computed
_KEPT: Final = ("VIRTUAL", "STORED")
_COMPUTATIONS: Final = (
    ("REAL", "id", ""), ("REAL", "NULL", ""), ("INT", "2", ""), ("INT", "id", "identifier"),
    ("TEXT", "'g' || id", "text"), ("TEXT", "c0", "categorical"), ("BOOLEAN", "id IS NULL", ""),
    ("DATE", "'2024-01-01'", "timestamp"), ("", "c0", "ignored"),
)  # fmt: skip


def _cell(random: Random, kind: str, rare: bool) -> str:
    if random.random() < (0.5 if rare else 0.2):
        return "NULL"
    if rare and kind in _RARE_VALUES:
        return random.choice(_RARE_VALUES[kind])
    if kind == "key":
        return random.choice(("1", "1", "2", "1.0", "'1'", "NULL", "'x'", "'X'"))
    return random.choice(_KINDS[kind][1])


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def listed_files() -> Iterator[Native]:
    """Files of all names, times and rare values, of each rare path, and of each value that a type may refuse."""
    yield from (_file(statements, words) for statements, words in full_files())
    yield from (_file(["CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (1.5)"], {}, path) for path in PATHS)
    yield _file([f"CREATE TABLE {_quoted(name)} (x REAL)" for name in NAMES], {NAMES[0]: {"x": "ignored"}})
    columns = ", ".join(f"{_quoted(name)} REAL" for name in COLUMN_NAMES)
    yield _file([f"CREATE TABLE t ({columns})"], {"t": dict.fromkeys(COLUMN_NAMES[::2], "ignored")})
    for declared in ("TEXT", "DATE"):
        yield _one_column(declared, [_text(time) for time in TIMES], {})
    for blank in BLANKS:
        yield _one_column("TEXT", [_text(f"one{blank}two"), _text(f"three{blank}four")], {})
    for names in (("rowid", "_rowid_", "OID"), ("rowid", "_rowid_"), ("RowId", "oid")):
        columns = ", ".join(f"{name} REAL" for name in names)
        yield _file([f"CREATE TABLE t (x REAL, {columns})", "INSERT INTO t (x) VALUES (1.0), (2.0)"], {})
    yield _one_column("TEXT", ["x'20'", _text("two words"), _text("more words")], {})
    keys = [f"INSERT INTO t VALUES ({_text(key)}, {k})" for k, key in enumerate(KEYS)]  # noqa: S608
    for declared in ("TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM"):
        yield _file([f"CREATE TABLE t (k {declared} PRIMARY KEY, n REAL)", *keys], {"t": {"k": "text"}})
    for time in NEARLY_TIMES:
        yield _one_column("", [_text(time)], {"t": {"x": "timestamp"}})
    for k, value in enumerate((*NUMBERS, *TEXTS)):
        for word in ("numerical", "boolean", _WORDS_IN_TURN[k % len(_WORDS_IN_TURN)]):
            yield _one_column("", [value], {"t": {"x": word}})
        for declared in ("INTEGER", _TYPES_IN_TURN[k % len(_TYPES_IN_TURN)]):
            yield _one_column(declared, [value], {})


_WORDS_IN_TURN: Final = ("text", "timestamp", "categorical", "identifier", "time")
_TYPES_IN_TURN: Final = ("REAL", "NUMERIC", "BOOLEAN", "DATE", "TEXT", "DECIMAL(9)", "")


def _text(value: str) -> str:
    """A text in the words of SQL."""
    return "'" + value.replace("'", "''") + "'"


def _one_column(declared: str, values: list[str], words: dict[str, dict[str, str]]) -> Native:
    rows = [f"INSERT INTO t VALUES ({value})" for value in values]  # noqa: S608 (a database of its own)
    return _file([f"CREATE TABLE t (x {declared})", *rows], words)


def _file(statements: list[str], declaration: dict[str, dict[str, str]], path: str = "d.db") -> Native:
    inputs = {"root": "a", "path": path, "declaration": declaration}
    return {"put": [{"path": path, "sqlite": valid(statements)}], "inputs": inputs}


GENERATORS: Final[tuple[Generator, ...]] = (Generator("database-file", database_file, listed=listed_files),)
