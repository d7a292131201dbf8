"""Laws of database files: the same tables in any file, and rows that a key drops as if they had never been there."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from conformance.trial.law import Asking, Law, LawTalk, Split, Tools, derived_bytes, law_root, must_equal

LOAD: Final = "Batch.LoadDatabase"
_FILES: Final = 5  # of one database
_NULLS: Final = 0.2  # share of cells
_PAGES: Final = (512, 1024, 4096, 65536)
_ENCODINGS: Final = ("UTF-8", "UTF-16le", "UTF-16be")
_NAMES: Final = ("a", "Z", "b", "ab", "order", "é", "t 1", "\U0001f600")
_TEXTS: Final = ("", "a", "A", "a ", "é", "e\u0301", "ﬀ", "\U0001f600", "x\0y", "1", "two words", "z" * 700, "y" * 9000)
_TIMES: Final = ("2024-02-29", "1969-12-31T23:59:59.5", "2024-01-01 00:15+05:45", "0001-01-01", "9999-12-31 23:59")
# The declared type and the word of a column, and its values.
_KINDS: Final[Sequence[tuple[str, str, Sequence[Any]]]] = (
    ("REAL", "numerical", (0.0, 1.5, -2.25, 0.1, 1e-300, 3e100, 7.0)),
    ("INTEGER", "numerical", (0, 1, -1, 127, 128, 2**15, -(2**23), 2**31, -(2**47), 2**53 + 1)),
    ("NUMERIC", "categorical", (1, 2, 300, -3)),
    ("", "categorical", (1, "1", "x", -3)),
    ("INTEGER", "identifier", (0, 1, -(2**63), 2**63 - 1, 2**31)),
    ("BOOLEAN", "boolean", (0, 1)),
    ("TEXT", "text", _TEXTS),
    ("TEXT", "categorical", _TEXTS),
    ("DATE", "timestamp", _TIMES),
    ("DATETIME", "time", _TIMES),
    ("INTEGER", "time[ms]", (0, -1, 1_709_164_800_000)),
    ("BLOB", "ignored", (b"", b"\0\xff", "x", 1, 0.5)),
)
_LEFT_OUT: Final = "left"
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: str  # as SQL declares it
    word: str = ""  # as LoadDatabase declares it; none where it is obvious
    table: str = ""  # to which a key refers


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose first column is its primary key."""

    name: str
    columns: tuple[_Column, ...]
    rows: tuple[Row, ...]


def _database(draw: Random, dangling: float) -> list[_Table]:
    """A few tables, of whose keys such a share refers to no row."""
    names = draw.sample(_NAMES, draw.randint(1, 4))
    key_types = {name: draw.choice(["INTEGER", "INTEGER", "TEXT"]) for name in names}
    keys = {name: _keys(key_types[name], draw) for name in names}
    tables = []
    for name in names:
        columns = [_Column("id", key_types[name], "text" if key_types[name] == "TEXT" else "")]
        cells: list[Sequence[Any]] = [keys[name]]
        for number, (type_, word, values) in enumerate(draw.sample(_KINDS, draw.randint(0, 4))):
            timed = any(column.word.startswith("time") for column in columns)
            columns.append(_Column(f"c{number}", type_, "ignored" if timed and word.startswith("time") else word))
            cells.append([None if draw.random() < _NULLS else draw.choice(values) for _ in keys[name]])
        for number in range(draw.randint(0, 2)):
            other = draw.choice(names)
            ignored = "ignored" if key_types[other] == "TEXT" else ""
            columns.append(_Column(f"up{number}", key_types[other], ignored, other))
            gone = 99 if key_types[other] == "INTEGER" else "gone"
            cells.append([gone if draw.random() < dangling else draw.choice([None, *keys[other]]) for _ in keys[name]])
        tables.append(_Table(name, tuple(columns), tuple(zip(*cells, strict=True))))
    return tables


def _keys(type_: str, draw: Random) -> list[Any]:
    numbers = draw.sample([*range(-2, 6), 300, 2**40], draw.randint(0, 6))
    return numbers if type_ == "INTEGER" else [f"{'kéK'[number % 3]}{number}" for number in numbers]


class _Writer:
    """Writes tables into a database file of a drawn form: pages, letters, order, detours and what means nothing."""

    def __init__(self, database: sqlite3.Connection, tables: Sequence[_Table], draw: Random) -> None:
        self._database, self._draw = database, draw
        self._tables = draw.sample(tables, len(tables))

    def write(self) -> None:
        """Create the tables and insert their rows; some with other values at first, and more rows, which go again."""
        draw, say = self._draw, self._database.execute
        say(f"PRAGMA page_size = {draw.choice(_PAGES)}")
        say(f"PRAGMA encoding = '{draw.choice(_ENCODINGS)}'")
        say(f"PRAGMA auto_vacuum = {draw.randrange(3)}")
        say(f"PRAGMA user_version = {draw.randrange(9)}")
        say("BEGIN")
        self._often("CREATE TABLE gone (x)", "INSERT INTO gone VALUES (zeroblob(3000))", "DROP TABLE gone")
        created = {table.name: self._create(table) for table in self._tables}
        rows = [(table, row) for table in self._tables for row in table.rows]
        draw.shuffle(rows)
        early, late = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        for table, row in early:
            self._insert(table, row[: created[table.name]])
        for table in self._tables:
            for column in table.columns[created[table.name] :]:
                say(f"ALTER TABLE {_quoted(table.name)} ADD COLUMN {self._column(column)}")
        for table, row in early:
            self._update(table, row)
        for table, row in late:
            self._insert(table, row if draw.random() < 0.5 else row[:1])
            self._update(table, row)
        for table in self._tables:
            self._beside(table)
        say("COMMIT")
        self._often("ANALYZE")
        self._often("VACUUM")

    def _often(self, *statements: str) -> None:
        """Say all or none of the statements."""
        if self._draw.random() < 0.4:
            for statement in statements:
                self._database.execute(statement)

    def _create(self, table: _Table) -> int:
        """Create a table without some of its last columns; the number of those that it has."""
        draw = self._draw
        first, *others = table.columns[: draw.randint(1, len(table.columns))]
        parts = [self._column(first) + " PRIMARY KEY", *map(self._column, others)]
        keyed = first.type == "TEXT" and draw.random() < 0.5
        suffix = " WITHOUT ROWID" if keyed else ""
        self._database.execute(f"CREATE TABLE {_quoted(table.name, draw)} ({', '.join(parts)}){suffix}")
        return 1 + len(others)

    def _column(self, column: _Column) -> str:
        draw = self._draw
        told = f"{_quoted(column.name, draw)} {column.type}{draw.choice(['', ' DEFAULT NULL'])}"
        return f"{told} REFERENCES {_quoted(column.table, draw)}{draw.choice(['', '(id)'])}" if column.table else told

    def _insert(self, table: _Table, row: Row) -> None:
        names = ", ".join(_quoted(column.name) for column in table.columns[: len(row)])
        marks = ", ".join("?" * len(row))
        self._database.execute(f"INSERT INTO {_quoted(table.name)} ({names}) VALUES ({marks})", row)  # noqa: S608

    def _update(self, table: _Table, row: Row) -> None:
        for column, value in zip(table.columns[1:], row[1:], strict=True):
            change = f"UPDATE {_quoted(table.name)} SET {_quoted(column.name)} = ? WHERE id = ?"  # noqa: S608
            self._database.execute(change, (value, row[0]))

    def _beside(self, table: _Table) -> None:
        """A row that goes again, an index, a view, and a trigger that never fires."""
        name = _quoted(table.name)
        more = "77" if table.columns[0].type == "INTEGER" else "'more'"
        last = _quoted(table.columns[-1].name)
        self._often(f"INSERT INTO {name} (id) VALUES ({more})", f"DELETE FROM {name} WHERE id = {more}")  # noqa: S608
        self._often(f"CREATE INDEX {_quoted(f'i {table.name}')} ON {name} ({last} DESC)")
        self._often(f"CREATE VIEW {_quoted(f'v {table.name}')} AS SELECT {last} FROM {name}")  # noqa: S608
        trigger = _quoted(f"x {table.name}")
        self._often(f"CREATE TRIGGER {trigger} AFTER DELETE ON {name} BEGIN DELETE FROM {name}; END")  # noqa: S608


def _quoted(name: str, draw: Random | None = None) -> str:
    return (draw.choice(['"{}"', "[{}]", "`{}`"]) if draw else '"{}"').format(name)


def _loading(
    tools: Tools, root: Path, tables: Sequence[_Table], draw: Random, dangling: Mapping[str, Any]
) -> Asking[dict[str, Any]]:
    """What is loaded from a file of a drawn form, beside a table that is left out."""
    folder = root / draw.choice(["", "x", "x/y"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{len(list(root.rglob('*')))}.db"
    left = _Table(_LEFT_OUT, (_Column("id", "TEXT"), _Column("c", "", table="nowhere")), (("k", b"\xff"), ("l", 1)))
    beside = [left] if draw.random() < 0.5 else []
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        _Writer(database, [*tables, *beside], draw).write()
    words = {table.name: {column.name: column.word for column in table.columns if column.word} for table in tables}
    declared = {"declaration": {name: told for name, told in words.items() if told}, "dangling": dangling}
    left_out = [table.name for table in beside]
    where = {"root": str(root), "path": path.relative_to(root).as_posix(), "leave_out": left_out}
    _, answer = yield from tools.ask_one(LOAD, {**where, **declared})
    return answer


def _any_form(tools: Tools, database_no: int) -> LawTalk:
    """One drawn database in several files."""
    draw = Random(derived_bytes(f"database {database_no}", 32))  # noqa: S311
    tables = _database(draw, dangling=0)
    with law_root() as root:
        first = yield from _loading(tools, root, tables, draw, {})
        for number in range(1, _FILES):
            answer = yield from _loading(tools, root, tables, draw, {})
            must_equal(_plain(first), _plain(answer), f"the same tables in file {number}, against those in file 0")


def _dropped(tools: Tools, database_no: int) -> LawTalk:
    """One drawn database whose keys dangle, against one without the rows that its policies drop."""
    draw = Random(derived_bytes(f"dangling {database_no}", 32))  # noqa: S311
    tables = _database(draw, dangling=0.2)
    keys = {table.name: [column.name for column in table.columns if column.table] for table in tables}
    policies = {name: {key: draw.choice(["drop", "drop", "null"]) for key in own} for name, own in keys.items() if own}
    with law_root() as root:
        found = yield from _loading(tools, root, tables, draw, policies)
        edited = yield from _loading(tools, root, _edited(tables, policies), draw, {})
        for table in (*found["database"]["tables"], *edited["database"]["tables"]):
            # The column of a key that is taken for NULL keeps its value.
            own = policies.get(table["name"], ())
            table["columns"] = [column for column in table["columns"] if column["name"] not in own]
        must_equal(_plain(edited), _plain(found), f"with the policies {policies}, against the tables without such rows")


def _edited(tables: Sequence[_Table], policies: Mapping[str, Mapping[str, str]]) -> list[_Table]:
    """The tables without the rows that are dropped, and with NULL for the keys that dangle then."""
    left = {table.name: list(table.rows) for table in tables}
    while True:
        known = {name: {row[0] for row in rows} for name, rows in left.items()}
        kept = {
            table.name: [
                row for row in left[table.name]
                if not any(policies[table.name][table.columns[at].name] == "drop" for at in _dangle(table, row, known))
            ]
            for table in tables
        }  # fmt: skip
        if kept == left:
            break
        left = kept
    return [replace(table, rows=tuple(_nulled(table, row, known) for row in left[table.name])) for table in tables]


def _dangle(table: _Table, row: Row, known: Mapping[str, set[Any]]) -> list[int]:
    """The places of the keys that refer to no row."""
    return [
        at for at, column in enumerate(table.columns)
        if column.table and row[at] is not None and row[at] not in known[column.table]
    ]  # fmt: skip


def _nulled(table: _Table, row: Row, known: Mapping[str, set[Any]]) -> Row:
    dangling = _dangle(table, row, known)
    return tuple(None if at in dangling else value for at, value in enumerate(row))


def _plain(value: Any) -> Any:
    """A value with lists of bytes for arrays, so that NaN and signs are compared."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return (value.dtype.name, value.shape, value.tobytes()) if hasattr(value, "tobytes") else value


LAWS: Final = (
    Law("database-of-any-form", _any_form, {"databases": 6}, Split(counts={"databases": "database_no"})),
    Law("dropped-rows-were-never-there", _dropped, {"databases": 6}, Split(counts={"databases": "database_no"})),
)
