"""Which suite a command works on, and the files of a folder at one moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from conformance.contract.cache import digest_of_files
from conformance.contract.suite import FILE, Suite
from conformance.contract.suite_file import read_suite


class Snapshot:
    """The content of every file in a folder and in the folders in it, by path; empty where one cannot be read.

    A command reads from here what was there when it began, even if a file changes meanwhile.
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
        else:
            yield entry


_PACKAGE: Final = Path(__file__).resolve().parents[1]
_CHECKOUT: Final = _PACKAGE.parent


@lru_cache(1)
def bundled_suite() -> Suite:
    """The suite that belongs to this installation: a checkout wins over packaged data (DESIGN 3)."""
    if (_CHECKOUT / "spec" / "contracts.lock").is_file() and (_CHECKOUT / "conformance").is_dir():
        return read_suite(_CHECKOUT)
    return read_suite(_PACKAGE / "_data")


def find_suite(named: str, here: Path) -> Suite:
    """The suite that a command works on: the folder that is named, else the first above `here`, else the bundled one.

    The search ends at the root of a repository, below the user's home, and below a folder of another owner, so that
    no file of somebody else is obeyed unasked. Raises MalformedContract.
    """
    if named:
        return read_suite(Path(named))
    home = os.environ.get("HOME", "")
    for folder in (here, *here.parents):
        file = folder / FILE
        if str(folder) == home or not is_own(folder):
            break
        if file.is_file() and is_own(file):
            return read_suite(folder)
        if os.path.lexists(folder / ".git"):
            break
    return bundled_suite()


def is_own(place: Path) -> bool:
    """Whether a place is there and the user's own; where the system has no owners (Windows) every place is."""
    try:
        owner = place.stat().st_uid
    except OSError:
        return False
    return not hasattr(os, "getuid") or owner == os.getuid()


def schema_folder(suite: Suite) -> Path:
    """The JSON Schemas that the files of a suite are checked against: those of the harness, unless it has its own."""
    own = suite.spec / "schema"
    return own if own.is_dir() else bundled_suite().spec / "schema"
