"""Reads the YAML files of a specification from their text, or from the cache if they were read before."""

from __future__ import annotations

import hashlib
import os
import sys
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from conformance.contract.cache import MISSING, Cache, digest_of_files, digest_of_texts
from conformance.contract.lazy import DeferredMapping
from conformance.contract.shorthand import written_out
from conformance.contract.suite import Suite
from conformance.contract.suite_file import schema_folder
from conformance.contract.yaml.companions import SHARED, companion_of, joined, with_shared
from conformance.contract.yaml.source import MalformedContract, Position, Problem, Source, ValuePath

YAML: Final = (".yaml", ".yml")
_COLUMNS = 7  # of a row: the parent; file, line and column of the value, then of the key; line 0 if there is none
_Positions = dict[ValuePath, Position]


def packed(source: Source) -> dict[str, Any]:
    """The source as plain data, without its text: its positions are a table with one row for each path."""
    files: dict[str, int] = {}
    rows: dict[ValuePath, int] = {(): 0}
    steps: list[str | int] = [""]
    table = array("I", [0] * _COLUMNS)

    def row(path: ValuePath) -> int:
        """The row of a path, added after the rows of the paths above it."""
        if path not in rows:
            parent = row(path[:-1])
            rows[path] = len(steps)
            steps.append(path[-1])
            table.extend((parent, *[0] * (_COLUMNS - 1)))
        return rows[path]

    for known, first in ((source.values, 1), (source.keys, 4)):
        for path, position in known.items():
            at = row(path) * _COLUMNS + first
            file = files.setdefault(position.file, len(files))
            table[at : at + 3] = array("I", (file, position.line, position.column))
    return {"value": source.value, "files": list(files), "steps": steps, "places": table.tobytes()}


def unpacked(plain: Mapping[str, Any], name: str, text: str) -> Source:
    """The source that was packed; its positions are unpacked when the first one is looked up."""

    @cache
    def positions() -> tuple[_Positions, _Positions]:
        return _positions(plain["files"], plain["steps"], plain["places"])

    values = DeferredMapping[ValuePath, Position](lambda: positions()[0])
    keys = DeferredMapping[ValuePath, Position](lambda: positions()[1])
    return Source(name, plain["value"], values, keys, text)


def _positions(files: list[str], steps: list[str | int], table: bytes) -> tuple[_Positions, _Positions]:
    """The positions of values and of keys, by path."""
    values: _Positions = {}
    keys: _Positions = {}
    paths: list[ValuePath] = []
    numbers = iter(array("I", table))
    for step, *row in zip(steps, *[numbers] * _COLUMNS, strict=True):
        parent, file, line, column, key_file, key_line, key_column = row
        path = (*paths[parent], sys.intern(step) if type(step) is str else step) if paths else ()
        paths.append(path)
        if line:
            values[path] = Position(files[file], line, column)
        if key_line:
            keys[path] = Position(files[key_file], key_line, key_column)
    return values, keys


class Snapshot:
    """The content of every file in a folder and in the folders in it, and of YAML files further below, by path.

    It is empty if any of them cannot be read.

    A command reads the content at its start from here, even if a file changes later.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, bytes] = {}
        try:
            for file in sorted(_files(folder)):
                if not file.is_file():  # reading a pipe would wait
                    raise OSError("no regular file")
                self.files[file.relative_to(folder).as_posix()] = file.read_bytes()
        except OSError:
            self.files = {}
        self.digest = digest_of_files(self.files) if self.files else ""

    def __getitem__(self, file: Path) -> bytes:
        return self.files[file.relative_to(self.folder).as_posix()]

    def __contains__(self, file: object) -> bool:
        return isinstance(file, Path) and file.relative_to(self.folder).as_posix() in self.files

    def below(self, name: str) -> dict[str, bytes]:
        """The files in one folder."""
        return {path: data for path, data in self.files.items() if path.startswith(f"{name}/")}


def _files(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from (inner for inner in entry.iterdir() if not inner.is_dir())
            # Nothing reads them, but the author of a contract there must get a message.
            yield from (one for one in entry.glob("*/**/*") if one.suffix in YAML and one.is_file())
        else:
            yield entry


class Reader:
    """Reads the files of a specification as they were at the start; `problems` lists their mistakes."""

    def __init__(self, suite: Suite, snapshot: Snapshot, cache: Cache) -> None:
        self.suite, self.snapshot, self.cache = suite, snapshot, cache
        self.problems: list[Problem] = []
        own = snapshot.below("schema")
        self._schemas = digest_of_files(own or _read_below(schema_folder(suite)))
        self.digest = snapshot.digest
        if not own and self.digest:  # the schemas are elsewhere
            self.digest = digest_of_texts((self.digest, self._schemas))

    def checked(self, file: Path, schema: str) -> Source | None:
        """The parsed file if it exists and fits its schema; problems are added to the list, not raised."""
        if not self._exists(file):
            return None
        beside = (companion_of(file), file.with_name(SHARED)) if schema == "contract" else ()
        files = [file, *(one for one in beside if self._exists(one))]
        key = self._digest(schema, files)
        plain = self.cache.get("source", key)
        if plain is not MISSING:
            text = "".join(self.snapshot[one].decode("utf-8") for one in files if one.name != SHARED)
            return unpacked(plain, self.suite.path_text(file), text)
        source = self._fit(schema, files)
        if source is not None and key:
            self.cache.put("source", key, packed(source))
        return source

    def _exists(self, file: Path) -> bool:
        # A file that was removed after the start of the command is read from the snapshot.
        return file in self.snapshot or os.path.lexists(file)

    def _digest(self, schema: str, files: list[Path]) -> str:
        """The digest of the files and of their schemas; empty if a file is not in the snapshot."""
        if not all(one in self.snapshot for one in files):
            return ""
        contents = [hashlib.sha256(self.snapshot[one]).hexdigest() for one in files]
        return digest_of_texts((self._schemas, schema, *map(self.suite.path_text, files), *contents))

    def _fit(self, schema: str, files: list[Path]) -> Source | None:
        try:
            source, *others = map(self._parsed, files)
            if schema == "contract":
                for one, file in zip(others, files[1:], strict=True):
                    source = with_shared(source, one) if file.name == SHARED else joined(source, one)
                source = written_out(source)
            source = written_page(source, schema)
        except MalformedContract as error:
            self.problems += error.problems
            return None
        if schema == "contract" and isinstance(source.value, dict) and "machine" in source.value:
            schema = "machine"
        # This takes 100 ms, and a file from the cache does not need it.
        from conformance.contract.yaml.schema import violations

        found = list(violations(source, schema_folder(self.suite) / f"{schema}.schema.json"))
        self.problems += found
        return None if found else source

    def _parsed(self, file: Path) -> Source:
        # The parser takes 15 ms to import, and a file from the cache does not need it.
        from conformance.contract.yaml.parser import parse, read

        shown = self.suite.path_text(file)
        if file in self.snapshot:
            try:
                return parse(self.snapshot[file].decode("utf-8"), shown)
            except UnicodeDecodeError:
                pass
        return read(file, shown)


def _read_below(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


# -- short forms of requirements.yaml and mutants.yaml, written out

_DOCUMENTS: Final = ("test", "bench", "lint")  # kinds of checks that belong to no operator


def written_page(source: Source, kind: str) -> Source:
    """The page of a family as one list of rows that inherit nothing; raises MalformedContract."""
    if kind == "requirements" and _has_rows(source, kind):
        return _with_checks(source)
    if kind == "mutants" and _has_rows(source, kind):
        return _without_groups(source)
    return source


def _has_rows(source: Source, key: str) -> bool:
    # The schema reports a page without rows.
    return isinstance(source.value, dict) and isinstance(source.value.get(key), list)


# -- checks: {OPERATOR: {guard: [id]}, test: {FILE: [name]}, lint: [CODE]}


def _with_checks(source: Source) -> Source:
    values = dict(source.values)
    rows: list[Any] = []
    for k, row in enumerate(source.value["requirements"]):
        at: ValuePath = ("requirements", k, "checks")
        if isinstance(row, dict) and isinstance(row.get("checks"), dict):
            checks = list(_checks(source, row["checks"], at))
            values |= {(*at, n): source.at(place) for n, (_, place) in enumerate(checks)}
            row = {**row, "checks": [text for text, _ in checks]}
        rows.append(row)
    return replace(source, value={**source.value, "requirements": rows}, values=values)


def _checks(source: Source, grouped: Mapping[str, Any], at: ValuePath) -> Iterator[tuple[str, ValuePath]]:
    """Every check string of a row, and the place of its name."""
    for key, inner in grouped.items():
        if key == "lint":
            yield from ((f"lint:{name}", place) for name, place in _names_below(source, inner, (*at, key)))
            continue
        if not isinstance(inner, dict):
            form = f"{{{key}: {{FILE: [name]}}}}" if key in _DOCUMENTS else f"{{{key}: {{guard: [id]}}}}"
            raise source.malformed((*at, key), "C018", f"checks: expected a map below {key}", form)
        for second, some in inner.items():
            kind, target = (key, second) if key in _DOCUMENTS else (second, key)
            mark = "::" if kind in ("group", "test") else "#"
            for name, place in _names_below(source, some, (*at, key, second)):
                yield f"{kind}:{target}{mark}{name}", place


def _names_below(source: Source, names: Any, at: ValuePath) -> Iterator[tuple[str, ValuePath]]:
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise source.malformed(at, "C018", f"checks: expected a list of names below {at[-1]}")
    yield from ((name, (*at, k)) for k, name in enumerate(names))


# -- mutants: [{file: FILE, mutants: [{id, sentence, find, replace}]}]


def _without_groups(source: Source) -> Source:
    found = list(_single_mutants(source))
    values = {path: place for path, place in source.values.items() if path[:1] != ("mutants",)}
    keys = {path: place for path, place in source.keys.items() if path[:1] != ("mutants",)}
    values[("mutants",)], keys[("mutants",)] = source.at(("mutants",)), source.key_at(("mutants",))
    moved = {at: ("mutants", k) for k, (_, at) in enumerate(found)}
    for known, places in ((source.values, values), (source.keys, keys)):
        for path, place in known.items():
            if path[:4] in moved or path[:2] in moved:
                size = 4 if path[:4] in moved else 2
                places[(*moved[path[:size]], *path[size:])] = place
    return replace(source, value={**source.value, "mutants": [body for body, _ in found]}, values=values, keys=keys)


def _single_mutants(source: Source) -> Iterator[tuple[Any, ValuePath]]:
    """Every mutant with the file of its group, and its place in the YAML."""
    for k, entry in enumerate(source.value["mutants"]):
        at: ValuePath = ("mutants", k)
        if not isinstance(entry, dict) or "mutants" not in entry:
            yield _with_patch(entry, ""), at
            continue
        file = entry.get("file")
        if entry.keys() != {"file", "mutants"} or not isinstance(file, str) or not isinstance(entry["mutants"], list):
            message, hint = "expected a group of mutants in one file", "{file: FILE, mutants: [...]}"
            raise source.malformed(at, "C018", message, hint)
        for n, one in enumerate(entry["mutants"]):
            yield _with_patch(one, file), (*at, "mutants", n)


def _with_patch(entry: Any, file: str) -> Any:
    """A mutant whose patches name their file; `find` and `replace` beside the id become its only patch."""
    if not isinstance(entry, dict):
        return entry
    entry = dict(entry)
    if "patch" not in entry and "find" in entry:
        patch = {key: entry.pop(key) for key in ("file", "find", "replace") if key in entry}
        return {**entry, "patch": {"file": file, **patch} if file else patch}
    if file and isinstance(entry.get("patches"), list):
        entry["patches"] = [{"file": file, **patch} if isinstance(patch, dict) else patch for patch in entry["patches"]]
    return entry
