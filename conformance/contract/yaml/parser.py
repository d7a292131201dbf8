"""YAML text with exact positions: core scalars only, no duplicate keys, no anchors, no tags (DESIGN 4)."""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from conformance.contract.suggest import look_alike, typed
from conformance.contract.yaml.source import (
    MAX_NESTING,
    MAX_VALUES,
    MalformedContract,
    Position,
    Problem,
    Source,
    ValuePath,
)

MAX_DIGITS: Final = 100  # of an integer; the widest type has 20
# YAML 1.2 core schema without null: any other scalar is a string.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)\Z")


def read(file: Path, shown_as: str | None = None) -> Source:
    """Parse one YAML file; raises MalformedContract with the position of the mistake."""
    name = shown_as or str(file)
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            # A pipe would keep the reader waiting.
            raise _malformed(Position(name, 1, 1), "this is not a regular file", "put the YAML text itself here")
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror}"
        raise _malformed(Position(name, 1, 1), reason, "make it a file that you can read") from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        raise _malformed(_end_of(before, name), "the file is not UTF-8", "save it as UTF-8") from error
    return parse(text, name)


def parse(text: str, name: str) -> Source:
    """Parse YAML text under the file name `name`; raises MalformedContract."""
    try:
        return _parsed(text, name)
    except MalformedContract as error:
        raise _look_alike(text, name, error.problems[0].position) or error from None


def _look_alike(text: str, name: str, wrong: Position) -> MalformedContract | None:
    """The error for a look-alike dash or quote near a mistake, if the mistake disappears with the keyboard's sign."""
    lines = text.split("\n")
    for k in range(max(wrong.line - 3, 0), min(wrong.line + 1, len(lines))):
        if (plain := typed(lines[k])) == lines[k]:
            continue
        try:
            _parsed("\n".join([*lines[:k], plain, *lines[k + 1 :]]), name)
        except MalformedContract as error:
            if error.problems[0].position.line <= max(wrong.line, k + 1):
                continue
        column = next(place for place, sign in enumerate(lines[k], 1) if typed(sign) != sign)
        message = f"bad YAML: {look_alike(lines[k])}"
        return _malformed(Position(name, k + 1, column), message, f"write `{plain.strip():.60}`")
    return None


def _parsed(text: str, name: str) -> Source:
    builder = _Builder(name)
    try:
        events = iter(yaml.parse(text, Loader=yaml.CSafeLoader))
        value = builder.document(events)
    except yaml.MarkedYAMLError as error:
        marks = [(mark.line, mark.column) if mark else (0, 0) for mark in (error.problem_mark, error.context_mark)]
        (line, column), message, hint = _mistake(text, error.problem or "", error.context or "", *marks)
        raise _malformed(Position(name, line + 1, column + 1), f"bad YAML: {message}", hint) from error
    except yaml.reader.ReaderError as error:
        before = text.encode("utf-8")[: error.position].decode("utf-8", "ignore")
        hint = 'in a text in quotes, write it as an escape: "\\0", "\\x07"'
        raise _malformed(_end_of(before, name), f"bad YAML: {error.reason}", hint) from error
    return Source(name, value, builder.values, builder.keys, text)


def _no_value(key: str) -> tuple[str, str]:
    """The message and the fix for a key without a value, which may be the second half of a type with a comma."""
    if key.endswith(">"):
        hint = f'put a type that has a comma in quotes, as in "map<string, {key}"'
        return f"no colon and no value after `{key}`", hint
    return "a key without a value", 'write the value, or "" for empty text, [] for an empty list, {} for an empty map'


def _end_of(text: str, name: str) -> Position:
    return Position(name, text.count("\n") + 1, len(text) - text.rfind("\n"))


def _malformed(position: Position, message: str, hint: str = "") -> MalformedContract:
    return MalformedContract([Problem(position, "C001", message, hint)])


class _Builder:
    def __init__(self, name: str) -> None:
        self.name = name
        self.values: dict[ValuePath, Position] = {}
        self.keys: dict[ValuePath, Position] = {}

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

    def node(self, event: Any, events: Iterator[Any], path: ValuePath) -> Any:
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
            return self.scalar(event, position, path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(events, path)
        return self.mapping(events, path)

    def scalar(self, event: Any, position: Position, path: ValuePath) -> Any:
        text: str = event.value
        if event.style:
            return text
        if text == "":
            raise _malformed(position, *_no_value(str(path[-1]) if path else ""))
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
            if math.isinf(number := float(text)):
                hint = "write the 16 hex digits of what is meant, 7ff0000000000000 for infinity, or quote what is text"
                raise _malformed(position, f"{text:.40} is more than the largest float64", hint)
            return number
        return text

    def sequence(self, events: Iterator[Any], path: ValuePath) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self.node(event, events, (*path, len(items))))
        return items

    def mapping(self, events: Iterator[Any], path: ValuePath) -> dict[str, Any]:
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


# -- explanations of the YAML parser's errors: the mistake is often above the reported place

_Mark = tuple[int, int]  # line and column from 0
_QUOTE: Final = "put text with ': ', '#', ',', '{' or '[' in it in quotes"


def _mistake(text: str, problem: str, context: str, at: _Mark, began: _Mark) -> tuple[_Mark, str, str]:
    """The place, message and hint for an error at `at` inside the value that starts at `began`."""
    lines = text.splitlines()
    row = _row(lines, at[0])
    if (conflict := next((k for k, line in enumerate(lines) if line.startswith("<<<<<<< ")), None)) is not None:
        hint = "keep one side, and remove the lines <<<<<<<, ======= and >>>>>>>"
        return (conflict, 0), "a merge conflict begins here", hint
    if tab := _tab(lines, at):
        return tab, "a tab, and YAML is indented with spaces", "replace the tab by spaces"
    if "escape" in problem:
        return at, "an escape that YAML does not know", "write \\\\ for a backslash, or put the text in single quotes"
    if "quoted scalar" in context:
        quote = _row(lines, began[0])[began[1] : began[1] + 1]
        return began, "this quote is never closed", f"add {quote} after the text"
    if opened := _open_quote(lines, at):
        return opened, "this quote is never closed", f"add {_row(lines, opened[0])[opened[1]]} after the text"
    if "':'" in problem:
        return _without_colon(lines, at, began)
    if mark := re.search(r": (!)", row[: at[1]]):
        return (at[0], mark.start(1)), "text cannot begin with '!' here", 'put the text in quotes: "..."'
    if "cannot start any token" in problem:
        letter = row[at[1] : at[1] + 1]
        return at, f"text cannot begin with {letter!r} here", 'put the text in quotes: "..."'
    if (typed := re.search(r"\b(list|map)\[(\w+)\]", row)) and typed.end(1) == at[1]:
        return (at[0], typed.start()), f"'[' inside {typed[1]}[{typed[2]}]", f"write {typed[1]}<{typed[2]}>"
    if "flow" in context:
        begins = f"in what begins at line {began[0] + 1}, column {began[1] + 1}"
        message = f"{problem.replace('did not find expected', 'expected')} {begins}"
        return at, message, f"close the bracket or the quote, or {_QUOTE}"
    if "mapping values are not allowed" in problem:
        if row[: at[1]].count(": ") or re.match(r"\s*(- )?[\w-]+: ", row[: at[1]]):
            return at, "a second ': ' in one line", 'put the text in quotes: "..."'
        return at, "a key where the value of the line above goes on", "indent it like the key above"
    if "expected key" in problem or "block end" in problem or "'-' indicator" in problem:
        return _indented(lines, at, began)
    if "tag" in context and "tag" not in problem:
        return began, "text cannot begin with '!' here", 'put the text in quotes: "..."'
    return at, problem or "the text is not YAML", f"{_QUOTE}; indent with spaces"


def _row(lines: list[str], number: int) -> str:
    return lines[number] if 0 <= number < len(lines) else ""


def _tab(lines: list[str], at: _Mark) -> _Mark | None:
    """The first tab in the indentation of the reported line or of the one above."""
    for number in (at[0], at[0] - 1):
        row = _row(lines, number)
        if "\t" in row[: len(row) - len(row.lstrip())]:
            return number, row.index("\t")
    return None


def _open_quote(lines: list[str], at: _Mark) -> _Mark | None:
    """The quote of a line above that the quote right before the reported place has closed."""
    quote = _row(lines, at[0])[: at[1]][-1:]
    if quote not in ("'", '"') or _row(lines, at[0])[: at[1]].count(quote) % 2 == 0:
        return None
    odd = [number for number in range(at[0]) if _row(lines, number).count(quote) % 2]
    return (odd[-1], _row(lines, odd[-1]).rindex(quote)) if odd else None


def _without_colon(lines: list[str], at: _Mark, began: _Mark) -> tuple[_Mark, str, str]:
    """The place, message and hint for a line that has a key without `: `."""
    row = _row(lines, began[0])[began[1] :]
    key = re.match(r"([\w-]+):?\s*(.*)", row)
    if key is None:
        return at, "no ': ' after a key", "write `key: value`"
    if len(key[2].split()) > 2 and not row.startswith(f"{key[1]}:"):
        return began, f"no ': ' after {key[1]!r}", "indent the line if it continues the text of the line above"
    message = "no space after the ':'" if row.startswith(f"{key[1]}:") else f"no ': ' after {key[1]!r}"
    return began, message, f"write `{key[1]}: {key[2]}`".replace(": `", ":`")


def _indented(lines: list[str], at: _Mark, began: _Mark) -> tuple[_Mark, str, str]:
    """The place, message and hint for a line whose indentation fits neither its map nor a map around it."""
    row = _row(lines, at[0])
    if re.match(r"\s*[\"']", row[: at[1]][-2:]) or (row[: at[1]].strip() and not row[: at[1]].strip().endswith("-")):
        return at, f"{row[at[1] :].strip()!r:.40} follows a value that has ended", 'put the whole text in quotes: "..."'
    if at[1] == began[1]:  # one of them is an entry of a list
        hint = "every entry of a list begins with `- `, and no key of a map"
        if row[at[1] : at[1] + 1] == "-":
            return at, f"an entry of a list among the keys of the map at line {began[0] + 1}", hint
        return at, f"a key among the entries of the list at line {began[0] + 1}", hint
    message = f"this line begins in column {at[1] + 1}, and its map at line {began[0] + 1} in column {began[1] + 1}"
    return at, message, f"indent it with {began[1]} spaces, like the lines that it belongs to"
