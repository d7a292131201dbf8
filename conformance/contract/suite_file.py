"""Finds the suite of a command and reads its `tally.toml` with positions; no path in the file may leave the suite."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from conformance.contract.suggest import close_to, sign_named
from conformance.contract.suite import FILE, MutantLauncher, Setting, Suite
from conformance.contract.yaml.source import MalformedContract, Position, Problem

_LIST: Final = "a list of texts"
_TEXTS: Final = "texts"
_REPORTS: Final = "reports"  # NAME or NAME=PATH
# The keys of each table. The values of [run] are defaults of the options of `tally run`, which checks them.
KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "suite": {"name": "text", "spec": "path", "vectors": "path", "reports": "path", "laws": _LIST, "generators": _LIST},
    "backends": {},
    "derive": {"reference": "text", "confirm": _LIST},
    "mutants": {"command": "text", "folder": "path", "build": "text", "seconds": "number", "traced": "text"},
    "sandbox": {"show": "paths", "hide": "paths", "programs": _LIST},
    "commands": {},
    "run": {
        "backend": _TEXTS,
        "profile": "text",
        "wire": "text",
        "select": _TEXTS,
        "exitfirst": "true or false",
        "maxfail": "whole number",
        "last-failed": "true or false",
        "jobs": "whole number",
        "timeout": "number",
        "require": _TEXTS,
        "expected-failures": "path",
        "sandbox": "text",
        "sandbox-read": "paths",
        "crash": "true or false",
        "same-process": "true or false",
        "fuzz-examples": "whole number",
        "seed": "text",
        "shuffle": "text",
        "output": "path",
        "format": _REPORTS,
        "show": "whole number",
        "quiet": "true or false",
        "verbose": "true or false",
        "durations": "whole number",
    },
}
# Options that make `tally run` do something else: a suite cannot turn a verdict off.
_NO_DEFAULTS: Final = ("list", "update-expected", "reason", "issue", "suite")
_FITS: Final[Mapping[str, Any]] = {
    "text": lambda value: isinstance(value, str),
    "path": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf,
    "whole number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "true or false": lambda value: isinstance(value, bool),
    _LIST: lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "paths": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    _TEXTS: lambda value: isinstance(value, str) or _FITS[_LIST](value),
    _REPORTS: lambda value: _FITS[_TEXTS](value),
}
_WORDS: Final = {
    "text": "a text",
    "number": "a number above 0",
    "whole number": "a whole number",
    "path": "a path below this file, as text",
    "paths": "a list of paths below this file",
    _TEXTS: "a text or a list of texts",
    _REPORTS: "a text or a list of texts",
}
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")
_NAME: Final = re.compile(r"[A-Za-z][\w.-]*\Z")


def read_suite(root: Path) -> Suite:
    """The suite of a folder with a `tally.toml`; raises MalformedContract with all mistakes in the file."""
    import tomllib  # 10 ms

    root = root.resolve()
    file = root / FILE
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        message = f"the file cannot be read: {error.strerror}"
        hint = f"name a folder with a {FILE}; `tally init DIR` makes one"
        raise MalformedContract([Problem(Position(str(file), 1, 1), "C018", message, hint)]) from None
    except UnicodeDecodeError:
        raise MalformedContract([Problem(Position(str(file), 1, 1), "C018", "the file is not UTF-8")]) from None
    try:
        body = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        said = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error), re.DOTALL)
        lines = text.count("\n") + 1
        message, line, column = (said[1], int(said[2]), int(said[3])) if said else (str(error), lines, 1)
        message = re.sub(r" \(at end of document\)\Z", "", message)
        place = Position(str(file), line, column)
        hint = 'put text in quotes: KEY = "text"' if message == "Invalid value" else "see docs/suites.md"
        there = text.split("\n")[line - 1][column - 1 : column]
        hint = (sign_named(there) if there and not there.isascii() else "") or hint
        raise MalformedContract([Problem(place, "C018", f"not TOML: {message}", hint)]) from None
    reading = _Reading(root, text, body)
    suite = reading.suite()
    if reading.problems:
        raise MalformedContract(reading.problems)
    return suite


class _Reading:
    """Reads the tables of one file; `problems` lists their mistakes."""

    def __init__(self, root: Path, text: str, body: Mapping[str, Any]) -> None:
        self.root, self.lines, self.problems = root, text.splitlines(), list[Problem]()
        self.body = {name: table for name, table in body.items() if self._is_table(name, table)}

    def suite(self) -> Suite:
        """The suite that the tables describe, as far as they are well formed."""
        own, derive, ways = (self._table(name) for name in ("suite", "derive", "mutants"))
        names = ("spec", "vectors", "reports")
        folders = [str(own.get(name, name)) for name in names]
        for name, folder in zip(names, folders, strict=True):
            if self._contained("suite", name, folder, needed=name == "spec"):
                self._links(self.root / folder)
        suite = Suite(
            self.root,
            own.get("name", self.root.name),
            (folders[0], folders[1], folders[2]),
            self._backends(),
            derive.get("reference", ""),
            tuple(derive["confirm"]) if "confirm" in derive else None,
            self._modules("laws", own),
            self._modules("generators", own),
            MutantLauncher(**ways),
            {name: tuple(places) for name, places in self._table("sandbox").items()},
            self._run(),
        )
        self._consistent(suite)
        self._commands()
        return suite

    def _is_table(self, name: str, table: Any) -> bool:
        if name not in KEYS:
            self._add(name, "", f"unknown table [{name}]", _hint(name, KEYS))
        elif not isinstance(table, dict):
            self._add(name, "", f"{name} must be a table", f"write [{name}] and its keys below it")
        return name in KEYS and isinstance(table, dict)

    def _table(self, name: str) -> dict[str, Any]:
        """The values of a table that are of the right type."""
        found: dict[str, Any] = {}
        for key, value in self.body.get(name, {}).items():
            kind = KEYS[name].get(key)
            if name == "run" and key in _NO_DEFAULTS:
                self._add(name, key, f"--{key} has no default", "give it on the command line")
            elif kind is None:
                self._add(name, key, f"unknown key {key!r} in [{name}]", _hint(key, KEYS[name]))
            elif not _FITS[kind](value):
                listed = isinstance(value, str) and _FITS[kind]([value])
                hint = f'write {key} = ["{value}"]' if listed else "see docs/suites.md"
                self._add(name, key, f"{key} is {value!r:.60}, not {_WORDS.get(kind, kind)}", hint)
            elif name != "suite" and kind in ("path", "paths"):
                places = [value] if kind == "path" else value
                # The installed copy of the bundled suite has the reference elsewhere; its command finds it there.
                needed = key == "folder" and self.root != _INSTALLED
                inside = [self._contained(name, key, place, needed) for place in places]
                if all(inside):
                    found[key] = value
            else:
                found[key] = value
        return found

    def _backends(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, command in self.body.get("backends", {}).items():
            if not isinstance(command, str) or not command.strip():
                self._add("backends", name, f"the backend {name!r} has no command", 'write NAME = "command"')
            elif not _NAME.match(name):
                hint = "use letters, digits, `_`, `.` and `-`, a letter first"
                self._add("backends", name, f"{name!r} cannot name a backend", hint)
            else:
                found[name] = command
        return found

    def _modules(self, key: str, own: Mapping[str, Any]) -> tuple[str, ...]:
        for name in own.get(key, ()):
            if not _MODULE.match(name):
                hint = 'write modules as Python imports them: "package.module"'
                self._add("suite", key, f"{name!r} is no module", hint)
        return tuple(own.get(key, ()))

    def _commands(self) -> None:
        """Add a problem for each command that `tally` cannot offer; it offers commands of the bundled suite only."""
        for name, told in self.body.get("commands", {}).items():
            module, colon, says = told.partition(": ") if isinstance(told, str) else ("", "", "")
            if not (_MODULE.match(module) and colon and says and _NAME.match(name)):
                hint = 'write NAME = "package.module: what the command does"'
                self._add("commands", name, f"the command {name!r} has no module or no sentence", hint)

    def _run(self) -> dict[str, Setting]:
        found: dict[str, Setting] = {}
        for key, value in self._table("run").items():
            kind = KEYS["run"][key]
            if kind in (_TEXTS, _REPORTS) and isinstance(value, str):
                value = [value]
            if kind == "path":
                value = str(self.root / value)
            elif kind == "paths":
                value = [str(self.root / place) for place in value]
            elif kind == _REPORTS:
                value = [self._report(one) for one in value]
            found[key] = Setting(value, self._place("run", key))
        return found

    def _report(self, value: str) -> str:
        """NAME=PATH with the path below the suite; NAME alone, and NAME=- for stdout, do not change."""
        name, equals, path = value.partition("=")
        if not path or path == "-" or not self._contained("run", "format", path):
            return value
        return f"{name}{equals}{self.root / path}"

    def _consistent(self, suite: Suite) -> None:
        known = ", ".join(suite.backends) or "none"
        for key, names in (("reference", [suite.reference]), ("confirm", suite.confirm or ())):
            for name in filter(None, names):
                if name not in self.body.get("backends", {}):
                    hint = _hint(name, suite.backends) or f"the names of [backends] are {known}"
                    self._add("derive", key, f"there is no backend {name!r}", hint)
        if suite.backends and not suite.reference:
            self._add("derive", "", "no backend is the reference", "write `reference = NAME` in [derive]")
        if suite.mutants.command and "{id}" not in suite.mutants.command:
            self._add("mutants", "command", "the command does not say where the mutant's id goes", "write {id} in it")
        for key in ("build", "command", "traced"):
            try:
                shlex.split(getattr(suite.mutants, key))
            except ValueError as error:
                self._add("mutants", key, f"the command cannot be split: {error}", "close every quote")
        if suite.mutants.command and suite.mutants.build:
            self._add("mutants", "build", "nothing is copied, so nothing is built", "remove `build` or `command`")

    def _contained(self, table: str, key: str, value: str, needed: bool = False) -> bool:
        """Whether a path stays inside the suite; adds a problem if it does not, or if a `needed` path is missing."""
        path = self.root / value
        if "\0" in value or not _resolved(path).is_relative_to(self.root):
            self._add(table, key, f"{value!r} leaves the suite", "name a path below the folder of this file")
            return False
        if needed and not path.is_dir():
            self._add(table, key, f"there is no folder {value!r}", "make it, or name another folder")
            return False
        return True

    def _links(self, folder: Path) -> None:
        """Add a problem for each link below a folder that leads out of the suite."""
        for link in _links_below(folder):
            if not (target := _resolved(link)).is_relative_to(self.root):
                place = Position(str(link), 1, 1)
                hint = "copy the file into the suite"
                self.problems.append(Problem(place, "C018", f"the link leaves the suite, to {target}", hint))

    def _add(self, table: str, key: str, message: str, hint: str) -> None:
        self.problems.append(Problem(self._place(table, key), "C018", message, hint))

    def _place(self, table: str, key: str) -> Position:
        return _key_place(self.root / FILE, self.lines, table, key)


def _key_place(file: Path, lines: Sequence[str], table: str, key: str) -> Position:
    """The position of a key; of its table if the key is not found; else the start of the file."""
    here, found = "", (1, 1)
    for number, line in enumerate(lines, start=1):
        if header := re.match(r"\s*\[+\s*([\w\"'. -]+?)\s*\]", line):
            here = header[1].strip("\"'")
            if here == table:
                found = (number, line.index("[") + 1)
            continue
        named = re.match(r"\s*([\"']?)([\w.-]+)\1\s*[=.]", line)
        if named and ((here, named[2]) == (table, key) or (not here and named[2].split(".")[0] == table)):
            return Position(str(file), number, named.start(2) + 1)
    return Position(str(file), *found)


def entry_place(suite: Suite, table: str, key: str, entry: str) -> Position:
    """The position of a text in a list of the suite's file; of its key if it is not found there."""
    lines = suite.file.read_text("utf-8-sig").splitlines()
    place = _key_place(suite.file, lines, table, key)
    for number, line in enumerate(lines[place.line - 1 :], start=place.line):
        if found := re.search(rf"[\"']{re.escape(entry)}[\"']", line):
            return Position(place.file, number, found.start() + 1)
        if "]" in line:
            break
    return place


def _resolved(path: Path) -> Path:
    """The target of a path; a link that leads to itself stays, and reading it fails later."""
    return Path(os.path.realpath(path))


def _links_below(folder: Path) -> Iterator[Path]:
    """The symbolic links in a folder; os.scandir finds them without a system call for each file."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            yield Path(entry.path)
        elif entry.is_dir():
            yield from _links_below(Path(entry.path))


def _hint(word: str, known: Mapping[str, Any]) -> str:
    close = close_to(word, list(known), 0.5, 1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}" if known else ""


_PACKAGE: Final = Path(__file__).resolve().parents[1]
_CHECKOUT: Final = _PACKAGE.parent
_INSTALLED: Final = _PACKAGE / "_data"  # the bundled suite in an installation


@lru_cache(1)
def bundled_suite() -> Suite:
    """The suite that belongs to this installation: a checkout wins over packaged data (DESIGN 3)."""
    if (_CHECKOUT / "spec" / "contracts.lock").is_file() and (_CHECKOUT / "conformance").is_dir():
        return read_suite(_CHECKOUT)
    return read_suite(_INSTALLED)


def find_suite(named: str, here: Path) -> Suite:
    """The suite that a command works on: the folder that is named, else the first above `here`, else the bundled one.

    The search ends at the root of a repository, below the user's home, and below a folder of another owner, so that
    no settings of somebody else are used by surprise. Raises MalformedContract.
    """
    if named:
        return read_suite(Path(named))
    home = os.environ.get("HOME", "")
    for folder in (here, *here.parents):
        file = folder / FILE
        if str(folder) == home or not is_own(folder):
            break
        if os.path.lexists(file) and (is_own(file) or not file.exists()):  # a broken link too: read_suite tells of it
            return read_suite(folder)
        if os.path.lexists(folder / ".git"):
            break
    return bundled_suite()


def is_own(place: Path) -> bool:
    """Whether a path exists and belongs to the user; on a system without owners (Windows) every path does."""
    try:
        owner = place.stat().st_uid
    except OSError:
        return False
    return not hasattr(os, "getuid") or owner == os.getuid()


def schema_folder(suite: Suite) -> Path:
    """The JSON Schemas that the files of a suite are checked against: those of the harness, unless it has its own."""
    own = suite.spec / "schema"
    return own if own.is_dir() else bundled_suite().spec / "schema"
