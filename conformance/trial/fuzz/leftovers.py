"""Puts several temporary files at once, such as a killed writer leaves, into whole trees and into trees with a loss.

This finds operators that remove such files in one branch of their code and not in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations, islice
from typing import Final

from conformance.contract.model import Contract
from conformance.trial.bystanders import is_matched, near_misses, written_out
from conformance.trial.fuzz.file_edits import Edit, Sizes, file_step
from conformance.vectors.case import FileStep
from conformance.vectors.exchange import AnyStep

_TEMPORARY: Final = re.compile(r"\.?[^/]+\.tmp")
_CLASS: Final = re.compile(r"\[(.)[^]]*\]")
_CONTENTS: Final = ("00", "")
_MOST: Final = 8  # planted at once
_MOST_LOST: Final = 40  # trees with one file or folder deleted, or two, of one call


def leftovers(contract: Contract, root: str, files: Sizes, steps: Iterable[AnyStep]) -> tuple[Edit, ...]:
    """The edits that plant temporary files in a root: those that the contract lets its operator clear away, and those
    of names that the frozen steps plant themselves."""
    known = {one.subject for one in steps if isinstance(one, FileStep) and one.body.get("root") == root}
    planted = {path for path in known if _TEMPORARY.fullmatch(path.rpartition("/")[2])}
    paths = [path for path in sorted({*_owned(contract.bystanders.owned, files), *planted}) if path not in files]
    chosen = paths if len(paths) <= _MOST else paths[:: -(-len(paths) // _MOST)]
    return tuple(
        (file_step("put", root, path=path, bytes=_CONTENTS[number % 2]),) for number, path in enumerate(chosen)
    )


def losses(root: str, files: Sizes) -> Iterator[tuple[Edit, ...]]:
    """The deletions of one file or folder, then of two."""
    ordered = sorted({*files, *_folders(files)})
    some: Iterator[Sequence[str]] = (pair for count in (1, 2) for pair in combinations(ordered, count))
    for gone in islice(some, _MOST_LOST):
        if not gone[-1].startswith(f"{gone[0]}/"):
            yield tuple((file_step("delete", root, path=path),) for path in gone)


def _folders(files: Sizes) -> set[str]:
    return {path[:at] for path in files for at, letter in enumerate(path) if letter == "/"}


def _owned(patterns: Mapping[str, str], files: Sizes) -> Iterator[str]:
    """Names that fit the patterns, beside files and folders that are there, and made from each pattern alone."""
    folders = _folders(files)
    for path in (*files, *folders):
        yield from (other for other in near_misses(path) if is_matched(other, patterns))
    for folder in ("", *sorted(folders)):
        yield from made_in(patterns, folder)


def made_in(patterns: Mapping[str, str], folder: str) -> Iterator[str]:
    """The name in a folder that each pattern which fits there gives."""
    for pattern in patterns:
        above, _, name = pattern.rpartition("/")
        made = _CLASS.sub(lambda one: one[1], written_out(name)).replace("*", "left").replace("?", "x")
        if bool(above) == bool(folder) and fnmatchcase(folder, written_out(above)):
            yield f"{folder}/{made}" if folder else made
