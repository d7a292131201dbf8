"""The floor: how many frozen cases a trivially wrong backend passes (DESIGN 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from conformance.codec.codebook import codebook_of
from conformance.contract.library import Library
from conformance.trial.client import attempt
from conformance.trial.committed_reports import read_report
from conformance.trial.mutants.run import deciding_cases
from conformance.trial.mutants.trivial import TRIVIAL
from conformance.trial.options import NO_PROGRESS, Progress
from conformance.vectors.case import Case
from conformance.vectors.jsontext import json_text

FORMAT: Final = 1
LIMIT: Final = Fraction(5, 100)  # of all cases; a backend that does not try must stay below it
FEW: Final = 100  # cases; of fewer, those on the refused side of each guard alone are more than 5 %
LIMIT_OF_FEW: Final = Fraction(25, 100)
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class PassRate:
    """The number of cases that passed, and of all cases."""

    passed: int
    cases: int

    @property
    def share(self) -> Fraction:
        """The share that passed; 1 if there are no cases, so that an empty corpus is red."""
        return Fraction(self.passed, self.cases) if self.cases else Fraction(1)

    def __str__(self) -> str:
        return f"{self.passed} of {self.cases} ({float(self.share):.2%})"


@dataclass(frozen=True, slots=True)
class Floor:
    """Each trivial backend's score by operator, and over `all`."""

    scores: Mapping[str, Mapping[str, PassRate]]


def measure_floor(library: Library, cases: Iterable[Case], progress: Progress = NO_PROGRESS) -> Floor:
    """Try every trivial backend on the quick cases."""
    deciding = deciding_cases(cases)
    codebook = codebook_of(library)
    progress.stage("trivial backends", len(TRIVIAL))
    asked = Counter(case.operator for case in deciding)
    scores: dict[str, Mapping[str, PassRate]] = {}
    for backend in TRIVIAL:
        tried = attempt(f"python:{__package__}.trivial:{backend.name}", deciding, codebook, stateless=True)
        if tried.refusal:
            raise RuntimeError(f"the trivial backend {backend.name} does not run: {tried.refusal} {tried.stderr_tail}")
        passed = Counter(case.operator for case in deciding if case.id not in tried.wrong)
        by_operator = {operator: PassRate(passed[operator], count) for operator, count in sorted(asked.items())}
        scores[backend.name] = {**by_operator, ALL: PassRate(passed.total(), asked.total())}
        progress.step()
    return Floor(dict(sorted(scores.items())))


def floor_problems(floor: Floor) -> Iterator[str]:
    """One sentence for each trivial backend that passes too much."""
    for name, scores in floor.scores.items():
        limit = LIMIT_OF_FEW if 0 < scores[ALL].cases < FEW else LIMIT
        if scores[ALL].share >= limit:
            yield f"the trivial backend {name} passes {scores[ALL]} cases; the limit is {float(limit):.0%}"


def floor_text(floor: Floor) -> str:
    """The text of reports/floor.json; shares are rounded to four places."""
    return json_text(
        {
            "format": FORMAT,
            "limit": f"{float(LIMIT):.4f}",
            "scores": {
                name: {operator: _rate_record(rate) for operator, rate in scores.items()}
                for name, scores in floor.scores.items()
            },
        }
    )


def read_floor(file: Path) -> Floor:
    """The committed floor; raises UnreadableReport."""
    return read_report(file, FORMAT, _floor, "tally mutants --write")


def _floor(record: Mapping[str, Any]) -> Floor:
    return Floor(
        {
            name: {operator: PassRate(int(one["passed"]), int(one["cases"])) for operator, one in by_operator.items()}
            for name, by_operator in record["scores"].items()
        }
    )


def _rate_record(rate: PassRate) -> dict[str, Any]:
    return {"passed": rate.passed, "cases": rate.cases, "share": f"{float(rate.share):.4f}"}
