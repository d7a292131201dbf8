"""Relational batches for people: a file opened by its path, one builder for one task, refusals in sentences."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from time import monotonic
from typing import Final, Literal, SupportsIndex, TextIO

import numpy as np

from impl.arguments import Judge, shown
from impl.library.declaration import wishes_of
from impl.library.kept_database import claimed_folder, keep_database, kept_from, open_kept_database, origin
from impl.vectorized.batch.arrays import Indices
from impl.vectorized.batch.builder import Builder, Target, TrainingBatch
from impl.vectorized.batch.collect import Limits
from impl.vectorized.batch.flat import Flat, flatten, seeded_children, split
from impl.vectorized.batch.front.columns import Embedder, HashEmbedder
from impl.vectorized.batch.front.describe import Description
from impl.vectorized.batch.front.describe import describe as described
from impl.vectorized.batch.front.open import Progress
from impl.vectorized.batch.front.open import open_database as opened
from impl.vectorized.batch.front.schema import FileLimits
from impl.vectorized.batch.front.spool import Room, temporary_room
from impl.vectorized.batch.front.types import TargetQuery
from impl.vectorized.batch.model import MOST, Database, Refused, judge_database

EVERY: Final = 2.0  # seconds before the first line, and between two of them


class ProgressLines:
    """Tell what is being read, how many rows of it are done and since when: a line every two seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._since = self._told = clock()

    def __call__(self, what: str, rows: int) -> None:
        """Write a line if it is time for one."""
        now = self._clock()
        if now - self._told < EVERY:
            return
        self._told = now
        seen = "".join(letter if letter.isprintable() else "?" for letter in what)
        print(f"loading {seen}: {rows:,} rows, {now - self._since:.0f} s", file=self._stream, flush=True)


def lines_on_a_terminal() -> ProgressLines | None:
    """Return lines on stderr where a person reads it."""
    stream = sys.stderr
    return ProgressLines(stream) if stream is not None and stream.isatty() else None


_LOAD: Final = Judge("Batch.LoadDatabase")
_BUILD: Final = Judge("Batch.Build")
_CUTOFFS: Final = ("children", "strict")
_TIMES: Final = (-(2**63), 2**63 - 1)


def open_database(
    file: str | os.PathLike[str],
    declaration: Mapping[str, Mapping[str, str]] | str | os.PathLike[str] | None = None,
    *,
    leave_out: Iterable[str] = (),
    dangling: Mapping[str, Mapping[str, str]] | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    limits: FileLimits | None = None,
    keep: str | os.PathLike[str] | None = None,
    targets: Mapping[str, TargetQuery] | None = None,
) -> Database:
    """Return the tables of a SQLite or DuckDB file, each column in its declared or obvious semantic type.

    `declaration` maps a table to its columns and these to a type: identifier, numerical, timestamp, boolean,
    categorical, text or ignored, or time for the timestamp that dates the rows; integers are times with a unit, as in
    time[s]: year, day, s, ms, us or ns. It may also be the YAML file that `describe_database` writes. Only what the
    file leaves in doubt has to be declared. `leave_out` names tables that are not read. `dangling` maps a table to the
    first columns of its keys and these to what becomes of a key that refers to no row: refuse, null or drop (its row).

    `embedder` turns texts into float16 of shape (texts, dimension), some thousands at a time. `progress` is told what
    is being read and how many rows of it are done; where it is None, a terminal shows a line every two seconds.
    `limits` are those of a value in bytes, of all rows, and of seconds. Every table is read once. `keep` is a folder
    for the loaded columns: the next call with the same file, declaration and embedder (its class and dimension) maps
    them from there, their digests checked, and reads no table. Long columns go to the disk while they are read;
    without `keep` they lie in temporary files without a name (TMPDIR), which are gone with the database. `targets` maps
    new names to queries, whose rows are labels of a `BatchBuilder`.

    Raises ContractFailure: CONTRACT_VIOLATION, UNKNOWN_TABLE, COMPOSITE_KEY, LIMIT_EXCEEDED, NON_FINITE, DANGLING_KEY.
    Source: seed 004 §1; contract `Batch.LoadDatabase`.

    >>> import sqlite3, tallystick, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with sqlite3.connect(f"{folder}/shop.db") as connection:
    ...         _ = connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL)")
    ...         _ = connection.executemany("INSERT INTO orders (total) VALUES (?)", [(3.5,), (None,), (9.0,)])
    ...     connection.close()
    ...     database = tallystick.open_database(f"{folder}/shop.db")
    >>> [(table.name, table.row_count) for table in database.tables]
    [('orders', 3)]
    """
    path = _existing(file)
    progress = progress or lines_on_a_terminal()
    wishes = wishes_of(declaration, leave_out, dangling, targets)
    if keep is None:
        return opened(path, wishes, embedder=embedder, progress=progress, limits=_limits(limits), room=temporary_room())
    folder = _LOAD.path("keep", keep)
    made_from = origin(path, wishes, embedder or HashEmbedder())
    kept = kept_from(folder, made_from)
    if kept is None:
        new = not folder.exists()
        claimed_folder(folder)
        try:
            database = opened(
                path, wishes, embedder=embedder, progress=progress, limits=_limits(limits), room=Room(folder)
            )
            keep_database(database, folder, made_from)
            del database  # and its files
        except BaseException:
            if new:
                with suppress(OSError):
                    folder.rmdir()  # where nothing was kept
            raise
        kept = open_kept_database(folder)
    return kept


def describe_database(
    file: str | os.PathLike[str], *, progress: Progress | None = None, limits: FileLimits | None = None
) -> Description:
    """Return what a SQLite or DuckDB file holds, with a guess for everything that is open, all at once.

    `tallystick.batch.declaration_text` makes a declaration in YAML of it: a line for every column and key, and a `?`
    behind every guess. Tables are read part by part. Raises ContractFailure CONTRACT_VIOLATION or LIMIT_EXCEEDED
    where the file itself cannot be read. Source: contract `Batch.LoadDatabase`.

    >>> import sqlite3, tallystick, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with sqlite3.connect(f"{folder}/shop.db") as connection:
    ...         _ = connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT)")
    ...         _ = connection.executemany("INSERT INTO orders (status) VALUES (?)", [("new",), ("paid",), ("new",)])
    ...     connection.close()
    ...     description = tallystick.describe_database(f"{folder}/shop.db")
    >>> description.questions()
    ['orders.status: 2 different texts in 3 rows']
    """
    path = _existing(file)
    told = progress or lines_on_a_terminal()
    return described(path, progress=told, limits=_limits(limits), room=temporary_room())


def _existing(file: str | os.PathLike[str]) -> Path:
    path = _LOAD.path("file", file)
    try:
        found = path.is_file()
    except (OSError, ValueError):
        found = False
    if not found:
        what = f"got {shown(str(file))}, where there is none"
        raise _LOAD.failure(f"file must be an existing SQLite or DuckDB file: {what}")
    return path


def _limits(limits: FileLimits | None) -> FileLimits:
    if limits is None:
        return FileLimits()
    _LOAD.instance("limits", limits, FileLimits, "limits of a file")
    _LOAD.integer("limits.value_bytes", limits.value_bytes, 1, 2**31 - 1)
    _LOAD.integer("limits.rows", limits.rows)
    _LOAD.number("limits.seconds", limits.seconds, above=0)
    return limits


class BatchBuilder:
    """Build training batches of one task over a database: B seed rows, each with the rows that its keys reach.

    `table` and `column` are the task: what is predicted of a seed row. A sequence has `sequence_length` cells S, from 1
    to 65,536; it goes up to `max_hops` keys away from its seed, over at most `max_rows` rows and at most `child_width`
    children of each parent; None does not limit. `cutoff` is children (rows after the seed's time are no children) or
    strict (they are no parents either: nothing of the future is seen).

    Where the task is targets of a query, a seed row is one of them, seen at its own time; it is the way to the row that
    its key names, and no sequence has a target but its own.

    Two more variants leave the source's rule. `children_seed` takes the children of each parent in an order that this
    seed decides, so that `child_width` is a random choice; else they come by row number. `fixed_rows` is R of every
    batch, for shapes that never change, and limits the rows of a sequence; else R is the largest number in the batch.

    Raises ContractFailure: CONTRACT_VIOLATION, UNKNOWN_TABLE, LIMIT_EXCEEDED, NON_FINITE, DANGLING_KEY,
    TARGET_TRUNCATED. Source: seed 004 §2-§3; contract `Batch.Build`.

    >>> import sqlite3, tallystick, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with sqlite3.connect(f"{folder}/shop.db") as connection:
    ...         _ = connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL)")
    ...         _ = connection.executemany("INSERT INTO orders (total) VALUES (?)", [(3.5,), (None,), (9.0,)])
    ...     connection.close()
    ...     database = tallystick.open_database(f"{folder}/shop.db")
    >>> builder = tallystick.BatchBuilder(database, "orders", "total", sequence_length=4)
    >>> batch = builder.batch([0, 1])
    >>> batch.numeric_values.shape, batch.is_null[batch.is_target].tolist()
    ((2, 4), [False, True])
    """

    def __init__(
        self,
        database: Database,
        table: str,
        column: str,
        *,
        sequence_length: SupportsIndex,
        max_hops: SupportsIndex | None = None,
        max_rows: SupportsIndex | None = None,
        child_width: SupportsIndex | None = None,
        cutoff: Literal["children", "strict"] = "children",
        children_seed: SupportsIndex | None = None,
        fixed_rows: SupportsIndex | None = None,
    ) -> None:
        _BUILD.instance("database", database, Database, "a database, as open_database returns it")
        task = _BUILD.text("table", table), _BUILD.text("column", column)
        length = _BUILD.integer("sequence_length", sequence_length, 1)
        if length > MOST:
            raise _BUILD.failure(f"sequence_length must be at most {MOST}: got {length}", code="LIMIT_EXCEEDED")
        self._limits = Limits(
            length,
            _BUILD.optional("max_hops", max_hops, 0, 2**32 - 1),
            _BUILD.optional("max_rows", max_rows, 1, 2**32 - 1),
            _BUILD.optional("child_width", child_width, 0, 2**32 - 1),
            _BUILD.choice("cutoff", cutoff, _CUTOFFS) == "strict",
            _fixed_rows(fixed_rows),
        )
        flat = _judged(database)
        if children_seed is not None:
            seed = _BUILD.integer("children_seed", children_seed)
            flat = replace(flat, keys=seeded_children(flat.keys, seed))
        self._builder = Builder(flat)
        self._times = _own_times(flat, *task)
        self._target = _target(self._builder, *task)
        if self._target.position is None:
            what = f"column must be in a sequence: got {column!r}, and every column of {table!r} is ignored"
            raise _BUILD.failure(f"{what}; declare a type for it", code="TARGET_TRUNCATED")
        if self._target.position >= length:
            least = self._target.position + 1
            what = f"sequence_length must be at least {least}, up to the target {table}.{column}: got {length}"
            raise _BUILD.failure(what, code="TARGET_TRUNCATED")

    def batch(
        self, rows: Iterable[SupportsIndex], times: Iterable[SupportsIndex | None] | None = None
    ) -> TrainingBatch:
        """Return the batch of seed rows, each as it was seen at its time in microseconds UTC, or always where None.

        `rows` are B row numbers of the task's table, from 0; `times` has one time for each, and is None for targets of
        a query, which have their own. Tensors have the shape
        [B, S], timestamp_values [B, S, 15], fk_adj [B, R, R] and text_batch_embeddings [texts, dimension].
        Raises ContractFailure: CONTRACT_VIOLATION, ROW_NOT_FOUND, LIMIT_EXCEEDED.
        """
        count = self._target.row_count
        seeds = _BUILD.integers("rows", rows)
        if not seeds:
            raise _BUILD.failure("rows must be one row number or more: got none")
        for place, row in enumerate(seeds):
            if row >= count:
                what = f"rows[{place}] must be below the {count} rows of the table: got {row}"
                raise _BUILD.failure(what, code="ROW_NOT_FOUND")
        if self._times is not None:
            if times is not None:
                raise _BUILD.failure("times must be None for targets of a query, which have times of their own")
            times = self._times[seeds].tolist()
        seen = [None] * len(seeds) if times is None else list(times)
        if len(seen) != len(seeds):
            raise _BUILD.failure(f"times must have one time for each of the {len(seeds)} rows: got {len(seen)}")
        moments = [
            None if time is None else _BUILD.integer(f"times[{place}]", time, *_TIMES, hint="microseconds UTC")
            for place, time in enumerate(seen)
        ]
        try:
            return self._builder.batch(self._target, seeds, moments, self._limits)
        except Refused as refused:
            what = f"rows must reach at most {MOST} rows each: got more from {shown(seeds[0])} or a later one"
            raise _BUILD.failure(f"{what}; set max_rows or child_width", code=refused.code) from None


def split_rows(
    database: Database, table: str, shares: Sequence[float] = (0.8, 0.1, 0.1), *, by: str | None = None, seed: int = 0
) -> list[Indices]:
    """Return the row numbers of each share of a table: train, validation and test, as every row's hash decides.

    `by` is a column of identifiers or categories that decides in place of the row number: rows of one value are in one
    share, and a row stays in its share when others are added. `shares` are numbers above 0. Source: none; a helper.

    Raises ContractFailure: CONTRACT_VIOLATION, UNKNOWN_TABLE.
    """
    held = {one.name: one for one in database.tables}.get(_BUILD.text("table", table))
    if held is None:
        raise _BUILD.failure(f"table must be in the database: got {table!r}", code="UNKNOWN_TABLE")
    parts = tuple(_BUILD.number(f"shares[{place}]", share, above=0) for place, share in enumerate(shares))
    if not parts:
        raise _BUILD.failure("shares must be one number or more: got none")
    column = None if by is None else {one.name: one for one in held.columns}.get(_BUILD.text("by", by))
    if by is not None and (column is None or column.semantic_type not in ("identifier", "categorical")):
        what = f"by must be a column of identifiers or categories in {table!r}: got {by!r}"
        raise _BUILD.failure(what, code="UNKNOWN_TABLE" if column is None else "CONTRACT_VIOLATION")
    names = np.arange(held.row_count) if column is None else column.values
    return split(names, parts, _BUILD.integer("seed", seed))


def _fixed_rows(rows: SupportsIndex | None) -> int | None:
    fixed = _BUILD.optional("fixed_rows", rows, 1, 2**32 - 1)
    if fixed is not None and fixed > MOST:
        raise _BUILD.failure(f"fixed_rows must be at most {MOST}: got {fixed}", code="LIMIT_EXCEEDED")
    return fixed


def _judged(database: Database) -> Flat:
    try:
        judge_database(database)
    except Refused as refused:
        what = "database must be one of open_database: got one whose names, numbers or keys do not fit together"
        raise _BUILD.failure(what, code=refused.code) from None
    return flatten(database)


def _own_times(flat: Flat, table: str, column: str) -> Indices | None:
    """Return the times of the rows of a table of targets, None for any other table."""
    for held, first in zip(flat.tables, flat.cells.first_rows.tolist(), strict=True):
        if held.name == table and held.target_column is not None:
            if column != held.target_column and column in [one.name for one in held.columns]:
                what = f"column must be {held.target_column!r}, the value of the targets {table!r}: got {column!r}"
                raise _BUILD.failure(what)
            return flat.keys.times[first : first + held.row_count]
    return None


def _target(builder: Builder, table: str, column: str) -> Target:
    try:
        return builder.target(table, column)
    except Refused as refused:
        names = {one.name: [held.name for held in one.columns] for one in builder.flat.tables}
        field, found, known = ("column", column, names[table]) if table in names else ("table", table, list(names))
        near = get_close_matches(found, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        what = f"{field} must be in the database: got {found!r}; {hint}"
        raise _BUILD.failure(what, code=refused.code) from None


__all__ = [
    "BatchBuilder",
    "Database",
    "Description",
    "Embedder",
    "FileLimits",
    "HashEmbedder",
    "TargetQuery",
    "TrainingBatch",
    "describe_database",
    "open_database",
    "split_rows",
]
