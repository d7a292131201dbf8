"""The crash workloads of a run as checks: a level below the required one is a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.codec.codebook import Codebook
from conformance.contract.library import Library
from conformance.contract.source import MalformedContract
from conformance.trial.check import Check, Kind, Result, Verdict
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.crash.recording import BrokenWorkload
from conformance.trial.crash.strace import NotRun
from conformance.trial.crash.trial import CrashOptions, try_workload
from conformance.trial.crash.workload import CrashWorkload, crash_workloads
from conformance.trial.options import Progress
from conformance.vectors.draft import Unusable


@dataclass(frozen=True, slots=True)
class Crashed:
    """The verdict on one workload, its levels for the record, and why it could not be tried if it could not.

    `states` counts, for each model, all crash states, those tried and the bad ones: an observation.
    """

    result: Result
    levels: Mapping[str, Any]
    obstacle: str = ""
    states: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def workloads(library: Library, codebook: Codebook) -> tuple[CrashWorkload, ...]:
    """Every workload of a library; raises MalformedContract."""
    try:
        return tuple(crash_workloads(library, codebook))
    except Unusable as error:
        raise MalformedContract([error.problem]) from None


def crash_check(plan: CrashWorkload) -> Check:
    """The check that a workload is."""
    operator, _, name = plan.id.partition("%")
    return Check(plan.id, Kind.CRASH, operator, name, plan.why, plan.requirements, plan.rulings)


def crashed(plan: CrashWorkload, codebook: Codebook, options: CrashOptions, progress: Progress) -> Crashed:
    """Crash a backend in one workload; the levels are none, kill, ext4 and posix, the strongest without a bad state."""
    check, asked = crash_check(plan), str(plan.level)
    levels = {"asked": asked, "reached": "", "sampled": not options.full}
    try:
        report = try_workload(plan, codebook, options, progress)
    except (NotRun, Untraceable) as error:
        kind = "untraceable" if isinstance(error, Untraceable) else "cannot be traced here"
        why = f"{plan.id}: {kind}: {error}"
        return Crashed(Result(check, Verdict.ERROR, message=why), levels, why)
    except BrokenWorkload as error:
        return Crashed(Result(check, Verdict.FAIL, message=str(error)), levels)
    levels |= {"reached": "none" if report.reached is None else str(report.reached), "sampled": not report.complete}
    states = {
        str(model): {"total": tally.total, "tried": tally.tried, "bad": tally.bad_count}
        for model, tally in report.states.items()
    }
    if report.satisfied:
        return Crashed(Result(check, Verdict.PASS), levels, states=states)
    worst = report.first_bad
    said = f": {worst.judgement.damage}: {worst.judgement.reason}" if worst is not None else ""
    message = f"crash level {levels['reached']}, {asked} is asked for{said}"
    return Crashed(Result(check, Verdict.FAIL, message=message), levels, states=states)
