"""The floor: how many frozen cases a trivially wrong backend passes (DESIGN 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
    """Each trivial backend's score by operator, and over `all`; measured now, also by group (`OPERATOR::group`)."""

    scores: Mapping[str, Mapping[str, PassRate]]
    groups: Mapping[str, Mapping[str, PassRate]] = field(default_factory=dict, compare=False)


def measure_floor(library: Library, cases: Iterable[Case], progress: Progress = NO_PROGRESS) -> Floor:
    """Try every trivial backend on the quick cases."""
    deciding = deciding_cases(cases)
    codebook = codebook_of(library)
    progress.stage("trivial backends", len(TRIVIAL))
    asked = Counter(case.operator for case in deciding)
    of_groups = Counter(map(_group_of, deciding))
    groups: dict[str, Mapping[str, PassRate]] = {}
    scores: dict[str, Mapping[str, PassRate]] = {}
    for backend in TRIVIAL:
        tried = attempt(f"python:{__package__}.trivial:{backend.name}", deciding, codebook, stateless=True)
        if tried.refusal:
            raise RuntimeError(f"the trivial backend {backend.name} does not run: {tried.refusal} {tried.stderr_tail}")
        right = [case for case in deciding if case.id not in tried.wrong]
        passed, passed_of = Counter(case.operator for case in right), Counter(map(_group_of, right))
        groups[backend.name] = {group: PassRate(passed_of[group], count) for group, count in of_groups.items()}
        by_operator = {operator: PassRate(passed[operator], count) for operator, count in sorted(asked.items())}
        scores[backend.name] = {**by_operator, ALL: PassRate(passed.total(), asked.total())}
        progress.step()
    return Floor(dict(sorted(scores.items())), groups)


def _group_of(case: Case) -> str:
    return f"{case.operator}::{case.group}"


def floor_problems(floor: Floor) -> Iterator[str]:
    """One sentence for each trivial backend that passes too much: the groups where it passes most, and what to do."""
    for name, scores in floor.scores.items():
        limit = LIMIT_OF_FEW if 0 < scores[ALL].cases < FEW else LIMIT
        if scores[ALL].share >= limit:
            said = f"the trivial backend {name} passes {scores[ALL]} cases; the limit is {float(limit):.0%}"
            passed = [one for one in floor.groups.get(name, {}).items() if one[1].passed]
            worst = sorted(passed, key=lambda one: (-one[1].passed, one[0]))[:_WORST]
            shown = ", ".join(f"{group} ({rate.passed} of {rate.cases})" for group, rate in worst)
            yield said + (f"; most of them of {shown}\n    hint: {_OTHER_ANSWERS}" if worst else "")


_WORST: Final = 3  # groups that a sentence names
_OTHER_ANSWERS: Final = (
    "put calls with other answers beside these, answering ones beside refusals: "
    "as steps of the same trace, which passes only if every step is right, or as cases"
)


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
