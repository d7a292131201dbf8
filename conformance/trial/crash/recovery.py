"""Recovery from the trees that a crash left, examined, and interrupted in its turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.backend.outcome import Side, describe
from conformance.backend.scheduler import Conversation, Talk
from conformance.trial.crash.operation import StrangeFile, Traced, Volume, materialise, remove, snapshot
from conformance.trial.crash.recording import Recording, Stage, record
from conformance.trial.crash.report import OK, BadState, Reading, Verdict, judge
from conformance.trial.crash.states import CrashState, Model, Replay, crash_states, first_states
from conformance.trial.crash.strace import NotRun
from conformance.trial.crash.workload import Answer, Kind, Plan, Questioner, Roots, Step
from conformance.trial.options import Progress


def examine(
    stage: Stage, plan: Plan, volumes: Iterable[tuple[str, Callable[[], Volume]]]
) -> Iterator[tuple[str, Reading]]:
    """The reading of every tree by its key; a backend that is lost over one has not recovered it.

    A tree is built when its turn comes and removed when it has been read, so that a thousand take the room of a few.
    """
    folder = stage.scratch / "states"
    folder.mkdir(exist_ok=True)
    conversations = [
        Conversation(key, lambda key=key, make=make: _talk(stage.questioner, plan, make, folder / key))  # type: ignore[misc]
        for key, make in volumes
    ]
    for finished in stage.driver().hold(conversations):
        if finished.finding is not None:
            yield finished.key, finished.finding
        else:
            assert finished.lost is not None
            if finished.side is Side.INSTALLATION:
                raise NotRun(f"the stand-in cannot answer: {describe(finished.lost)}")
            yield finished.key, Reading((Answer(Kind.BAD, describe(finished.lost)),), (), True, True)


def _talk(questioner: Questioner, plan: Plan, make: Callable[[], Volume], folder: Path) -> Talk[Reading]:
    # Held again after a crash of somebody else's, it must find the tree as it was.
    remove(folder)
    volume = make()
    materialise(volume, folder)
    roots = Roots(folder)
    try:
        recovered: tuple[Answer, ...] = ()
        before = volume.digests()
        if plan.recover:
            recovered = yield from questioner.ask(plan.recover, roots)
            after = snapshot(folder).digests()
            again = yield from questioner.ask(plan.recover, roots)
            left = snapshot(folder).digests()
            answers = yield from questioner.ask(plan.verify, roots)
            fine = all(answer.kind in (Kind.RESULT, Kind.ABSENT) for answer in again)
            return Reading(recovered, answers, fine and after == left, before != after)
        answers = yield from questioner.ask(plan.verify, roots)
        if snapshot(folder).digests() == before:
            return Reading(recovered, answers, stable=True, changed=False)
        second = yield from questioner.ask(plan.verify, roots)
        return Reading(recovered, answers, answers == second, changed=True)
    except StrangeFile as strange:
        return Reading((Answer(Kind.BAD, str(strange)),), (), True, True)
    finally:
        remove(folder)


@dataclass(slots=True)
class Interruption:
    """How many classes of recoveries were interrupted, the models of their states, and what went wrong."""

    classes: int = 0
    states: list[Model] = field(default_factory=list)
    tried: list[Model] = field(default_factory=list)
    bad: list[BadState] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outer:
    """The crash states that a backend recovered from well, and how."""

    replay: Replay
    traced: Sequence[Traced]
    states: Sequence[CrashState]
    readings: Mapping[bytes, Reading]


def interrupt_recoveries(
    stage: Stage,
    plan: Plan,
    models: Sequence[Model],
    outer: Outer,
    most: int | None,
    each: int | None,
    progress: Progress,
) -> Interruption:
    """Interrupt one recovery of every class, at most so many classes and so many states of each."""
    found = Interruption()
    begun = _representatives(outer, bool(plan.recover))[:most]
    calls = plan.recover or tuple(step for step in plan.verify if isinstance(step, Step))
    progress.stage("recoveries recorded", len(begun))
    inner: dict[str, _Inner] = {}
    for number, state in enumerate(begun):
        recording = record(stage, state.volume(outer.replay), calls, f"recovery-{number}")
        replay = Replay(recording.initial, recording.operations)
        states = crash_states(replay, recording.operations, models)
        tried = first_states(states, each)
        found.classes += 1
        found.states += [max(state.model, one.model) for one in states]
        found.tried += [max(state.model, one.model) for one in tried]
        inner |= {f"{number}-{k}": _Inner(state, recording, replay, one) for k, one in enumerate(tried)}
        progress.step()
    progress.stage("recoveries interrupted", len(inner))
    names = [step.name for step in plan.verify]
    for key, reading in examine(stage, plan, [(key, one.volume) for key, one in inner.items()]):
        one = inner[key]
        judgement = judge(reading, names, [outer.readings[one.begun.digest].answers], 0, 0)
        if judgement.verdict is not Verdict.OK:
            first = BadState(one.begun.model, one.begun, OK, outer.traced)
            model = max(one.begun.model, one.state.model)
            found.bad.append(BadState(model, one.state, judgement, one.recording.traced, first))
        progress.step()
    return found


@dataclass(frozen=True, slots=True)
class _Inner:
    """A crash state of the recovery that began in a crash state."""

    begun: CrashState
    recording: Recording
    replay: Replay
    state: CrashState

    def volume(self) -> Volume:
        return self.state.volume(self.replay)


def _representatives(outer: Outer, recovers: bool) -> list[CrashState]:
    """The first state of every class: the same names in the tree, the same answers after recovery.

    What recovery changes comes before what it leaves as it is.
    """
    classes: dict[tuple[str, ...], CrashState] = {}
    for state in sorted(outer.states, key=lambda one: (not outer.readings[one.digest].changed, one.model, one.at)):
        reading = outer.readings[state.digest]
        if not (reading.changed or recovers):
            continue  # reading alone, without a trace: nothing to interrupt
        names = tuple(path for path, _ in state.volume(outer.replay).paths())
        classes.setdefault((*names, repr(reading.recovered), repr(reading.answers)), state)
    return list(classes.values())
