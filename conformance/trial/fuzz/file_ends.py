"""Adds one byte to small files: a NUL at the end, the last byte again, or a NUL at the beginning.

This finds readers that stop after the first item and ignore the rest of the file. Whole, cut and flipped files do not
find them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from conformance.contract.model import Contract
from conformance.trial.bystanders import with_looks
from conformance.trial.fuzz.file_edits import Edit, file_step
from conformance.trial.fuzz.file_example import Base, Example, in_use, places_asked, ranked
from conformance.trial.fuzz.file_reading import Reading, emptied
from conformance.vectors.case import CallStep

_NUMBER: Final = re.compile(r"[0-9a-f]{16,}|[0-9]+")
_MOST_KINDS: Final = 10  # kinds of file names that are tried


def lengthened(contract: Contract, bases: Sequence[Base], reading: Reading) -> Iterator[Example]:
    """Examples with one more byte in a file, for each kind of file name.

    A kind is tried in the first case that reads such a file; its first and its last file are changed.
    """
    done: set[str] = set()
    for base in ranked(contract, bases):
        case, seen = base
        steps = with_looks(case.steps, contract.fuzz_decode)
        for k, root in places_asked(contract, steps, seen):
            step = steps[k]
            assert isinstance(step, CallStep)
            files = seen.before_calls[step.name][root]
            known = {path: data for path, data in seen.contents.get(root, {}).items() if files.get(path) == len(data)}
            kinds = groupby(sorted(known, key=_kind), key=_kind)
            for kind, paths in ((kind, [*some]) for kind, some in kinds if kind not in done):
                gone = [edit for edit in emptied(root, paths) if not in_use(contract, edit, steps[:k])]
                empty = Example(steps[:k], tuple(gone), steps[k:], case.id)
                if gone and len(done) < _MOST_KINDS and reading.reads(kind, step.operator, empty, base):
                    done.add(kind)
                    for path in dict.fromkeys((gone[0][0].subject, gone[-1][0].subject)):
                        for edit in _longer(root, path, known[path]):
                            yield Example(steps[:k], (edit,), steps[k:], case.id)


def _kind(path: str) -> str:
    """The name of a file with each number replaced by `#`."""
    return _NUMBER.sub("#", path.rpartition("/")[2])


def _longer(root: str, path: str, data: bytes) -> Iterator[Edit]:
    for content in (data + b"\0", data + data[-1:], b"\0" + data):
        yield (file_step("put", root, path=path, bytes=content.hex()),)
