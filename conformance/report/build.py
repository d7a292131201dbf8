"""A finished run becomes its record."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from conformance.report.entry import entry_of
from conformance.report.prose import prose_of
from conformance.report.record import FORMAT, Record
from conformance.report.verdict import NOT_TRIED, sentence_of, verdict_of
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
    members = {
        "backend": backend,
        "contracts": dict(run.contracts),
        "counts": asdict(run.counts),
        "crash": NOT_TRIED if run.crash is None else {name: dict(found) for name, found in run.crash.items()},
        "diagnosis": diagnosis,
        "expected_failures": sorted(expected, key=lambda entry: str(entry["check"])),
        "format": FORMAT,
        "fuzz": {operator: dict(figures) for operator, figures in run.fuzz.items()},
        "harness": run.harness,
        "missing": sorted(run.missing),
        "obstacles": sorted(run.obstacles),
        "profile": run.profile,
        "prose": prose_of(entries, library),
        "results": entries,
        "scope": {"operators": list(run.tried), "of": run.declarable},
        "seed": run.seed,
        "selection": run.selection,
        "unattributed": sorted(run.unattributed),
        "unexpected_passes": sorted(run.unexpected_passes),
        "unmatched_expectations": sorted(run.unmatched_expectations),
        "vectors": run.vectors,
        "verdict": verdict_of(run),
        "verdicts": {verdict.value: run.count(verdict) for verdict in Verdict},
    }
    return Record({**members, "sentence": sentence_of(members)})
