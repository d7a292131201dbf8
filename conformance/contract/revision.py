"""Copies a suite at a git revision to a folder; runs no code of the repository or the suite."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from conformance.contract.suite import FILE

LARGEST: Final = 512 << 20  # bytes of contracts and vectors; the bundled suite has 18,000,000
_SECONDS: Final = 120.0  # for one answer of git
# Variables that a git hook or alias sets; without them git looks for the repository from the suite's folder.
_ELSEWHERE: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")
_REGULAR: Final = ("100644", "100755")
_LINK: Final = "120000"


class NoRevision(Exception):
    """A text names no revision with a suite; the message says what was found and the next step."""

    def __init__(self, message: str, hint: str = "`git log` and `git tag` list the revisions") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class _Blob:
    """One file of a tree: its mode, its object, its size and its path below the suite."""

    mode: str
    object: str
    size: int
    name: str


def copy_revision(root: Path, text: str, target: Path) -> None:
    """Write the contracts and vectors of the suite in `root` as they were at a revision; raises NoRevision.

    Only objects of the repository are read: no filter, hook or attribute applies, and nothing is fetched.
    """
    commit = _commit(root, text)
    inside = _git(root, "rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").removesuffix("\n")
    try:
        listed = _git(root, "ls-tree", "-r", "-z", "-l", "--full-tree", f"{commit}:{inside}")
    except NoRevision:
        raise NoRevision(f"the revision {text!r} has no folder {inside!r}", "name one that has the suite") from None
    blobs = {blob.name: blob for blob in _blobs(listed)}
    if FILE not in blobs:
        raise NoRevision(f"the revision {text!r} has no {FILE} in this place", "name one that has the suite")
    config = _contents(root, [blobs[FILE]])[FILE]
    suite = _folders(config)
    wanted = [blob for blob in blobs.values() if blob.name == FILE or _is_below(blob.name, suite.values())]
    if any(blob.mode == _LINK for blob in wanted):  # a link may lead to any place in the suite
        wanted = list(blobs.values())
    # Its own schemas may belong to another tally than the one that reads the files.
    wanted = [blob for blob in wanted if not _is_below(blob.name, [f"{suite['spec']}/schema"])]
    if sum(blob.size for blob in wanted) > LARGEST:
        raise NoRevision(f"its suite has more than {LARGEST} bytes", "compare two folders")
    _write(target, wanted, _contents(root, wanted))
    for name in blobs:
        if "mutants" in suite and _is_below(name, [suite["mutants"]]):
            target.joinpath(*_parts(suite["mutants"])).mkdir(parents=True, exist_ok=True)
            break


def _commit(root: Path, text: str) -> str:
    if not text or text.startswith("-") or not text.isprintable():
        raise NoRevision("this can name no revision", "name a folder, a tag, a branch or a commit")
    try:
        return _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}").decode().strip()
    except NoRevision as error:
        if error.args[0]:
            raise
        raise NoRevision("git has no such revision") from None


def _git(root: Path, *arguments: str, given: bytes = b"") -> bytes:
    """What git prints; raises NoRevision."""
    environment = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", "-C", str(root), "-c", "protocol.allow=never", *arguments]
    try:
        done = subprocess.run(command, input=given, capture_output=True, env=environment, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        raise NoRevision("git is not installed", "install it, or compare two folders") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise NoRevision(f"git does not answer: {str(error)[:120]}", "compare two folders") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        said = said.removeprefix("fatal: ").removeprefix("error: ")
        raise NoRevision(said[:200], "name a folder, or a revision of the repository that the suite is in")
    return done.stdout


def _blobs(listed: bytes) -> Iterator[_Blob]:
    for line in filter(None, listed.split(b"\0")):
        facts, _, name = line.decode("utf-8", "surrogateescape").partition("\t")
        mode, _, object_, size = facts.split()
        if mode in _REGULAR or mode == _LINK:
            yield _Blob(mode, object_, int(size), name)


def _folders(config: bytes) -> Mapping[str, str]:
    """The folders that a `tally.toml` names, as far as it is well formed; `read_suite` reports its mistakes."""
    import tomllib

    try:
        body: Any = tomllib.loads(config.decode("utf-8"))
    except (ValueError, RecursionError):
        body = {}
    found = {"spec": "spec", "vectors": "vectors"}
    keys = (("spec", "suite", "spec"), ("vectors", "suite", "vectors"), ("mutants", "mutants", "folder"))
    for name, table, key in keys:
        own = body.get(table)
        if isinstance(own, dict) and isinstance(own.get(key), str):
            found[name] = os.path.normpath(own[key])
    return found


def _is_below(name: str, folders: Iterable[str]) -> bool:
    return any(folder == "." or name == folder or name.startswith(f"{folder}/") for folder in folders)


def _contents(root: Path, blobs: list[_Blob]) -> dict[str, bytes]:
    asked = "".join(f"{blob.object}\n" for blob in blobs).encode()
    answer = memoryview(_git(root, "cat-file", "--batch", given=asked))
    found, at = {}, 0
    for blob in blobs:
        head = bytes(answer[at : at + 200]).partition(b"\n")[0]
        if head != f"{blob.object} blob {blob.size}".encode():
            raise NoRevision(f"git does not have the file {blob.name!r}", "fetch it, or compare two folders")
        at += len(head) + 1
        found[blob.name] = bytes(answer[at : at + blob.size])
        at += blob.size + 1
    return found


def _write(target: Path, blobs: list[_Blob], contents: Mapping[str, bytes]) -> None:
    """Write the files, links last; refuse a forged tree that leads out of the folder."""
    root = target.resolve()
    for blob in sorted(blobs, key=lambda blob: (blob.mode == _LINK, blob.name)):
        file = target.joinpath(*_parts(blob.name))
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.parent.resolve().is_relative_to(root):
                raise NoRevision(f"the path {blob.name!r} leaves the suite", "compare two folders")
            if blob.mode == _LINK:
                file.symlink_to(os.fsdecode(contents[blob.name]))
            else:
                with file.open("xb") as sink:
                    sink.write(contents[blob.name])
        except (OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise NoRevision(f"{blob.name!r} cannot be copied: {said}", "compare two folders") from None


def _parts(name: str) -> tuple[str, ...]:
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or ".git" in parts:
        raise NoRevision(f"the path {name!r} leaves the suite", "compare two folders")
    return parts
