"""Calls stored as their difference (delta) from the first call of their group, in vector files.

A change is [path, value], the path a list of keys and indices; an answer of another kind, a failure for a result,
stands whole. The digest of a case runs over the whole calls, so that the file may be written either way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.vectors.leaf import changed

LIKE: Final = "like"
_PARTS: Final = ("inputs", "expected")
_SHORT: Final = 0.9  # of the whole call: a difference that is no shorter says less than the call itself
Record = dict[str, Any]


class Models:
    """The first whole call of every operator in each group of one file; cases are given in the file's order."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], tuple[str, Record]] = {}  # by group and operator: its name and the call
        self._named: dict[str, Mapping[str, Any]] = {}

    def written(self, case: str, steps: Sequence[Record]) -> list[Record]:
        """The records of a case's steps, each call that is like the group's first one as what differs from it."""
        group, slug = _group_and_slug(case)
        return [self._written(group, slug, step) if "call" in step else step for step in steps]

    def read(self, case: str, steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The records of a case's steps, whole; raises LookupError or TypeError where a change fits nothing."""
        group, slug = _group_and_slug(case)
        done: list[Mapping[str, Any]] = []
        for step in steps:
            if LIKE in step:
                model = self._named[f"{group}::{step[LIKE]}"]
                parts = {part: _whole(model[part], step[part]) for part in _PARTS}
                step = {"step": step["step"], "call": step["call"], **parts}
            elif "call" in step:
                self._named.setdefault(f"{group}::{slug}::{step['step']}", step)
            done.append(step)
        return done

    def _written(self, group: str, slug: str, step: Record) -> Record:
        if (group, step["call"]) not in self._first:
            self._first[group, step["call"]] = (f"{slug}::{step['step']}", step)
            return step
        name, model = self._first[group, step["call"]]
        changes: dict[str, Any] = {}
        for part in _PARTS:
            found = list(_changes(model[part], step[part], ()))
            if any(not path for path, _ in found):
                if part == "inputs":
                    return step
                changes[part] = step[part]  # an answer of another kind stands whole
                continue
            changes[part] = [[list(path), value] for path, value in found]
        brief = {"step": step["step"], "call": step["call"], LIKE: name, **changes}
        return brief if len(json.dumps(brief)) < _SHORT * len(json.dumps(step)) else step


def _group_and_slug(case: str) -> tuple[str, str]:
    operator, group, slug = case.split("::", 2)
    return f"{operator}::{group}", slug


def _changes(model: Any, other: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Where two JSON values part, as deep as keys and lengths are the same."""
    if isinstance(model, Mapping) and isinstance(other, Mapping) and model.keys() == other.keys():
        for key in sorted(model):
            yield from _changes(model[key], other[key], (*path, key))
    elif isinstance(model, list) and isinstance(other, list) and len(model) == len(other):
        for k, (left, right) in enumerate(zip(model, other, strict=True)):
            yield from _changes(left, right, (*path, k))
    elif model != other:
        yield path, other


def _whole(model: Any, part: Any) -> Any:
    return part if isinstance(part, Mapping) else changed(model, part)
