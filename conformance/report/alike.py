"""Failures that look alike, so that one mistake is told once and not five hundred times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.report.entry import Entry
from conformance.report.prose import Prose

_NUMBER = re.compile(r"[0-9]+")
_CODE = re.compile(r"[A-Z][A-Z_]+\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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


def group_alike(failures: Sequence[Entry], prose: Prose) -> list[Alike]:
    """The distinct failures, those that struck most often first."""
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in failures:
        groups.setdefault(_shape(entry), []).append(entry)
    found = [_alike(group, prose) for group in groups.values()]
    return sorted(found, key=lambda alike: (-alike.size, alike.first["id"]))


def _alike(group: Sequence[Entry], prose: Prose) -> Alike:
    """The group behind its smallest failure that cites the field that differs; an answer's size does not count."""

    def rank(entry: Entry) -> tuple[Any, ...]:
        inputs = len(str(entry.get("call", {}).get("inputs", "")))
        return (not _cites(entry, prose), entry["kind"] == "fuzz", "step" in entry, inputs, entry["id"])

    first = min(group, key=rank)
    return Alike(first, tuple(entry for entry in group if entry is not first))


def _cites(entry: Entry, prose: Prose) -> bool:
    """Whether the reason of a check, or a requirement of it, names the field that differs."""
    fields = _NAME.findall(entry.get("difference", {}).get("path", ""))
    rows = [prose["requirements"].get(id_, {}) for id_ in entry["requirements"]]
    words = " ".join([entry["why"], entry["group"], *(row.get("text", "") for row in rows)])
    return bool(fields) and fields[-1] in _NAME.findall(words)


def _shape(entry: Entry) -> tuple[Any, ...]:
    difference = entry.get("difference")
    head = (entry["operator"], entry["kind"], entry["verdict"], entry.get("outcome", ""))
    if difference is None:
        return (*head, _NUMBER.sub("#", entry.get("message", "")))
    codes = tuple(value if _is_code(value) else "" for value in (difference["expected"], difference["actual"]))
    return (*head, _NUMBER.sub("#", difference["path"]), codes, tuple(entry.get("broken", ())))


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and _CODE.match(value) is not None
