"""A parsed file as plain data with short positions, and back; positions are unpacked when one is asked for."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.contract.position import Path, Position
from conformance.contract.source import Source

_NUMBERS = 7  # of a place: its parent; file, line and column of its value; the same of its key (line 0: none)


def packed(source: Source) -> dict[str, Any]:
    """The source as plain data, without its text."""
    files: dict[str, int] = {}
    numbers: dict[Path, int] = {(): 0}
    steps: list[str | int] = [""]
    table = array("I", [0] * _NUMBERS)
    for known, first in ((source.values, 1), (source.keys, 4)):
        for path, position in known.items():
            at = _number(path, numbers, steps, table) * _NUMBERS + first
            file = files.setdefault(position.file, len(files))
            table[at : at + 3] = array("I", (file, position.line, position.column))
    return {"value": source.value, "files": list(files), "steps": steps, "places": table.tobytes()}


def _number(path: Path, numbers: dict[Path, int], steps: list[str | int], table: array[int]) -> int:
    """The number of a path, which is given to it and to what is above it where they have none."""
    if path not in numbers:
        parent = _number(path[:-1], numbers, steps, table)
        numbers[path] = len(steps)
        steps.append(path[-1])
        table.extend((parent, *[0] * (_NUMBERS - 1)))
    return numbers[path]


def unpacked(plain: Mapping[str, Any], name: str, text: str) -> Source:
    """The source that was packed."""
    places = _Places(plain["files"], plain["steps"], plain["places"])
    return Source(name, plain["value"], _Half(places, 0), _Half(places, 1), text)


class _Places:
    """The positions of values and of keys, unpacked together."""

    def __init__(self, files: list[str], steps: list[str | int], table: bytes) -> None:
        self._packed = (files, steps, table)
        self._halves: tuple[dict[Path, Position], dict[Path, Position]] | None = None

    def halves(self) -> tuple[dict[Path, Position], dict[Path, Position]]:
        """By path, of values and of keys."""
        if self._halves is None:
            self._halves = self._unpacked()
        return self._halves

    def _unpacked(self) -> tuple[dict[Path, Position], dict[Path, Position]]:
        files, steps, data = self._packed
        table = array("I", data)
        values: dict[Path, Position] = {}
        keys: dict[Path, Position] = {}
        paths: list[Path] = []
        rows = iter(table)
        for step, *row in zip(steps, *[rows] * _NUMBERS, strict=True):
            parent, file, line, column, key_file, key_line, key_column = row
            path = (*paths[parent], sys.intern(step) if type(step) is str else step) if paths else ()
            paths.append(path)
            if line:
                values[path] = Position(files[file], line, column)
            if key_line:
                keys[path] = Position(files[key_file], key_line, key_column)
        return values, keys


class _Half(Mapping[Path, Position]):
    """The positions of the values, or of the keys."""

    def __init__(self, places: _Places, which: int) -> None:
        self._places, self._which = places, which

    def __getitem__(self, path: Path) -> Position:
        return self._places.halves()[self._which][path]

    def __contains__(self, path: object) -> bool:
        return path in self._places.halves()[self._which]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._places.halves()[self._which])

    def __len__(self) -> int:
        return len(self._places.halves()[self._which])

    def items(self) -> Any:
        """Of a dict, which is faster."""
        return self._places.halves()[self._which].items()
