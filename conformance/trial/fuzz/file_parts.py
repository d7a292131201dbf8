"""Damages one part of a file of a declared format: each key is removed, set to null, or made empty, one at a time.

This finds readers that test a value for truth instead of presence, or that use a default for a missing key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.contract.model import Contract
from conformance.trial.bystanders import with_looks
from conformance.trial.fuzz.file_edits import Edit, file_step
from conformance.trial.fuzz.file_example import Base, Example, Formed, in_use, places_asked, ranked
from conformance.trial.fuzz.file_reading import Reading, emptied
from conformance.vectors.case import CallStep, FileStep
from conformance.vectors.exchange import AnyStep

_WORDABLE: Final = re.compile(r"[^.*\s]+")  # a key that a dotted place can name
_NUMBER: Final = re.compile(r"\.[0-9]+(?=[. ])")


@dataclass(frozen=True, slots=True)
class Found:
    """The files of one format that are there before a call of a case."""

    base: Base
    steps: Sequence[AnyStep]
    at: int
    root: str
    formed: Formed

    @property
    def operator(self) -> str:
        """The operator that the call asks."""
        step = self.steps[self.at]
        assert isinstance(step, CallStep)
        return step.operator

    def edited(self, *edits: Edit) -> Example:
        """The case with these edits made before the call."""
        return Example(tuple(self.steps[: self.at]), edits, tuple(self.steps[self.at :]), self.base[0].id)


def lacking(contract: Contract, bases: Sequence[Base], reading: Reading) -> Iterator[Example]:
    """Examples without one part of a file, for every part of every format that the operator reads.

    Each part is tried in the first case that has and reads it. Damages that the format declares are left out, because
    the frozen cases have them.
    """
    done: set[tuple[str, str]] = set()
    for found in formed_files(contract, bases):
        form = found.formed.form.name
        fresh = {key: edit for key, edit in parts_of(found.formed) if (form, key) not in done}
        empty = found.edited(*emptied(found.root, found.formed.paths))
        if fresh and reading.reads(form, found.operator, empty, found.base):
            done |= {(form, key) for key in fresh}
            yield from (found.edited((damaged(found, edit),)) for edit in fresh.values())


def formed_files(contract: Contract, bases: Sequence[Base]) -> Iterator[Found]:
    """The files of declared formats, each before the first call of an operation that finds it; best cases first."""
    for base in ranked(contract, bases):
        case, seen = base
        steps = with_looks(case.steps, contract.fuzz_decode)
        asked: set[tuple[str, str, str, str]] = set()
        for k, root in places_asked(contract, steps, seen):
            step = steps[k]
            assert isinstance(step, CallStep)
            files = seen.before_calls[step.name][root]
            known = seen.formed.get(root, {})
            parts = {path for formed in known.values() if len(formed.form.files) > 1 for path in formed.paths}
            for (name, place), formed in known.items():
                # A format of a single file may fit one file of a greater one by chance.
                if place in parts or not all(path in files for path in formed.paths):
                    continue
                mark = (step.operator, root, name, place)
                if mark not in asked and not any(
                    in_use(contract, edit, steps[:k]) for edit in emptied(root, formed.paths)
                ):
                    asked.add(mark)
                    yield Found(base, steps, k, root, formed)


def damaged(found: Found, edit: str) -> FileStep:
    """The step that damages the files of a format in one way."""
    return file_step("damage", found.root, path=found.formed.place, format=found.formed.form.name, edit=edit)


def parts_of(formed: Formed) -> Iterator[tuple[str, str]]:
    """The damages that the format does not declare, each with a key that is the same for every list element."""
    declared = {_key(edit) for edit in formed.form.edits}
    for name, item in formed.items.items():
        for at, value in _inside(name, item):
            kinds = ("absent", *(("null",) if value is not None else ()), *(("empty",) if _is_full(value) else ()))
            edits = [f"{at} {kind}" for kind in kinds]
            yield from ((key, edit) for edit in edits if (key := _key(edit)) not in declared)


def maps_of(formed: Formed) -> Iterator[str]:
    """The dotted places of the maps in the files of a format; of the elements of a list, the first map only."""
    seen: set[str] = set()
    for name, item in formed.items.items():
        for at, value in [(name, item), *_inside(name, item)]:
            if isinstance(value, dict) and (key := _key(f"{at} ")) not in seen:
                seen.add(key)
                yield at


def _key(edit: str) -> str:
    """A damage with `*` for each list index in its place."""
    return _NUMBER.sub(".*", edit)


def _is_full(value: Any) -> bool:
    """Whether a value differs from the empty value of its type."""
    return isinstance(value, bool | int | float | str | bytes | list | dict) and value != type(value)()


def _inside(at: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a value by dotted place, without the value itself.

    Of a list, only the first and last element are visited; of sibling maps with the same keys, only one.
    """
    parts: Mapping[Any, Any] = {}
    if isinstance(value, dict):
        parts = {key: one for key, one in value.items() if isinstance(key, str) and _WORDABLE.fullmatch(key)}
    elif isinstance(value, list) and value:
        parts = {0: value[0], len(value) - 1: value[-1]}
    alike: set[frozenset[Any]] = set()
    for key, part in parts.items():
        yield f"{at}.{key}", part
        if not isinstance(part, dict) or frozenset(part) not in alike:
            yield from _inside(f"{at}.{key}", part)
        alike |= {frozenset(part)} if isinstance(part, dict) else set()
