"""Real failures instead of modelled ones: the process is killed at every call, and calls are made to fail.

A kill also checks the model: the tree after the kill must be one of the trees of the model `kill`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.trial.crash.operation import Acknowledge, Traced
from conformance.trial.crash.recording import Interrupted, Recording, Stage, interrupt
from conformance.trial.crash.recovery import examine, given
from conformance.trial.crash.report import Damage, Judgement, Reading, Sweep
from conformance.trial.crash.strace import Injection
from conformance.trial.crash.workload import AnswerKind, CrashWorkload

_ERRORS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("fsync", "fdatasync", "sync", "syncfs"), "error=EIO"),
    **dict.fromkeys(("write", "writev", "pwrite64", "pwritev", "pwritev2"), "error=ENOSPC"),
    **dict.fromkeys(("unlink", "unlinkat"), "error=EACCES"),
}


Judge = Callable[[Reading, int], Judgement]  # of a reading after so many answers


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failure to inject, at which operation, and in which step."""

    injection: Injection
    text: str
    step: int


_Run = tuple[_Failure, Interrupted]


def kill_sweep(stage: Stage, recording: Recording, judge: Judge) -> Sweep:
    """Kill the backend at every operation of the recorded run."""
    runs = _runs(stage, recording, "kill", list(_failures(recording.traced, "signal=KILL")))
    trees = (recording.replay.whole(at) for at in range(len(recording.traced) + 1))
    known = {frozenset(tree.digests().items()) for tree in trees}
    findings = [
        f"{failure.text}: killed there, it leaves a tree that the model does not know"
        for failure, left in runs
        if frozenset(left.volume.digests().items()) not in known
    ]
    return _swept(stage, "kill", runs, findings, judge)


def error_sweep(stage: Stage, recording: Recording, judge: Judge) -> Sweep:
    """Let every fsync fail with EIO, every write with ENOSPC and every unlink with EACCES, one in each run."""
    runs = _runs(stage, recording, "error", list(_failures(recording.traced, None)))
    findings = [
        f"{failure.text}: {stage.workload.steps[failure.step].name} is acknowledged although this failed"
        for failure, left in runs
        if failure.injection.effect == "error=EIO" and _acknowledged(left, failure.step, stage.workload)
    ]
    return _swept(stage, "error", runs, findings, judge)


def _acknowledged(left: Interrupted, step: int, workload: CrashWorkload) -> bool:
    given = len(left.answers) > step and left.answers[step].kind is AnswerKind.RESULT
    return given and workload.steps[step].acknowledged


def _failures(traced: Sequence[Traced], effect: str | None) -> Iterator[_Failure]:
    """The failures to inject: one at each system call, although a call may be several operations."""
    seen: set[tuple[str, int]] = set()
    answers = 0
    for number, one in enumerate(traced):
        if isinstance(one.operation, Acknowledge):
            answers = one.operation.answers
            continue
        injected = effect or _ERRORS.get(one.call)
        if injected is None or (one.call, one.ordinal) in seen:
            continue
        seen.add((one.call, one.ordinal))
        text = f"{injected} at operation {number + 1}, {one.text}"
        yield _Failure(Injection(one.call, one.ordinal, injected), text, answers)


def _runs(stage: Stage, recording: Recording, name: str, failures: Sequence[_Failure]) -> list[_Run]:
    """One run for each failure."""
    stage.progress.stage(f"{name} sweep", len(failures))
    runs = []
    for failure in failures:
        runs.append((failure, interrupt(stage, recording.initial, failure.injection)))
        stage.progress.step()
    return runs


def _swept(stage: Stage, name: str, runs: Sequence[_Run], findings: list[str], judge: Judge) -> Sweep:
    """The findings about the runs, with the damage that is left after recovery."""
    reached = sum(left.reached for _, left in runs)
    if runs and not reached:
        findings.append("no injected failure took effect: the runs of this backend do not repeat")
    readings = examine(stage, [given(left.volume) for _, left in runs], f"trees of the {name} sweep")
    for (failure, left), reading in zip(runs, readings, strict=True):
        judgement = judge(reading, sum(answer.usable for answer in left.answers))
        if judgement.damage is not Damage.NONE:
            findings.append(f"{failure.text}: {judgement.damage}: {judgement.reason}")
    return Sweep(name, reached, len(runs), tuple(findings))
