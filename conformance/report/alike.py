"""Failures that look alike, so that one mistake is told once and not five hundred times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.report.entry import Entry

_NUMBER = re.compile(r"[0-9]+")
_CODE = re.compile(r"[A-Z][A-Z_]+\Z")


@dataclass(frozen=True, slots=True)
class Alike:
    """Failures of one operator that part from the expectation at the same place; the first one stands for them."""

    first: Entry
    others: tuple[Entry, ...]

    @property
    def size(self) -> int:
        """How many failures there are."""
        return 1 + len(self.others)


def failures_of(entries: Iterable[Entry], excused: bool = False) -> list[Entry]:
    """The entries that failed or could not be judged; with `excused` those that were expected to."""
    return [e for e in entries if e["verdict"] in ("fail", "error") and e.get("excused", False) is excused]


def group_alike(failures: Sequence[Entry]) -> list[Alike]:
    """The distinct failures, those that struck most often first."""
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in failures:
        groups.setdefault(_shape(entry), []).append(entry)
    found = [Alike(_simplest(group), _rest(group)) for group in groups.values()]
    return sorted(found, key=lambda alike: (-alike.size, alike.first["id"]))


def _simplest(group: Sequence[Entry]) -> Entry:
    # A single call with small inputs says more than a trace of forty.
    return min(group, key=lambda entry: ("step" in entry, len(str(entry.get("call", ""))), entry["id"]))


def _rest(group: Sequence[Entry]) -> tuple[Entry, ...]:
    first = _simplest(group)
    return tuple(entry for entry in group if entry is not first)


def _shape(entry: Entry) -> tuple[Any, ...]:
    difference = entry.get("difference")
    head = (entry["operator"], entry["kind"], entry["verdict"], entry.get("outcome", ""))
    if difference is None:
        return (*head, _NUMBER.sub("#", entry.get("message", "")))
    codes = tuple(value if _is_code(value) else "" for value in (difference["expected"], difference["actual"]))
    return (*head, _NUMBER.sub("#", difference["path"]), codes, tuple(entry.get("broken", ())))


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and _CODE.match(value) is not None
