"""Recovery interrupted in its turn: each class of crash states is recovered under strace, and that run enumerated too.

What a second recovery then finds must be what the uninterrupted one found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conformance.trial.crash.durability import Model
from conformance.trial.crash.examination import examine
from conformance.trial.crash.operation import Traced
from conformance.trial.crash.recording import Recording, Stage, record
from conformance.trial.crash.replay import Replay
from conformance.trial.crash.report import BadState
from conformance.trial.crash.states import CrashState, crash_states, first_states
from conformance.trial.crash.verdict import OK, Reading, Verdict, judge
from conformance.trial.crash.volume import Volume
from conformance.trial.crash.workload import Plan, Step
from conformance.trial.options import Progress


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
