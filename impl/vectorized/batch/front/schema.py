"""What a file says about its tables, and how to read their rows in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Any, Protocol

from impl.failure import ContractFailure, default_failure


def refuse(code: str, why: str) -> ContractFailure:
    """Return the failure of LoadDatabase; `why` is a sentence for people."""
    return default_failure(code, "Batch.LoadDatabase", why)


ROWS_AT_ONCE = 2_048


@dataclass(frozen=True, slots=True)
class Field:
    """Name a column, the class of its declared type, the SQL that reads it, and the type as it is written."""

    name: str
    declared: str
    sql: str
    written: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """Name the columns of a key, its table, and the columns referred to where they are named."""

    columns: Sequence[str]
    table: str
    referred: Sequence[str]


@dataclass(frozen=True, slots=True)
class Schema:
    """Describe a table; `order` is the SQL that puts its rows in the order of their numbers.

    `asked`: it is what a query gives, and no table of the file.
    """

    name: str
    fields: Sequence[Field]
    primary_key: Sequence[str]
    keys: Sequence[Key]
    order: str
    asked: bool = False

    def place(self, name: str) -> int:
        """Return the index of a column by its name in any case, -1 if there is none."""
        return {same(field.name): place for place, field in enumerate(self.fields)}.get(same(name), -1)


@dataclass(frozen=True, slots=True)
class Link:
    """A key that is looked at: the places of its columns, of those that they refer to in a table, and what is declared.

    `lenient`: a column of it is ignored, so that it refuses nothing.
    """

    table: str
    places: tuple[int, ...]
    other: str
    referred: tuple[int, ...]
    policy: str
    lenient: bool

    @property
    def named(self) -> int:
        """The place of the column that names the key."""
        return min(self.places)


# Values by storage class and value, so that 1 and 1.0 are two.
Exact = tuple[tuple[type, str], ...]


def exact(values: Sequence[Any]) -> Exact:
    """Return what is equal for equal values of equal classes."""
    return tuple((type(value), repr(value)) for value in values)


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold the columns that a query gives, and its rows, many at a time."""

    fields: Sequence[Field]
    rows: Iterator[list[Any]]


class File(Protocol):
    """An open file."""

    @property
    def schemas(self) -> Sequence[Schema]:
        """Return the tables."""

    @property
    def others(self) -> Sequence[tuple[str, str]]:
        """Return the name and the kind of everything else that could be taken for a table."""

    def rows(self, schema: Schema, looked: Sequence[bool]) -> Iterator[list[Any]]:
        """Return the rows of a table, many at a time; of columns that are not looked at, 0 or NULL."""

    def pairs(self, child: Schema, parent: Schema, link: Link) -> dict[Exact, Exact]:
        """Return what each value of a key refers to, as the file compares them."""

    def found(self, keys: Sequence[tuple[Any, ...]], parent: Schema, link: Link) -> dict[Exact, Exact]:
        """Return what each of these keys refers to, as the file compares them."""

    def repeats(self, parent: Schema, link: Link) -> bool:
        """Return whether two rows have a value that the key refers to."""

    def asked(self, name: str, query: str) -> AbstractContextManager[Asked]:
        """Give what one query gives that only reads; `name` is that of the targets."""


class Cursor(Protocol):
    """What SQLite and DuckDB have in common."""

    def fetchmany(self, size: int = ..., /) -> list[Any]:
        """Return the next rows."""


def same(name: str) -> bytes:
    """Return what is equal for names that SQL takes for one: ASCII letters have no case."""
    return name.encode().lower()


def quote(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"{}"'.format(name.replace('"', '""'))


def select(schema: Schema, looked: Sequence[bool]) -> str:
    """Return the SQL that reads a table once, in order."""
    columns = ", ".join(
        field.sql if whole else f"CASE typeof({quote(field.name)}) WHEN 'null' THEN NULL ELSE 0 END"
        for field, whole in zip(schema.fields, looked, strict=True)
    )
    return f"SELECT {columns} FROM {quote(schema.name)} {schema.order}"  # noqa: S608


def chunks(cursor: Cursor) -> Iterator[list[Any]]:
    """Return rows, many at a time."""
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        yield rows


AGAIN = 0.05  # seconds between two interruptions: one that finds nothing running is lost


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limit what a file may ask for: the bytes of a value, the rows of all tables, the seconds of reading it."""

    value_bytes: int = 1 << 24
    rows: int = 1 << 32
    seconds: float = 600.0


def too_much(what: str, reason: object, limits: FileLimits) -> ContractFailure:
    """Return the refusal of what asks for too long a value or for too much time."""
    most = f"values of {limits.value_bytes} bytes and {limits.seconds} seconds"
    return refuse("LIMIT_EXCEEDED", f"{what} must ask for no more than {most}: got {reason}; leave it out")


@contextmanager
def interrupting(interrupt: Callable[[], None], seconds: float) -> Iterator[Callable[[], bool]]:
    """Interrupt the running query after these seconds, until the end; give a function that tells if they are over."""
    until = monotonic() + seconds
    ended = Event()

    def watch() -> None:
        if not ended.wait(seconds):
            interrupt()
            while not ended.wait(AGAIN):
                interrupt()

    watching = Thread(target=watch, name="time limit of a file", daemon=True)
    watching.start()
    try:
        yield lambda: monotonic() >= until
    finally:
        ended.set()
        watching.join()
