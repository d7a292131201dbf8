"""Whether the command of a backend starts the artifact, judged by its words alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from conformance.backend.module_search import module_places
from conformance.backend.resolve import BackendCommand
from conformance.backend.sandbox import WORKER

UNKNOWN, NAMED, PROGRAM = "not established", "named", "program"
STARTED: Final = (UNKNOWN, NAMED, PROGRAM)  # the surest one last
_WITH_VALUE: Final = ("-W", "-X", "--check-hash-based-pycs")  # options of Python


@dataclass(frozen=True, slots=True)
class Started:
    """What the words of a command say of the artifact: one of STARTED, and the file in it that they name.

    A program that is in the artifact was started. A file that is named was handed to a program, which may ignore it.
    """

    how: str = UNKNOWN
    file: str = ""

    def __str__(self) -> str:
        if self.how == PROGRAM:
            return f"the program that was started is {self.file} in the artifact"
        if self.how == NAMED:
            return f"the command names {self.file} in the artifact"
        return "NOT ESTABLISHED: the command names nothing in the artifact"

    @property
    def annotations(self) -> dict[str, str]:
        """Its form in a certificate."""
        return {"how": self.how, "file": self.file} if self.file else {"how": self.how}


def started_from(annotations: Mapping[str, Any]) -> Started:
    """What a certificate says; nothing where it says nothing."""
    return Started(str(annotations.get("how", UNKNOWN)), str(annotations.get("file", "")))


def started_by(command: BackendCommand, artifact: Path | None) -> Started:
    """What the words of a command say of the artifact; an image has no path."""
    if artifact is None:
        return Started()
    place = artifact.resolve()
    program, *words = command.arguments
    path = shutil.which(program, path=command.environment.get("PATH")) or program
    if (found := _within(Path(path), place)) is not None:
        return Started(PROGRAM, found)
    here = command.folder or Path.cwd()
    files = [*_modules(program, words, command, here), *_paths(words, here)]
    named = next(filter(None, (_within(file, place) for file in files)), None)
    return Started() if named is None else Started(NAMED, named)


def _within(file: Path, artifact: Path) -> str | None:
    """The path of a file or folder in the artifact; the artifact's own name where it is the artifact itself."""
    try:
        real = file.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
    if real == artifact:
        return artifact.name
    return real.relative_to(artifact).as_posix() if real.is_relative_to(artifact) else None


def _paths(words: Sequence[str], here: Path) -> Iterator[Path]:
    """What the arguments may name, the values of options such as `--file=main.js` among them."""
    for word in words:
        option = word.startswith("-")
        value = word.partition("=")[2] if option else word
        if value:
            yield here / value


def _modules(program: str, words: Sequence[str], command: BackendCommand, here: Path) -> Iterator[Path]:
    """The files of the module that `python -m` runs; the worker of the harness imports the one that follows it."""
    if not Path(program).name.startswith("python"):
        return
    places = [*filter(None, command.environment.get("PYTHONPATH", "").split(os.pathsep))]
    given = iter(words)
    for word in given:
        if word == "-m":
            name, rest = next(given, ""), list(given)
            if name == WORKER and rest:
                name = rest[0].partition(":")[0]
                places = module_places(name, places, here)
            elif "-P" not in words:
                places.insert(0, str(here))
            yield from _module(name, places)
            return
        if word in _WITH_VALUE:
            next(given, "")
        elif not word.startswith("-"):
            return


def _module(name: str, places: Sequence[str]) -> Iterator[Path]:
    package, _, rest = name.partition(".")
    spec = PathFinder.find_spec(package, places) if package else None
    if spec is None:
        return
    inner = rest.replace(".", "/")
    files = (f"{inner}.py", f"{inner}/__main__.py", f"{inner}/__init__.py") if rest else ("__main__.py", "__init__.py")
    yield from (Path(place, file) for place in spec.submodule_search_locations or () for file in files)
    if not rest and spec.origin:
        yield Path(spec.origin)
