"""Parsed YAML with the position of every value, problems at positions, and the rows of schema-valid files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Final, TypeVar

from conformance.contract.suggest import with_sign

ValuePath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake in a specification file: its place, code, message, and the next step."""

    position: Position
    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.position}: {self.code} {self.message}"
        return f"{text}\n    hint: {self.hint}" if self.hint else text


class BadFile(Exception):
    """A file cannot be used: its place, the fault in one sentence, and the next step."""

    def __init__(self, place: str, message: str, hint: str = "") -> None:
        super().__init__(place, message, hint)
        self.place, self.message, self.hint = place, message, hint

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" + (f"\n    hint: {self.hint}" if self.hint else "")


class MalformedContract(Exception):
    """A specification file is not valid; has every problem found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(replace(one, hint=with_sign(one.message, one.hint)) for one in problems))
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[MalformedContract], tuple[tuple[Problem, ...]]]:
        return MalformedContract, (self.problems,)


def names(body: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The one or many names under `key`."""
    value = body.get(key, ())
    return (value,) if isinstance(value, str) else tuple(value)


_Row = TypeVar("_Row")
_KEYS: Final = {"requirements": "requirement", "rulings": "ruling"}  # keys under which a row has one name or many
_EMPTY: Final[Mapping[str, Any]] = {"str": "", "bool": False, "int": 0}


def row(kind: type[_Row], body: Mapping[str, Any], /, **given: Any) -> _Row:
    """A row of a schema-valid file as a value: each field has the value of its key, and is empty without one."""
    found = dict(given)
    for one in fields(kind):  # type: ignore[arg-type]
        key = one.name if one.name in body else _KEYS.get(one.name, one.name)
        if one.name in given or (key not in body and (one.default, one.default_factory) != (MISSING, MISSING)):
            continue
        if one.type == "tuple[str, ...]":
            found[one.name] = names(body, key)
        else:
            found[one.name] = body.get(key, _EMPTY.get(str(one.type), {}))
    return kind(**found)


MAX_NESTING: Final = 256  # levels of lists and maps; the deepest case has 98
MAX_VALUES: Final = 200_000  # in one file; 100,000 take 8 s, the largest contract has 16,000


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed YAML file: its plain value and the position of every value and key in it."""

    file: str
    value: Any
    values: Mapping[ValuePath, Position] = field(repr=False)
    keys: Mapping[ValuePath, Position] = field(repr=False)
    text: str = field(default="", repr=False)

    def at(self, path: ValuePath) -> Position:
        """The position of the value at `path`, or of the nearest enclosing value that exists."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values[path]

    def key_at(self, path: ValuePath) -> Position:
        """The position of the key that leads to `path`, falling back to the value's own."""
        return self.keys.get(path) or self.at(path)

    def part(self, path: ValuePath) -> Any:
        """The value at a path."""
        value = self.value
        for step in path:
            value = value[step]
        return value

    def rows(self, key: str) -> Iterator[tuple[Any, Position]]:
        """Each entry of the list under `key`, with its position."""
        return ((body, self.at((key, k))) for k, body in enumerate(self.value.get(key, ())))

    def problem(self, path: ValuePath, code: str, message: str, hint: str = "") -> Problem:
        """A problem at the value at `path`."""
        return Problem(self.at(path), code, message, hint)

    def malformed(self, path: ValuePath, code: str, message: str, hint: str = "") -> MalformedContract:
        """The exception that says one problem at the value at `path`."""
        return MalformedContract([self.problem(path, code, message, hint)])
