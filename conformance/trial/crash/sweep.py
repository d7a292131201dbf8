"""Real failures instead of modelled ones: the process killed at every call, and every call that can fail made to.

A kill checks the model as well: the tree that is left must be one of those that the model `kill` knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from conformance.trial.crash.operation import Acknowledge, Traced
from conformance.trial.crash.recording import FINE, Interrupted, Recording, Stage, interrupt
from conformance.trial.crash.recovery import examine
from conformance.trial.crash.report import Judgement, Reading, Sweep, Verdict
from conformance.trial.crash.states import Replay
from conformance.trial.crash.strace import Injection
from conformance.trial.crash.workload import Kind, Plan
from conformance.trial.options import Progress

_ERRORS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("fsync", "fdatasync", "sync", "syncfs"), "error=EIO"),
    **dict.fromkeys(("write", "writev", "pwrite64", "pwritev", "pwritev2"), "error=ENOSPC"),
    **dict.fromkeys(("unlink", "unlinkat"), "error=EACCES"),
}


class Judge(Protocol):
    """How a reading is judged once so many steps were answered."""

    def __call__(self, reading: Reading, answers: int) -> Judgement:
        """The judgement."""


@dataclass(frozen=True, slots=True)
class _Thrown:
    """One run with a failure thrown in: what, at which operation, in which step."""

    injection: Injection
    number: int
    text: str
    step: int


def kill_sweep(
    stage: Stage, plan: Plan, recording: Recording, replay: Replay, judge: Judge, progress: Progress
) -> Sweep:
    """Kill the backend at every operation of the recorded run."""
    thrown = list(_thrown(recording.traced, "signal=KILL"))
    left = _run(stage, plan, recording, thrown, progress, "kill sweep")
    known = {frozenset(replay.whole(at).digests().items()) for at in range(len(recording.traced) + 1)}
    findings = [
        f"{one.text}: killed there, it leaves a tree that the model does not know"
        for one, rest in zip(thrown, left, strict=True)
        if frozenset(rest.volume.digests().items()) not in known
    ]
    return _swept("kill", left, (*findings, *_judged(stage, plan, thrown, left, judge)))


def error_sweep(stage: Stage, plan: Plan, recording: Recording, judge: Judge, progress: Progress) -> Sweep:
    """Let every fsync fail with EIO, every write with ENOSPC and every unlink with EACCES, one in each run."""
    thrown = list(_thrown(recording.traced, None))
    left = _run(stage, plan, recording, thrown, progress, "error sweep")
    findings = [
        f"{one.text}: {plan.steps[one.step].name} is acknowledged although this failed"
        for one, rest in zip(thrown, left, strict=True)
        if one.injection.effect == "error=EIO" and _acknowledged(rest, one.step, plan)
    ]
    return _swept("error", left, (*findings, *_judged(stage, plan, thrown, left, judge)))


def _swept(name: str, left: Sequence[Interrupted], findings: tuple[str, ...]) -> Sweep:
    reached = sum(rest.reached for rest in left)
    if left and not reached:
        findings = (*findings, "nothing that was thrown took effect: the runs of this backend do not repeat")
    return Sweep(name, reached, len(left), findings)


def _acknowledged(rest: Interrupted, step: int, plan: Plan) -> bool:
    given = len(rest.answers) > step and rest.answers[step].kind is Kind.RESULT
    return given and plan.steps[step].acknowledged


def _thrown(traced: Sequence[Traced], effect: str | None) -> Iterator[_Thrown]:
    """What is thrown where: each system call once, although it may be several operations."""
    seen: set[tuple[str, int]] = set()
    answers = 0
    for number, one in enumerate(traced):
        if isinstance(one.operation, Acknowledge):
            answers = one.operation.answers
            continue
        thrown = effect or _ERRORS.get(one.call)
        if thrown is None or (one.call, one.ordinal) in seen:
            continue
        seen.add((one.call, one.ordinal))
        text = f"{thrown} at operation {number + 1}, {one.text}"
        yield _Thrown(Injection(one.call, one.ordinal, thrown), number, text, answers)


def _run(
    stage: Stage, plan: Plan, recording: Recording, thrown: Sequence[_Thrown], progress: Progress, name: str
) -> list[Interrupted]:
    progress.stage(name, len(thrown))
    left = []
    for one in thrown:
        folder = f"{one.injection.call}-{one.injection.ordinal}-{one.injection.effect}"
        left.append(interrupt(stage, recording.initial, plan.steps, one.injection, folder))
        progress.step()
    return left


def _judged(
    stage: Stage, plan: Plan, thrown: Sequence[_Thrown], left: Sequence[Interrupted], judge: Judge
) -> Iterator[str]:
    keys = [f"{one.injection.call}-{one.injection.ordinal}" for one in thrown]
    volumes = {key: rest.volume for key, rest in zip(keys, left, strict=True)}
    wanted = [(key, lambda volume=volume: volume) for key, volume in volumes.items()]
    readings = dict(examine(stage, plan, wanted))
    for key, one, rest in zip(keys, thrown, left, strict=True):
        answers = sum(answer.kind in FINE for answer in rest.answers)
        judgement = judge(readings[key], answers)
        if judgement.verdict is not Verdict.OK:
            yield f"{one.text}: {judgement.verdict}: {judgement.reason}"
