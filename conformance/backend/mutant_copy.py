"""A mutant of a suite's reference: a copy of the reference's folder with the patches of the mutant applied."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from conformance.backend.guardian import guardian
from conformance.contract.family import Mutant
from conformance.contract.library import Library, load_library
from conformance.contract.suggest import close_to
from conformance.contract.suite import Suite

_NOT_APPLIED, _NOT_BUILT = 3, 1  # exit statuses of a mutant that cannot run; it says why on stderr
_SKIPPED: Final = ("__pycache__", ".git", "node_modules")
_LAST_LINES: Final = 3


class UnusableMutant(Exception):
    """A mutant that cannot run: a patch does not apply, or the patched copy cannot be built."""

    def __init__(self, reason: str, status: int = _NOT_APPLIED) -> None:
        super().__init__(reason)
        self.status = status


def mutant_copy(suite: Suite, id_: str) -> Path:
    """The folder in which the reference's command starts the mutant; it is removed with the process of the harness.

    The copy has the suite's `[mutants] folder` at the same path; it is made once, and kept until `drop_copy`.
    Raises UnusableMutant.
    """
    mutant = load_library(suite).mutants.get(id_)
    if mutant is None:
        raise UnusableMutant(f"there is no mutant {id_!r}")
    place = _place(suite, id_)
    if place.is_dir():
        return place
    copy = Path(tempfile.mkdtemp(prefix="making-", dir=place.parent))
    folder = copy / suite.mutants.folder
    private = {suite.spec, suite.vectors, suite.reports}

    def skipped(place: str, names: list[str]) -> set[str]:
        return {name for name in names if name in _SKIPPED or Path(place, name) in private}

    try:
        shutil.copytree(suite.root / suite.mutants.folder, folder, ignore=skipped, dirs_exist_ok=True, symlinks=True)
    except shutil.Error as error:  # it lists every file that could not be copied
        source, _, reason = error.args[0][0]
        raise UnusableMutant(f"{source} cannot be copied: {reason}") from None
    for file, content in patched(mutant, folder).items():
        file.write_bytes(content)
    if suite.mutants.build:
        _build(suite, copy)
    with suppress(OSError):  # another thread was faster
        copy.rename(place)
    return place


def drop_copy(suite: Suite, id_: str) -> None:
    """Remove the copy of a mutant, if there is one: hundreds of them would fill a disk."""
    if suite.mutants.copies:
        shutil.rmtree(_place(suite, id_), ignore_errors=True)


def _place(suite: Suite, id_: str) -> Path:
    named = hashlib.sha256(f"{suite.root}\n{id_}".encode()).hexdigest()[:16]
    return guardian().folder(tempfile.gettempdir(), "copies") / f"mutant-{named}"


def copy_digest(suite: Suite, id_: str) -> str:
    """The SHA-256, in hex, of every file of a mutant's copy; empty if there is no copy."""
    try:
        copy = mutant_copy(suite, id_)
    except UnusableMutant:
        return ""
    total = hashlib.sha256()
    for file in sorted(one for one in copy.rglob("*") if one.is_file() and "__pycache__" not in one.parts):
        content = file.read_bytes()
        total.update(f"{file.relative_to(copy).as_posix()} {len(content)} ".encode() + content)
    return total.hexdigest()


def patched(mutant: Mutant, folder: Path) -> dict[Path, bytes]:
    """The content of the files of the reference that a mutant changes; raises UnusableMutant."""
    made: dict[Path, bytes] = {}
    for patch in mutant.patches:
        file = folder / patch.file
        if not file.resolve().is_relative_to(folder.resolve()) or not file.is_file():
            there = [one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()]
            near = "".join(f"; did you mean {name}?" for name in close_to(patch.file, there, 0.6, 1))
            raise UnusableMutant(f"{patch.file}: there is no such file in the folder of the reference{near}")
        # As bytes, so that the ends of lines stay as they are.
        content, find = made[file] if file in made else file.read_bytes(), patch.find.encode()
        if (count := content.count(find)) != 1:
            raise UnusableMutant(f"{patch.file}: the text to replace is there {count} times, not once: {patch.find!r}")
        if patch.find == patch.replace:
            raise UnusableMutant(f"{patch.file}: `replace` is the same text as `find`: {patch.find!r}")
        made[file] = content.replace(find, patch.replace.encode())
    return made


def patched_files(library: Library) -> list[str]:
    """The files of the suite that its mutants change, if the mutants are patches of a folder."""
    folder = library.suite.mutants.folder
    return sorted({f"{folder}/{one.file}" for mutant in library.mutants.values() for one in mutant.patches if folder})


def unusable_mutants(library: Library) -> dict[str, str]:
    """The mutants whose patches do not apply to the folder of the reference, each with the reason.

    The installed copy of the bundled suite has no such folder, so none is tried there.
    """
    folder, found = library.suite.root / library.suite.mutants.folder, {}
    for id_, mutant in library.mutants.items() if library.suite.mutants.folder and folder.is_dir() else ():
        try:
            patched(mutant, folder)
        except UnusableMutant as error:
            found[id_] = str(error)
        except OSError as error:
            found[id_] = f"{error.filename}: {error.strerror}"
    return found


def _build(suite: Suite, copy: Path) -> None:
    words = shlex.split(suite.mutants.build)
    words[0] = sys.executable if words[0] == "python" else words[0]
    try:
        done = subprocess.run(
            words,
            cwd=copy,
            env=guardian().marked(dict(os.environ)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=suite.mutants.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnusableMutant(f"building took more than {suite.mutants.seconds:g} seconds", _NOT_BUILT) from None
    except OSError as error:
        raise UnusableMutant(f"it cannot be built: {words[0]!r}: {error.strerror}", _NOT_BUILT) from None
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-_LAST_LINES:]
        raise UnusableMutant(f"it cannot be built: {' / '.join(said) or f'status {done.returncode}'}", _NOT_BUILT)
