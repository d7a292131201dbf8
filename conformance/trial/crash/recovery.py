"""Recovery interrupted in its turn: each class of crash states is recovered under strace, and that run enumerated too.

What a second recovery then finds must be what the uninterrupted one found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conformance.trial.crash.durability import Model
from conformance.trial.crash.examination import examine
from conformance.trial.crash.operation import Traced
from conformance.trial.crash.recording import Stage, record
from conformance.trial.crash.replay import Replay
from conformance.trial.crash.report import BadState
from conformance.trial.crash.states import CrashState, crash_states, first_states
from conformance.trial.crash.verdict import OK, Reading, Verdict, judge
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
    states = _representatives(outer, bool(plan.recover))[:most]
    progress.stage("recoveries interrupted", len(states))
    for number, state in enumerate(states):
        _interrupt(stage, plan, models, outer, state, each, f"recovery-{number}", found)
        progress.step()
    return found


def _interrupt(
    stage: Stage,
    plan: Plan,
    models: Sequence[Model],
    outer: Outer,
    begun: CrashState,
    each: int | None,
    name: str,
    found: Interruption,
) -> None:
    calls = plan.recover or tuple(step for step in plan.verify if isinstance(step, Step))
    recording = record(stage, begun.volume(outer.replay), calls, name)
    replay = Replay(recording.initial, recording.operations)
    states = crash_states(replay, recording.operations, models)
    tried = first_states(states, each)
    found.classes += 1
    found.states += [max(begun.model, state.model) for state in states]
    found.tried += [max(begun.model, state.model) for state in tried]
    wanted = outer.readings[begun.digest].answers
    by_key = {f"{name}-{k}": state for k, state in enumerate(tried)}
    volumes = [(key, lambda state=state: state.volume(replay)) for key, state in by_key.items()]
    for key, reading in examine(stage, plan, volumes):
        judgement = judge(reading, [step.name for step in plan.verify], [wanted], 0, 0)
        if judgement.verdict is not Verdict.OK:
            state = by_key[key]
            first = BadState(begun.model, begun, OK, outer.traced)
            found.bad.append(BadState(max(begun.model, state.model), state, judgement, recording.traced, first))


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
