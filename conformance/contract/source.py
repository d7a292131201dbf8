"""YAML text with exact positions: core scalars only, no duplicate keys, no anchors, no tags (DESIGN 4)."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Final

import yaml

from conformance.contract.yaml_mistake import yaml_mistake

Path = tuple[str | int, ...]


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
    """One thing that is wrong in a specification file: where, which code, what, and the next step."""

    position: Position
    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.position}: {self.code} {self.message}"
        return f"{text}\n    hint: {self.hint}" if self.hint else text


class MalformedContract(Exception):
    """A specification file cannot be read as what it claims to be; carries every problem found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[MalformedContract], tuple[tuple[Problem, ...]]]:
        return MalformedContract, (self.problems,)


MAX_NESTING: Final = 256  # lists and maps in one another; the deepest case has 98
MAX_VALUES: Final = 200_000  # in one file; 100,000 take 8 s, the largest contract has 16,000
MAX_DIGITS: Final = 100  # of an integer; the widest type has 20
# YAML 1.2 core schema without null: what is not one of these is a string.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)\Z")


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed YAML file: its plain value and the position of every value and key in it."""

    file: str
    value: Any
    values: Mapping[Path, Position] = field(repr=False)
    keys: Mapping[Path, Position] = field(repr=False)
    text: str = field(default="", repr=False)

    def at(self, path: Path) -> Position:
        """The position of the value at `path`, or of the nearest enclosing value that exists."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values[path]

    def key_at(self, path: Path) -> Position:
        """The position of the key that leads to `path`, falling back to the value's own."""
        return self.keys.get(path) or self.at(path)

    def problem(self, path: Path, code: str, message: str, hint: str = "") -> Problem:
        """A problem at the value at `path`."""
        return Problem(self.at(path), code, message, hint)


def read(file: FilePath, shown_as: str | None = None) -> Source:
    """Parse one YAML file; raises MalformedContract with the position of what is wrong."""
    name = shown_as or str(file)
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            # A pipe would keep the reader waiting.
            raise _malformed(Position(name, 1, 1), "this is not a regular file", "put the YAML text itself here")
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        raise _malformed(Position(name, 1, 1), f"the file cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = file.read_bytes()[: error.start].count(b"\n") + 1
        raise _malformed(Position(name, line, 1), "the file is not UTF-8", "save it as UTF-8") from error
    return parse(text, name)


def parse(text: str, name: str) -> Source:
    """Parse YAML text under the file name `name`; raises MalformedContract."""
    builder = _Builder(name)
    try:
        events = iter(yaml.parse(text, Loader=yaml.CSafeLoader))
        value = builder.document(events)
    except yaml.MarkedYAMLError as error:
        marks = [(mark.line, mark.column) if mark else (0, 0) for mark in (error.problem_mark, error.context_mark)]
        (line, column), message, hint = yaml_mistake(text, error.problem or "", error.context or "", *marks)
        raise _malformed(Position(name, line + 1, column + 1), f"bad YAML: {message}", hint) from error
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise _malformed(Position(name, line, 1), f"bad YAML: {error.reason}") from error
    return Source(name, value, builder.values, builder.keys, text)


def _malformed(position: Position, message: str, hint: str = "") -> MalformedContract:
    return MalformedContract([Problem(position, "C001", message, hint)])


class _Builder:
    def __init__(self, name: str) -> None:
        self.name = name
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}

    def document(self, events: Iterator[Any]) -> Any:
        next(events)
        first = next(events)
        if not isinstance(first, yaml.DocumentStartEvent):
            raise _malformed(Position(self.name, 1, 1), "the file is empty", "restore it; [] is an empty list")
        value = self.node(next(events), events, ())
        next(events)
        extra = next(events)
        if not isinstance(extra, yaml.StreamEndEvent):
            raise _malformed(self.place(extra), "a second document in one file", "one file holds one contract")
        return value

    def place(self, event: Any) -> Position:
        return Position(self.name, event.start_mark.line + 1, event.start_mark.column + 1)

    def node(self, event: Any, events: Iterator[Any], path: Path) -> Any:
        position = self.place(event)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _malformed(position, "anchors and aliases are refused", "write the value out")
        if event.tag is not None and event.tag != "!":
            raise _malformed(position, f"tag {event.tag} is refused", "remove the tag; types are declared")
        if len(path) > MAX_NESTING:
            raise _malformed(position, f"more than {MAX_NESTING} lists and maps in one another", "a '[' may be open")
        if len(self.values) >= MAX_VALUES:
            raise _malformed(position, f"more than {MAX_VALUES} values in one file", "spread them over several files")
        self.values[path] = position
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, position)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(events, path)
        return self.mapping(events, path)

    def scalar(self, event: Any, position: Position) -> Any:
        text: str = event.value
        if event.style:
            return text
        if text == "":
            hint = 'write the value, or "" for empty text, [] for an empty list, {} for an empty map'
            raise _malformed(position, "a key without a value", hint)
        if text == "<<":
            raise _malformed(position, "merge keys are refused", "write the value out")
        if text in ("true", "false"):
            return text == "true"
        if _INTEGER.match(text):
            if len(text) > MAX_DIGITS:
                hint = "no type is that wide; quote what is text"
                raise _malformed(position, f"an integer of {len(text)} characters", hint)
            return int(text, 16) if text.startswith("0x") else int(text)
        if _FLOAT.match(text):
            return float(text)
        return text

    def sequence(self, events: Iterator[Any], path: Path) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self.node(event, events, (*path, len(items))))
        return items

    def mapping(self, events: Iterator[Any], path: Path) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            position = self.place(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise _malformed(position, "a key must be text", "keys are names, not lists or maps")
            key = event.value
            if not event.style and key == "<<":
                raise _malformed(position, "merge keys are refused", "write the keys out")
            if key in items:
                first = self.keys[(*path, key)]
                raise _malformed(position, f"duplicate key {key!r}", f"it is at {first} already; remove one")
            self.keys[(*path, key)] = position
            items[key] = self.node(next(events), events, (*path, key))
        return items
