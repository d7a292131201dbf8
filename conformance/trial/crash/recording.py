"""One real run of a backend under strace: the operations on the tree, and the tree after every answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from conformance.backend.carrier import StandIn
from conformance.backend.driver import Driver
from conformance.backend.outcome import describe
from conformance.backend.resolve import BackendCommand
from conformance.backend.scheduler import Conversation
from conformance.trial.crash.operation import (
    Acknowledge,
    DiskImage,
    Operation,
    StrangeFile,
    TracedOperation,
    materialise,
    snapshot,
)
from conformance.trial.crash.reconstruction import TRACED, Untraceable, reconstruct
from conformance.trial.crash.states import CrashTrees
from conformance.trial.crash.strace import Injection, events, interrupted, traced
from conformance.trial.crash.workload import Answer, CrashWorkload, WorkloadClient, WorkloadStep, answers_by_event
from conformance.trial.options import Progress

LIVE: Final = "live"  # the folder of the recorded run


class BrokenWorkload(Exception):
    """A workload fails even when nothing interrupts it; says at which step, and with which answer.

    `stderr` is the last line that the backend wrote there: for people, never for a record.
    """

    def __init__(self, message: str, stderr: str = "") -> None:
        super().__init__(message)
        self.stderr = stderr


@dataclass(frozen=True)
class Recording:
    """The tree at the start, what was done to it, and the tree after each answer."""

    initial: DiskImage
    traced: tuple[TracedOperation, ...]
    volumes: tuple[DiskImage, ...]  # after 0, 1, 2, ... answers

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations alone."""
        return tuple(one.operation for one in self.traced)

    @cached_property
    def replay(self) -> CrashTrees:
        """Makes every tree of this run."""
        return CrashTrees(self.initial, self.operations)


@dataclass(frozen=True, slots=True)
class RecordingSetup:
    """One backend in one workload: its command, strace, a temporary folder, the timeout in seconds."""

    command: BackendCommand
    strace: str
    scratch: Path
    timeout: float
    questioner: WorkloadClient
    workload: CrashWorkload
    progress: Progress
    stand_in: StandIn | None = None  # answers the calls that the backend does not declare
    declared: frozenset[str] | None = None

    def driver(self, command: BackendCommand | None = None) -> Driver:
        """A driver of the backend, not traced unless the command says so."""
        dialect, codebook = self.questioner.dialect, self.questioner.codebook
        # Tolerant: a recovery that crashes on one tree says nothing about the next.
        return Driver(
            command or self.command,
            dialect,
            codebook,
            self.timeout,
            tolerant=True,
            stand_in=self.stand_in,
            declared=self.declared,
        )


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """The tree and the answers that a run left in which strace injected a failure."""

    volume: DiskImage
    answers: tuple[Answer, ...]
    reached: bool  # whether the failure took effect


def record(setup: RecordingSetup, initial: DiskImage, steps: Sequence[WorkloadStep], name: str = LIVE) -> Recording:
    """Ask every step of a traced process; raises BrokenWorkload, Untraceable."""
    folder, log = setup.scratch / name, setup.scratch / "trace.log"
    materialise(initial, folder)
    volumes = [modelled(folder)]

    def goes_on(step: WorkloadStep, answer: Answer) -> bool:
        if not answer.usable:
            raise BrokenWorkload(f"the step {step.name} is answered by {answer} though nothing interrupts it")
        volumes.append(modelled(folder))
        return True

    driver = setup.driver(traced(setup.command, setup.strace, log, TRACED))
    talk = partial(setup.questioner.ask, steps, folder, goes_on)
    (finished,) = driver.run([Conversation("record", talk, alone=True)])
    if finished.lost is not None:
        said = finished.stderr.strip().splitlines()
        raise BrokenWorkload(
            f"the traced backend was lost after {len(volumes) - 1} steps: {describe(finished.lost)}",
            said[-1] if said else "",
        )
    with log.open("rb") as lines:
        happened = list(events(lines))
    answers = answers_by_event(happened, setup.questioner.dialect, len(steps))
    operations = reconstruct(happened, str(folder), volumes[0], str(Path.cwd()), answers)
    recording = Recording(volumes[0], operations, tuple(volumes))
    _require_explained(recording)
    return recording


def interrupt(setup: RecordingSetup, initial: DiskImage, injection: Injection) -> InterruptedRun:
    """Ask the steps of a process in which strace injects a failure, until one is refused or the process is lost."""
    name = f"{injection.call}-{injection.ordinal}-{injection.effect}"
    folder = setup.scratch / name
    materialise(initial, folder)
    answers: list[Answer] = []  # also of a process that is lost

    def goes_on(step: WorkloadStep, answer: Answer) -> bool:
        answers.append(answer)
        return answer.usable

    talk = partial(setup.questioner.ask, setup.workload.steps, folder, goes_on)
    log = setup.scratch / f"{name}.log"
    command = interrupted(setup.command, setup.strace, log, injection)
    (finished,) = setup.driver(command).run([Conversation("interrupt", talk, alone=True)])
    reached = finished.lost is not None or b"(INJECTED)" in log.read_bytes()
    return InterruptedRun(modelled(folder), tuple(answers), reached)


def modelled(folder: Path) -> DiskImage:
    """The tree below a folder; raises Untraceable if it has anything but files and folders."""
    try:
        return snapshot(folder)
    except StrangeFile as strange:
        raise Untraceable(str(strange)) from None


def _require_explained(recording: Recording) -> None:
    """Check the model against the disk: after every answer the tree is what the operations make of it.

    What a backend still does after it answered may or may not be on the disk when the harness looks.
    """
    operations = recording.operations
    bounds = [k + 1 for k, operation in enumerate(operations) if isinstance(operation, Acknowledge)]
    for answer, (start, volume) in enumerate(zip(bounds, recording.volumes[1:], strict=False), 1):
        end = bounds[answer] if answer < len(bounds) else len(operations) + 1
        wanted = volume.digests()
        if not any(recording.replay.without_loss(at).digests() == wanted for at in range(start, end)):
            raise Untraceable(f"the tree after answer {answer} is not what the traced calls make of it")
