"""One file of the specification, read from its text or from the cache; contracts are made when asked for."""

from __future__ import annotations

import hashlib
import os
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as FilePath
from threading import RLock
from typing import Any, Final, TypeVar

from conformance.contract.finder import Layout, Snapshot
from conformance.contract.memo import NOTHING, Memo, digest_of_files, digest_of_texts
from conformance.contract.shorthand import SHARED, companion_of, joined
from conformance.contract.source import MalformedContract, Path, Position, Problem, Source, parse, read

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


V = TypeVar("V")


class Shelf(Mapping[str, V]):
    """Values by name; `notes` say of each what can be known without it, `digest` what all were made from."""

    def __init__(self, notes: Mapping[str, Any], make: Callable[[str], V], digest: str = "") -> None:
        self.notes: Final = notes
        self.digest: Final = digest
        self._make = make
        self._made: dict[str, V] = {}
        self._lock = RLock()  # one value may need another

    def __getitem__(self, name: str) -> V:
        if name not in self._made:
            with self._lock:
                if name not in self._made:
                    if name not in self.notes:
                        raise KeyError(name)
                    self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self.notes

    def __iter__(self) -> Iterator[str]:
        return iter(self.notes)

    def __len__(self) -> int:
        return len(self.notes)

    def __repr__(self) -> str:
        return f"Shelf({', '.join(self.notes)})"


class Later(Mapping[str, V]):
    """A mapping that is made as a whole when it is first looked at."""

    def __init__(self, make: Callable[[], Mapping[str, V]]) -> None:
        self._make = make
        self._made: Mapping[str, V] | None = None
        self._lock = RLock()

    def _all(self) -> Mapping[str, V]:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def __getitem__(self, name: str) -> V:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def digest_of_shelf(values: Mapping[str, Any]) -> str:
    """What values were made from, where they came straight from files; nothing for any other mapping."""
    return values.digest if isinstance(values, Shelf) else ""


class Reader:
    """Reads the files of a specification as they were when it began; `problems` is what was wrong with them."""

    def __init__(self, layout: Layout, snapshot: Snapshot, memo: Memo) -> None:
        self.layout, self.snapshot, self.memo = layout, snapshot, memo
        self.problems: list[Problem] = []
        self._schemas = digest_of_files(snapshot.below("schema"))

    def checked(self, file: FilePath, schema: str) -> Source | None:
        """The parsed file if it exists and fits its schema; problems are noted, not raised."""
        if not os.path.lexists(file):
            return None
        beside = (companion_of(file), file.with_name(SHARED)) if schema == "contract" else ()
        files = [file, *(one for one in beside if one.exists())]
        made_from = self._digest(schema, files)
        plain = self.memo.get("source", made_from)
        if plain is not NOTHING:
            text = "".join(self.snapshot[one].decode("utf-8") for one in files if one.name != SHARED)
            return unpacked(plain, self.layout.shown(file), text)
        source = self._fit(schema, files)
        if source is not None and made_from:
            self.memo.put("source", made_from, packed(source))
        return source

    def _digest(self, schema: str, files: list[FilePath]) -> str:
        """What the source of these files is made from; empty where they are not in the snapshot."""
        if not all(one in self.snapshot for one in files):
            return ""
        contents = [hashlib.sha256(self.snapshot[one]).hexdigest() for one in files]
        return digest_of_texts((self._schemas, schema, *map(self.layout.shown, files), *contents))

    def _fit(self, schema: str, files: list[FilePath]) -> Source | None:
        try:
            source, *others = map(self._parsed, files)
            if schema == "contract":
                # Imported here, and the schemas below: what is known already needs neither.
                from conformance.contract.shorthand import with_shared, written_out

                for one, file in zip(others, files[1:], strict=True):
                    source = with_shared(source, one) if file.name == SHARED else joined(source, one)
                source = written_out(source)
        except MalformedContract as error:
            self.problems += error.problems
            return None
        if schema == "contract" and isinstance(source.value, dict) and "machine" in source.value:
            schema = "machine"
        from conformance.contract.schema import violations

        found = list(violations(source, self.layout.spec / "schema" / f"{schema}.schema.json"))
        self.problems += found
        return None if found else source

    def _parsed(self, file: FilePath) -> Source:
        shown = self.layout.shown(file)
        if file in self.snapshot:
            try:
                return parse(self.snapshot[file].decode("utf-8"), shown)
            except UnicodeDecodeError:
                pass
        return read(file, shown)
