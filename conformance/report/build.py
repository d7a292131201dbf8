"""A finished run becomes its record."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from conformance.report.entry import entry_of
from conformance.report.prose import prose_of
from conformance.report.record import FORMAT, Record
from conformance.report.verdict import CONFORMANT, NO_JUDGEMENT, NOT_CONFORMANT
from conformance.trial.check import Verdict
from conformance.trial.run_result import RunResult

if TYPE_CHECKING:
    from conformance.contract.library import Library


def record_of(run: RunResult, library: Library) -> Record:
    """The record of a run; a function of what was judged alone, its observations left out."""
    excused = run.excused
    entries = [entry_of(result, result.check.id in excused) for result in run.results]
    entries.sort(key=lambda entry: str(entry["id"]))
    backend = {**asdict(run.backend), "operators": sorted(run.backend.operators)}
    diagnosis: dict[str, Any] | None = asdict(run.diagnosis) if run.diagnosis is not None else None
    expected = [asdict(entry) for entry in run.expected_failures]
    return Record(
        {
            "backend": backend,
            "contracts": dict(run.contracts),
            "counts": asdict(run.counts),
            "diagnosis": diagnosis,
            "expected_failures": sorted(expected, key=lambda entry: str(entry["check"])),
            "format": FORMAT,
            "fuzz": {operator: dict(figures) for operator, figures in run.fuzz.items()},
            "harness": run.harness,
            "profile": run.profile,
            "prose": prose_of(entries, library),
            "results": entries,
            "seed": run.seed,
            "selection": run.selection,
            "unattributed": sorted(run.unattributed),
            "unexpected_passes": sorted(run.unexpected_passes),
            "unmatched_expectations": sorted(run.unmatched_expectations),
            "vectors": run.vectors,
            "verdict": _verdict(run),
            "verdicts": {verdict.value: run.count(verdict) for verdict in Verdict},
        }
    )


def _verdict(run: RunResult) -> str:
    if run.empty:
        return NO_JUDGEMENT
    return CONFORMANT if run.conformant else NOT_CONFORMANT
