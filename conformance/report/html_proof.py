"""The evidence for the suite itself on the HTML page: known mistakes, trivial backends, what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.contract.family import Requirements
from conformance.trial.committed_reports import FLOOR_FILE, MATRIX_FILE, read_report
from conformance.trial.floor import ALL, LIMIT, PassRate, read_floor
from conformance.trial.kill_matrix import FORMAT

_KILLERS: Final = {
    "frozen vectors": ("killed_by_vectors", "mutants"),
    "laws or fuzzing, where both were tried": ("killed_by_laws_or_fuzzing", "tried_on_laws_and_fuzzing"),
    "fuzzing against the reference": ("killed_by_fuzzing", "mutants"),
    "laws": ("killed_by_laws", "mutants"),
    "crash workloads": ("killed_by_crashes", "mutants"),
}


@dataclass(frozen=True, slots=True)
class Untested:
    """A requirement that no check of any backend tests, and the reason."""

    id: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What the suite has shown about its own power; a property of the suite, not of the backend on trial."""

    kills: Mapping[str, PassRate]  # kind of check -> mutants that it notices, of those that it was tried on
    floor: Mapping[str, PassRate]  # trivial backend -> cases that it passes
    limit: float  # the share of cases that a trivial backend must not reach
    single_clauses: tuple[str, ...]  # check strings that rest on a single case
    single_mutants: int  # mutants that a single case kills, and no fuzzing
    reference_only: tuple[Untested, ...]  # tests of the suite's reference check these, and no check of a backend
    excluded: tuple[Untested, ...]


def proof_of(folder: Path, requirements: Mapping[str, Requirements]) -> Proof | None:
    """The proof that a suite commits in its folder of reports, None where it commits none; requirements by family.

    Raises UnreadableReport where a report is there and cannot be read.
    """
    if not (folder / MATRIX_FILE).is_file() or not (folder / FLOOR_FILE).is_file():
        return None
    summary: Mapping[str, Any] = read_report(folder / MATRIX_FILE, FORMAT, _summary, "tally mutants --write")
    floor = read_floor(folder / FLOOR_FILE)
    rows = {row.id: row for _, family in sorted(requirements.items()) for row in family.requirements}
    alone = [rows[id_] for id_ in summary["requirements_of_the_reference_only"] if id_ in rows]
    return Proof(
        kills={name: PassRate(summary[count], summary[of]) for name, (count, of) in _KILLERS.items()},
        floor={name: scores[ALL] for name, scores in sorted(floor.scores.items())},
        limit=float(LIMIT),
        single_clauses=tuple(summary["clauses_on_a_single_case"]),
        single_mutants=len(summary["mutants_on_a_single_case"]),
        reference_only=tuple(Untested(row.id, row.text, row.reference_only) for row in alone),
        excluded=tuple(Untested(row.id, row.text, row.excluded) for row in rows.values() if row.excluded),
    )


def _summary(report: Mapping[str, Any]) -> Mapping[str, Any]:
    summary = report["summary"]
    for members in _KILLERS.values():
        for member in members:
            int(summary[member])
    return {**summary, "requirements_of_the_reference_only": list(summary["requirements_of_the_reference_only"])}
