"""How many checks of one operator passed: the cells of the verdict table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.report.entry import Entry
from conformance.report.record import Record

KINDS: Final = ("vector", "law", "behaviour", "fuzz", "crash")


@dataclass(frozen=True, slots=True)
class Score:
    """So many of so many that ran; `excused` failures were expected, `undeclared` checks never ran."""

    passed: int
    excused: int
    bad: int
    undeclared: int

    @property
    def ran(self) -> int:
        """How many checks were judged."""
        return self.passed + self.excused + self.bad

    @property
    def text(self) -> str:
        """The cell: passed of run, empty where there was nothing to run."""
        return f"{self.passed}/{self.ran}" if self.ran else ""

    @property
    def word(self) -> str:
        """The verdict in one word."""
        if self.bad:
            return "FAIL"
        if self.ran:
            return "pass" if not self.excused else "excused"
        return "n/a" if self.undeclared else "not run"


def score_of(entries: Iterable[Entry]) -> Score:
    """The score of some entries."""
    passed = excused = bad = undeclared = 0
    for entry in entries:
        verdict = entry["verdict"]
        passed += verdict == "pass"
        undeclared += verdict == "not_applicable"
        if verdict in ("fail", "error"):
            excused += entry.get("excused", False)
            bad += not entry.get("excused", False)
    return Score(passed, excused, bad, undeclared)


def scores(record: Record) -> dict[str, Score]:
    """The score of every operator, by its name."""
    return {operator: score_of(entries) for operator, entries in by_operator(record).items()}


def by_operator(record: Record) -> dict[str, Sequence[Entry]]:
    """The entries of every operator, the operators sorted."""
    found: dict[str, list[Entry]] = {}
    for entry in record.entries:
        found.setdefault(entry["operator"], []).append(entry)
    return {operator: found[operator] for operator in sorted(found)}
