"""The artifact that a certificate is about, and whether the command of a backend starts it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from conformance.backend.resolve import BackendCommand
from conformance.backend.sandbox import WORKER
from conformance.backend.session import module_places

_IMAGE: Final = re.compile(r"oci:sha256:([0-9a-f]{64})\Z")


class NoArtifact(Exception):
    """A text names nothing that can be certified; the message says what was found and the next step."""

    def __init__(self, message: str, hint: str = "name a file, a folder, or oci:sha256:DIGEST") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Artifact:
    """The tested thing: its name, its kind (file, folder, image), and its digest by an algorithm of in-toto.

    A file has `sha256`. A folder has `dirHash`: the SHA-256, in hex, of the lines that sha256sum writes for its files,
    sorted bytewise by path. An image has the digest that the user named. `files` are the digests of a folder's files
    by path, where the folder was read.
    """

    name: str
    kind: str
    algorithm: str
    digest: str
    files: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.name} ({self.algorithm}:{self.digest})"

    def is_same(self, other: Artifact) -> bool:
        """Whether both have the same bytes; names do not count."""
        return (self.kind, self.algorithm, self.digest) == (other.kind, other.algorithm, other.digest)


def artifact_of(text: str) -> Artifact:
    """The artifact that `text` names, in its present state; raises NoArtifact."""
    if text.startswith("oci:"):
        named = _IMAGE.match(text)
        if named is None:
            raise NoArtifact("an image is named by its digest", "write oci:sha256: and 64 hex digits in lower case")
        return Artifact("image", "image", "sha256", named[1])
    try:
        path = Path(text).resolve(strict=True)
        name = Path(text).absolute().name or path.name
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            return Artifact(name, "file", "sha256", _sha256(path))
        if stat.S_ISDIR(mode):
            files = _folder(path)
            return Artifact(name, "folder", "dirHash", hashlib.sha256(sums_of(files)).hexdigest(), files)
    except OSError as error:
        where = f" ({error.filename})" if error.filename is not None else ""
        raise NoArtifact(f"it cannot be read: {error.strerror}{where}") from None
    except (ValueError, RuntimeError) as error:
        raise NoArtifact(f"this is no path: {error}") from None
    raise NoArtifact("it is neither a file nor a folder")


def path_of(text: str) -> Path | None:
    """The file or folder that `text` names; None for an image."""
    return None if text.startswith("oci:") else Path(text)


def files_of(place: Path) -> Iterator[Path]:
    """The files of an artifact, by the path that was named and by the real one."""
    real = place.resolve()
    names = [name for name, _ in _files(real, real)] if real.is_dir() else [""]
    for name in names:
        yield from (place / name, real / name)


def changed_files(before: Artifact, after: Artifact) -> list[str]:
    """The files of a folder that are not the same in two of its states, by path; each says what became of it."""
    words = {name: "is new" if name not in before.files else "has other bytes" for name in after.files}
    words |= dict.fromkeys(before.files.keys() - after.files.keys(), "is gone")
    return [f"{name} {words[name]}" for name in sorted(words) if before.files.get(name) != after.files.get(name)]


def _folder(folder: Path) -> dict[str, str]:
    digests = {name: _sha256(file) for name, file in _files(folder, folder)}
    if not digests:
        raise NoArtifact("there is no file in the folder")
    return digests


def sums_of(digests: Mapping[str, str]) -> bytes:
    """The lines that sha256sum writes for files with these digests, sorted bytewise by path."""
    lines = sorted((os.fsencode(name), digest.encode()) for name, digest in digests.items())
    return b"".join(b"%b  %b\n" % (digest, name) for name, digest in lines)


def _files(folder: Path, whole: Path) -> Iterator[tuple[str, Path]]:
    """Every file below a folder with its path; a link counts as the file it points to, which must be in the folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            name = path.relative_to(whole).as_posix()
            if "\n" in name or "\\" in name:
                raise NoArtifact(f"{name!r} has a character that sha256sum escapes", "rename the file")
            if entry.is_dir(follow_symlinks=False):
                yield from _files(path, whole)
                continue
            if entry.is_symlink():
                _require_inside(path, name, whole)
            if not entry.is_file():
                raise NoArtifact(f"{name!r} is neither a file nor a folder", "certify a folder of files")
            yield name, path


def _require_inside(path: Path, name: str, whole: Path) -> None:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise NoArtifact(f"the link {name!r} leads nowhere", "remove it") from None
    if not target.is_relative_to(whole):
        raise NoArtifact(f"the link {name!r} leads out of the folder", "put the file itself there")
    if not target.is_file():
        raise NoArtifact(f"the link {name!r} leads to no file", "put the folder itself there")


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


UNKNOWN, NAMED, PROGRAM = "not established", "named", "program"
STARTED: Final = (UNKNOWN, NAMED, PROGRAM)  # the surest last
_WITH_VALUE: Final = ("-W", "-X", "--check-hash-based-pycs")  # options of Python


@dataclass(frozen=True, slots=True)
class StartedArtifact:
    """How the words of a command use the artifact: one of STARTED, and the file in the artifact that they name.

    A program in the artifact was started. A named file was an argument of another program, which may ignore it.
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
        """The form in a certificate."""
        return {"how": self.how, "file": self.file} if self.file else {"how": self.how}


def started_from(annotations: Mapping[str, Any]) -> StartedArtifact:
    """The value in a certificate, or the weakest one if it has none."""
    return StartedArtifact(str(annotations.get("how", UNKNOWN)), str(annotations.get("file", "")))


def started_by(command: BackendCommand, artifact: Path | None) -> StartedArtifact:
    """How the words of a command use the artifact; an image has no path."""
    if artifact is None:
        return StartedArtifact()
    place = artifact.resolve()
    program, *words = command.arguments
    path = shutil.which(program, path=command.environment.get("PATH")) or program
    if (found := _path_in_artifact(Path(path), place)) is not None:
        return StartedArtifact(PROGRAM, found)
    here = command.folder or Path.cwd()
    files = [*_modules(program, words, command, here), *_paths(words, here)]
    named = next(filter(None, (_path_in_artifact(file, place) for file in files)), None)
    return StartedArtifact() if named is None else StartedArtifact(NAMED, named)


def _path_in_artifact(file: Path, artifact: Path) -> str | None:
    """The path of a file or folder in the artifact; the artifact's own name if it is the artifact itself."""
    try:
        real = file.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
    if real == artifact:
        return artifact.name
    return real.relative_to(artifact).as_posix() if real.is_relative_to(artifact) else None


def _paths(words: Sequence[str], here: Path) -> Iterator[Path]:
    """The paths that arguments may name, including values of options such as `--file=main.js`."""
    for word in words:
        option = word.startswith("-")
        value = word.partition("=")[2] if option else word
        if value:
            yield here / value


def _modules(program: str, words: Sequence[str], command: BackendCommand, here: Path) -> Iterator[Path]:
    """The files of the module that `python -m` runs; for the worker of the harness, of the module that it imports."""
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
