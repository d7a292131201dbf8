"""Further tests of a recorded run: real failures at every call, and the order of writes.

The process is killed at every call, which also checks the model: the tree after the kill must be one of the trees of
the model `kill`. Calls are made to fail. And a file must be durable before it is renamed, linked or acknowledged: a run
that fails this has a bad crash state, one that passes may still write wrong bytes. Removals need not be durable, and
neither do files without a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.trial.crash.operation import (
    Acknowledge,
    Create,
    Data,
    Entry,
    Link,
    Operation,
    Rename,
    TracedOperation,
    Truncate,
    Unlink,
    Write,
    folders_of,
)
from conformance.trial.crash.recording import InterruptedRun, Recording, RecordingSetup, interrupt
from conformance.trial.crash.recovery import Judge, examine, known_tree
from conformance.trial.crash.report import Damage, SweepResult
from conformance.trial.crash.states import CrashModel, crash_points
from conformance.trial.crash.strace import Injection
from conformance.trial.crash.workload import AnswerKind, CrashWorkload

_ERRORS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("fsync", "fdatasync", "sync", "syncfs"), "error=EIO"),
    **dict.fromkeys(("write", "writev", "pwrite64", "pwritev", "pwritev2"), "error=ENOSPC"),
    **dict.fromkeys(("unlink", "unlinkat"), "error=EACCES"),
}


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failure to inject, at which operation, and in which step."""

    injection: Injection
    text: str
    step: int


_Run = tuple[_Failure, InterruptedRun]


def kill_sweep(setup: RecordingSetup, recording: Recording, judge: Judge) -> SweepResult:
    """Kill the backend at every operation of the recorded run."""
    runs = _runs(setup, recording, "kill", list(_failures(recording.traced, "signal=KILL")))
    trees = (recording.replay.without_loss(at) for at in range(len(recording.traced) + 1))
    known = {frozenset(tree.digests().items()) for tree in trees}
    findings = [
        f"{failure.text}: killed there, it leaves a tree that the model does not know"
        for failure, left in runs
        if frozenset(left.volume.digests().items()) not in known
    ]
    return _swept(setup, "kill", runs, findings, judge)


def error_sweep(setup: RecordingSetup, recording: Recording, judge: Judge) -> SweepResult:
    """Let every fsync fail with EIO, every write with ENOSPC and every unlink with EACCES, one in each run."""
    runs = _runs(setup, recording, "error", list(_failures(recording.traced, None)))
    findings = [
        f"{failure.text}: {setup.workload.steps[failure.step].name} is acknowledged although this failed"
        for failure, left in runs
        if failure.injection.effect == "error=EIO" and _acknowledged(left, failure.step, setup.workload)
    ]
    return _swept(setup, "error", runs, findings, judge)


def _acknowledged(left: InterruptedRun, step: int, workload: CrashWorkload) -> bool:
    given = len(left.answers) > step and left.answers[step].kind is AnswerKind.RESULT
    return given and workload.steps[step].acknowledged


def _failures(traced: Sequence[TracedOperation], effect: str | None) -> Iterator[_Failure]:
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


def _runs(setup: RecordingSetup, recording: Recording, name: str, failures: Sequence[_Failure]) -> list[_Run]:
    setup.progress.stage(f"{name} sweep", len(failures))
    runs = []
    for failure in failures:
        runs.append((failure, interrupt(setup, recording.initial, failure.injection)))
        setup.progress.step()
    return runs


def _swept(setup: RecordingSetup, name: str, runs: Sequence[_Run], findings: list[str], judge: Judge) -> SweepResult:
    """The findings about the runs, with the damage that is left after recovery."""
    reached = sum(left.reached for _, left in runs)
    if runs and not reached:
        findings.append("no injected failure took effect: the runs of this backend do not repeat")
    readings = examine(setup, [known_tree(left.volume) for _, left in runs], f"trees of the {name} sweep")
    for (failure, left), reading in zip(runs, readings, strict=True):
        judgement = judge(reading, sum(answer.usable for answer in left.answers))
        if judgement.damage is not Damage.NONE:
            findings.append(f"{failure.text}: {judgement.damage}: {judgement.reason}")
    return SweepResult(name, reached, len(runs), tuple(findings))


Name = tuple[int, str]  # the inode of a folder, and a name in it


def order_sweep(workload: CrashWorkload, recording: Recording) -> SweepResult:
    """Check that everything a rename, link or answer depends on is durable before it, as POSIX promises."""
    traced = recording.traced
    findings: list[str] = []
    looked_at = 0
    for point in crash_points(recording.operations, CrashModel.POSIX):
        if point.at == len(traced):
            break
        operation = traced[point.at].operation
        names = _Names(recording.operations[: point.at])
        if isinstance(operation, Acknowledge):
            looked_at += 1
            step = workload.steps[operation.answers - 1]
            if step.acknowledged:
                ending = f"is not durable when {step.name} is answered"
                findings += [
                    f"{traced[k].text}: it {ending}" for k in point.pending if names.keeps(traced[k].operation)
                ]
        elif isinstance(operation, Rename | Link):
            looked_at += 1
            findings += _named_early(traced, point.at, operation, point.pending, names)
    return SweepResult("order", looked_at, looked_at, tuple(findings), "names and answers looked at")


def _named_early(
    traced: Sequence[TracedOperation], at: int, named: Rename | Link, pending: Sequence[int], names: _Names
) -> Iterator[str]:
    """The operations on a named file that are not durable when it gets the name."""
    for k in pending:
        operation = traced[k].operation
        if names.keeps(operation) and names.is_within(operation, named.inode):
            yield f"{traced[at].text}: {traced[k].text} is not durable then"


class _Names:
    """The names after some operations; names from before the recording are unknown, and never asked for."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._inodes: dict[Name, int] = {}
        self._taken: set[int] = set()  # inodes that have lost a name
        for operation in operations:
            match operation:
                case Create(folder, name, inode) | Link(folder, name, inode):
                    self._inodes[folder, name] = inode
                case Unlink(folder, name, inode):
                    self._inodes.pop((folder, name), None)
                    self._taken.add(inode)
                case Rename(folder, name, to_folder, to_name, inode, swapped):
                    self._inodes.pop((folder, name), None)
                    if swapped is not None:
                        self._inodes[folder, name] = swapped
                    elif (to_folder, to_name) in self._inodes:
                        self._taken.add(self._inodes[to_folder, to_name])
                    self._inodes[to_folder, to_name] = inode
        self._folders = {inode: folder for (folder, _), inode in self._inodes.items()}

    def keeps(self, operation: Operation) -> bool:
        """Whether the effect of an operation can still be reached by a name."""
        match operation:
            case Write(inode) | Truncate(inode):
                return inode in self._folders or inode not in self._taken
            case Create(folder, name, inode) | Link(folder, name, inode):
                return self._inodes.get((folder, name)) == inode
            case Rename(_, _, folder, name, inode):
                return self._inodes.get((folder, name)) == inode
        return False

    def is_within(self, operation: Operation, inode: int) -> bool:
        """Whether an operation changed a file, or an entry of a folder, that is this inode or below it."""
        assert isinstance(operation, Data | Entry)
        places = {operation.inode} if isinstance(operation, Write | Truncate) else set(folders_of(operation))
        while places:
            if inode in places:
                return True
            places = {self._folders[place] for place in places if place in self._folders}
        return False
