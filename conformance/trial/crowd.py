"""Files of others beside those of an operator: their names, putting them in place, and whether they were harmed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

from conformance.contract.model import Contract
from conformance.vectors.case import CallStep
from conformance.vectors.exchange import Stage
from conformance.vectors.leaf import is_root
from conformance.vectors.temp_roots import fault_of

_MOST: Final = 1 << 16  # bytes of a file, and names of a folder, that are copied
_PLACED: Final = 180  # bystanders in one root
_SHORT: Final = 40  # characters of a text that may be the name of a file
_LONGEST: Final = 255  # bytes of a name
_TIMES: Final = re.compile(r"(\[[^]]*\])\{([0-9]+)\}")
Paths = Mapping[str, frozenset[str]]  # of every root: what an operator's own cases have in it at some time


def near_misses(path: str) -> Iterator[str]:
    """The names of bystanders for one path, beside it: a suffix, a number, one letter, another case, leftovers."""
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    stem, dot = (stem, dot) if stem else (name, "")
    ending = ending if dot else ""
    names = [f"{name}.backup", f"{name}~", f"{name}{dot}{ending}", f"{stem}2{dot}{ending}", f"0{name}", name[:-1]]
    names += [f"{head}2{dot}{ending}" for head, mark, _ in (stem.rpartition("_"), stem.rpartition("-")) if mark]
    names += [name.swapcase(), f"x{name}", f"{name} ", f".{name}.tmp", f"{name}.tmp", f"{stem}.tmp"]
    # The leftovers of names that are nearly this one: those of somebody else.
    short = re.sub("[0-9]{2,}", lambda digits: digits[0][1:], name, count=1)
    names += [f".{other}.tmp" for other in (short, f"0{name}", name.swapcase()) if other != name]
    for other in dict.fromkeys(names):
        if other not in ("", ".", "..", name) and len(os.fsencode(other)) <= _LONGEST:
            yield f"{folder}/{other}" if folder else other


@dataclass(slots=True)
class Harvest:
    """Notes every path below every root, before and after each call, and the texts of calls that could be one."""

    seen: dict[str, set[str]]

    def before(self, stage: Stage, step: CallStep) -> None:
        """What is there before a call."""
        for name in stage.roots.names:
            root = stage.roots.path(name)
            named = (text for text in step.inputs.values() if isinstance(text, str) and len(text) <= _SHORT)
            self.seen.setdefault(name, set()).update(_below(str(root)), (text for text in named if not fault_of(text)))

    def after(self, stage: Stage, step: CallStep) -> None:
        """What is there after a call."""
        self.before(stage, step)


@dataclass(slots=True)
class Crowd:
    """The bystanders of one walk: put in place before every call of the operator, looked at after every call."""

    contract: Contract
    paths: Paths
    own: Paths  # of this walk alone: no bystander may take a path that the walk itself creates
    known: dict[tuple[str, str], str] = field(default_factory=dict)  # by root and path: what a bystander is
    folders: set[tuple[str, str]] = field(default_factory=set)  # made for them
    harmed: tuple[str, str, str, str] | None = None
    _edits: int = 0  # of the harness, seen so far
    _free: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # by root and path: names that may be used

    def before(self, stage: Stage, step: CallStep) -> None:
        """Put bystanders beside all that is there or may come; what the harness did to some since is no harm."""
        if self._edits != stage.edits:
            self._edits = stage.edits
            self._look_again(stage)
        if self.contract.owns(step.operator):
            for root in {value["root"] for value in step.inputs.values() if is_root(value)} & self.paths.keys():
                self._place(root, str(stage.roots.path(root)))

    def after(self, stage: Stage, step: CallStep) -> None:
        """Note the first bystander that a call changed."""
        for root, path, was, now in self._look_again(stage):
            if self.harmed is None and not is_matched(path, self.contract.bystanders.owned):
                self.harmed = (step.name, f"{root}/{path}", was, now)

    def _look_again(self, stage: Stage) -> list[tuple[str, str, str, str]]:
        """The bystanders that changed, by root and path, and what they were and are; they are known as such now."""
        changed = []
        for (root, path), was in list(self.known.items()):
            if (now := _look(f"{stage.roots.path(root)}/{path}")) != was:
                self.known[root, path] = now
                if now == "absent":
                    del self.known[root, path]
                changed.append((root, path, was, now))
        return changed

    def without_bystanders(self, root: str, tree: Mapping[str, Any], alone: Mapping[str, Any]) -> dict[str, Any]:
        """A tree without them, and without the folders that were made for them alone."""
        own = {path for at, path in self.known if at == root}
        made = {path for at, path in self.folders if at == root and path not in alone}
        return {
            path: entry
            for path, entry in tree.items()
            if path not in own | made and own.isdisjoint(_folders_above(path))
        }

    def _place(self, name: str, root: str) -> None:
        room = _PLACED - sum(1 for at, _ in self.known if at == name)
        # Paths that exist now come first, then those that exist in other cases.
        for path in sorted(self.paths[name], key=lambda path: (not os.path.lexists(f"{root}/{path}"), path)):
            original = f"{root}/{path}"
            for other in self._names(name, path):
                room -= room > 0 and self._put(name, root, other, original)
            if room > 0 and _is_file(original):
                for twin in (f"{path}.twin", f"{path}.hard"):
                    room -= room > 0 and self._usable(name, twin) and self._put(name, root, twin, original, twin=True)
            if room <= 0:
                return

    def _names(self, name: str, path: str) -> list[str]:
        """The near misses of a path that neither the operator's cases nor the contract take for themselves."""
        if (name, path) not in self._free:
            self._free[name, path] = [other for other in near_misses(path) if self._usable(name, other)]
        return self._free[name, path]

    def _usable(self, name: str, path: str) -> bool:
        taken = path in self.paths[name] or path in self.own.get(name, ())
        return not taken and not is_matched(path, self.contract.bystanders.none)

    def _put(self, name: str, root: str, path: str, original: str, twin: bool = False) -> bool:
        """Whether a bystander was put at a path; there may be something already."""
        place = f"{root}/{path}"
        if (name, path) in self.known or os.path.lexists(place) or not self._folder(name, root, path):
            return False
        try:
            if path.endswith(".twin") and twin:
                os.symlink(os.path.basename(original), place)
            elif twin:
                os.link(original, place, follow_symlinks=False)
            elif _is_folder(original) and sum(1 for _ in _below(original)) < _MOST >> 8:
                shutil.copytree(original, place, symlinks=True)
            else:
                copied = _is_file(original) and os.path.getsize(original) <= _MOST
                content = _content(original) if copied else b"a file of others"
                _write(place, content)
                self.known[name, path] = _file(content)
                return True
        except OSError:
            return False  # a name or a link that this file system does not take
        self.known[name, path] = _look(place)
        return True

    def _folder(self, name: str, root: str, path: str) -> bool:
        """Whether the folder of a bystander is there, or can be made where nothing is in the way."""
        for part in reversed(_folders_above(path)):
            place = f"{root}/{part}"
            if _is_folder(place):
                continue
            if os.path.lexists(place):
                return False
            if any(is_matched(one, self.contract.bystanders.none) for one in (part, f"{part}/")):
                return False
            os.mkdir(place)
            self.folders.add((name, part))
        return True


def is_matched(path: str, patterns: Mapping[str, str]) -> bool:
    """Whether a pattern fits a path; `[0-9]{20}` in one means twenty digits, so that no near miss fits by chance."""
    return any(fnmatchcase(path, written_out(pattern)) for pattern in patterns)


@cache
def written_out(pattern: str) -> str:
    """A pattern as fnmatch reads it: what it counts is repeated."""
    return _TIMES.sub(lambda one: one[1] * int(one[2]), pattern)


def _folders_above(path: str) -> list[str]:
    """The folders of a path below its root, the nearest first."""
    return [path[:at] for at in range(len(path) - 1, 0, -1) if path[at] == "/"]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def _below(root: str) -> Iterator[str]:
    for folder, below, files in os.walk(root):
        for name in (*below, *files):
            yield f"{folder}/{name}"[len(root) + 1 :]


def _look(path: str) -> str:
    """A text for what is at a path: equal for equal files, links and folders."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return "absent"
    if stat.S_ISLNK(mode):
        return f"link to {os.readlink(path)}"
    if stat.S_ISDIR(mode):
        below = sorted(_below(path))
        parts = [f"{one}={'dir' if _is_folder(f'{path}/{one}') else _look(f'{path}/{one}')}" for one in below]
        return "dir " + hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    return _file(_content(path)) if stat.S_ISREG(mode) else "special"


def _file(content: bytes) -> str:
    return "file " + hashlib.sha256(content).hexdigest()


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _write(path: str, content: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(content)
