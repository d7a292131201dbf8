"""One real run of a backend under strace: what it did to the tree, and the tree after every answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.backend.carrier import StandIn
from conformance.backend.driver import Driver
from conformance.backend.outcome import describe
from conformance.backend.resolve import BackendCommand
from conformance.backend.scheduler import Conversation, Talk
from conformance.trial.crash.operation import Acknowledge, Operation, Traced, Volume, materialise, snapshot
from conformance.trial.crash.reconstruction import Untraceable, reconstruct
from conformance.trial.crash.states import Replay
from conformance.trial.crash.strace import Injection, events, interrupted, traced
from conformance.trial.crash.workload import Answer, Kind, Questioner, Roots, Step, answers_by_event

FINE: Final = frozenset({Kind.RESULT, Kind.ABSENT})


class BrokenWorkload(Exception):
    """A workload does not run through even when nothing interrupts it; says at which step, and what was answered.

    `stderr` is the last line that the backend wrote there: for people, never for a record.
    """

    def __init__(self, message: str, stderr: str = "") -> None:
        super().__init__(message)
        self.stderr = stderr


@dataclass(frozen=True, slots=True)
class Recording:
    """The tree at the start, what was done to it, and the tree as it stood after each answer."""

    initial: Volume
    traced: tuple[Traced, ...]
    volumes: tuple[Volume, ...]  # after 0, 1, 2, ... answers

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations alone."""
        return tuple(one.operation for one in self.traced)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where and how a backend is run: its command, strace, a folder of its own, seconds of patience."""

    command: BackendCommand
    strace: str
    scratch: Path
    timeout: float
    questioner: Questioner
    stand_in: StandIn | None = None  # for what the backend does not declare
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
class Interrupted:
    """What is left of a run into which strace threw something: the tree, and the answers that came."""

    volume: Volume
    answers: tuple[Answer, ...]
    reached: bool  # whether the failure took effect


def record(stage: Stage, initial: Volume, steps: Sequence[Step], name: str = "live") -> Recording:
    """Ask every step of a traced process; raises BrokenWorkload, Untraceable."""
    folder, log = stage.scratch / name, stage.scratch / "trace.log"
    materialise(initial, folder)
    volumes = [snapshot(folder)]
    roots = Roots(folder)

    def talk() -> Talk[None]:
        given: dict[str, object] = {}
        for step in steps:
            try:
                call = stage.questioner.call(step, roots, given)
            except KeyError as error:
                raise BrokenWorkload(f"the step {step.name} uses {error}, which was not answered") from None
            (outcome,) = yield [call]
            answer = stage.questioner.answer(step, outcome)
            if answer.kind not in FINE:
                raise BrokenWorkload(f"the step {step.name} is answered by {answer} though nothing interrupts it")
            given[step.name] = getattr(outcome, "value", None)
            volumes.append(snapshot(folder))

    driver = stage.driver(traced(stage.command, stage.strace, log))
    (finished,) = driver.hold([Conversation("record", talk, alone=True)])
    if finished.lost is not None:
        said = finished.stderr.strip().splitlines()
        raise BrokenWorkload(
            f"the traced backend was lost after {len(volumes) - 1} steps: {describe(finished.lost)}",
            said[-1] if said else "",
        )
    with log.open("rb") as lines:
        happened = list(events(lines))
    answers = answers_by_event(happened, stage.questioner.dialect, len(steps))
    by_event = {id(happened[index]): count for index, count in answers.items()}
    done = reconstruct(happened, str(folder), volumes[0], str(Path.cwd()), lambda event: by_event.get(id(event)))
    recording = Recording(volumes[0], done, tuple(volumes))
    _require_explained(recording)
    return recording


def interrupt(stage: Stage, initial: Volume, steps: Sequence[Step], injection: Injection, name: str) -> Interrupted:
    """Ask the steps of a process into which strace throws a failure, until one is refused or nothing answers."""
    folder = stage.scratch / name
    materialise(initial, folder)
    roots = Roots(folder)
    answers: list[Answer] = []

    def talk() -> Talk[None]:
        given: dict[str, object] = {}
        for step in steps:
            try:
                call = stage.questioner.call(step, roots, given)
            except KeyError:
                return  # what it needs was not answered: the failure struck earlier
            (outcome,) = yield [call]
            answers.append(stage.questioner.answer(step, outcome))
            if answers[-1].kind not in FINE:
                return
            given[step.name] = getattr(outcome, "value", None)

    log = stage.scratch / f"{name}.log"
    command = interrupted(stage.command, stage.strace, log, injection)
    (finished,) = stage.driver(command).hold([Conversation("interrupt", talk, alone=True)])
    reached = finished.lost is not None or b"(INJECTED)" in log.read_bytes()
    return Interrupted(snapshot(folder), tuple(answers), reached)


def _require_explained(recording: Recording) -> None:
    """Hold the model to the disk: after every answer the tree is what the operations make of it.

    What a backend still does after it answered may or may not be on the disk when the harness looks.
    """
    operations = recording.operations
    replay = Replay(recording.initial, operations)
    bounds = [k + 1 for k, operation in enumerate(operations) if isinstance(operation, Acknowledge)]
    for answer, (start, volume) in enumerate(zip(bounds, recording.volumes[1:], strict=False), 1):
        end = bounds[answer] if answer < len(bounds) else len(operations) + 1
        wanted = volume.digests()
        if not any(replay.whole(at).digests() == wanted for at in range(start, end)):
            raise Untraceable(f"the tree after answer {answer} is not what the traced calls make of it")
