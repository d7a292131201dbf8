"""Recovery from the trees that a crash left: what a backend reads there, and what a second crash does to the recovery.

Writes that a killed workload did not make durable are still in the page cache when recovery begins. A power loss during
or after recovery loses them, unless recovery makes them durable. A newly written tree would be durable as a whole, so
the workload and the recovery after it count as one run.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from conformance.backend.outcome import Side, describe
from conformance.backend.scheduler import Conversation, Talk
from conformance.trial.crash.operation import (
    TOP,
    Create,
    DiskImage,
    StrangeFile,
    TracedOperation,
    materialise,
    renumbered,
    snapshot,
)
from conformance.trial.crash.recording import Recording, RecordingSetup, record
from conformance.trial.crash.report import UNDAMAGED, BadState, Damage, ExplainedDamage, TreeAnswers, judge
from conformance.trial.crash.states import CrashModel, CrashState, CrashTrees, crash_states, first_states
from conformance.trial.crash.strace import NotRun
from conformance.trial.crash.workload import Answer, AnswerKind, CrashWorkload, WorkloadClient


@dataclass(frozen=True)
class CombinedTrace:
    """The operations before a kill and those of the recovery after it; `killed` is the number before the kill."""

    traced: tuple[TracedOperation, ...]
    killed: int
    replay: CrashTrees

    def states(self, models: Sequence[CrashModel]) -> list[CrashState]:
        """The states of a power loss during or after recovery in which something done before the kill is gone.

        The latest crash points come first.
        """
        every = crash_states(self.replay, models, start=self.killed + 1)
        found = [state for state in every if any(one < self.killed for one in (*state.lost, *(state.torn or ())[:1]))]
        return sorted(found, key=lambda state: -state.at)


def is_kill(state: CrashState) -> bool:
    """Whether a crash lost nothing, as when the process is killed."""
    return not state.lost and state.torn is None


def inherited(outer: Recording, state: CrashState, recovery: Recording) -> CombinedTrace:
    """The run that was killed in a state, and the recovery from it.

    The recording of the recovery numbers the inodes anew; the paths that both trees have match the two numberings.
    """
    known = dict(outer.replay.without_loss(state.at).paths())
    numbers = {TOP: TOP} | {inode: known[path] for path, inode in recovery.initial.paths()}
    made = {one.operation.inode for one in outer.traced if isinstance(one.operation, Create)}
    fresh = 1 + max({TOP, *outer.initial.folders, *outer.initial.files, *made})

    def number(inode: int) -> int:
        return numbers.get(inode, fresh + inode)

    own = tuple(
        replace(one, operation=renumbered(one.operation, number, state.answers, state.at)) for one in recovery.traced
    )
    traced = (*outer.traced[: state.at], *own)
    return CombinedTrace(traced, state.at, CrashTrees(outer.initial, [one.operation for one in traced]))


Maker = Callable[[], DiskImage]
MOST_INHERITED: Final = 400  # states of one recovery in which something done before the kill is gone


def examine(setup: RecordingSetup, makers: Sequence[Maker], what: str) -> list[TreeAnswers]:
    """The reading of every tree, in the order of `makers`; a backend that is lost on a tree has not recovered it.

    A tree is made when its turn comes and removed when it has been read, so that only a few exist at a time.
    """
    folder = setup.scratch / "states"
    folder.mkdir(exist_ok=True)
    setup.progress.stage(what, len(makers))
    conversations = [
        Conversation(f"{k}", partial(_talk, setup.questioner, setup.workload, make, folder / f"{k}"))
        for k, make in enumerate(makers)
    ]
    readings: dict[int, TreeAnswers] = {}
    for finished in setup.driver().run(conversations):
        if finished.lost is not None and finished.side is Side.INSTALLATION:
            raise NotRun(f"the stand-in cannot answer: {describe(finished.lost)}")
        reading = _unread(describe(finished.lost)) if finished.lost is not None else finished.finding
        assert reading is not None
        readings[int(finished.key)] = reading
        setup.progress.step()
    return [readings[k] for k in range(len(makers))]


def _unread(why: str) -> TreeAnswers:
    return TreeAnswers((Answer(AnswerKind.BAD, why),), (), stable=True, changed=True)


def known_tree(volume: DiskImage) -> Maker:
    """Makes a tree that is known already."""
    return lambda: volume


def _talk(
    questioner: WorkloadClient, workload: CrashWorkload, make: Callable[[], DiskImage], folder: Path
) -> Talk[TreeAnswers]:
    # The driver repeats a conversation after another one lost the process; it must find the tree as it was.
    shutil.rmtree(folder, ignore_errors=True)
    volume = make()
    materialise(volume, folder)
    try:
        before = volume.digests()
        if workload.recover:
            recovered = yield from questioner.ask(workload.recover, folder)
            after = snapshot(folder).digests()
            again = yield from questioner.ask(workload.recover, folder)
            stable = after == snapshot(folder).digests() and all(answer.usable for answer in again)
            answers = yield from questioner.ask(workload.verify, folder)
            return TreeAnswers(recovered, answers, stable, before != after)
        answers = yield from questioner.ask(workload.verify, folder)
        if snapshot(folder).digests() == before:
            return TreeAnswers((), answers, stable=True, changed=False)
        second = yield from questioner.ask(workload.verify, folder)
        return TreeAnswers((), answers, answers == second, changed=True)
    except StrangeFile as strange:
        return _unread(str(strange))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class Interruption:
    """How many classes of recoveries were interrupted, the models of their states, and the bad states."""

    classes: int = 0
    states: list[CrashModel] = field(default_factory=list)
    tried: list[CrashModel] = field(default_factory=list)
    bad: list[BadState] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecoveredStates:
    """The crash states of a recording from which a backend recovered, with its readings."""

    recording: Recording
    states: Sequence[CrashState]
    readings: Mapping[bytes, TreeAnswers]


Judge = Callable[[TreeAnswers, int], ExplainedDamage]  # of a reading after so many answers


def interrupt_recoveries(
    setup: RecordingSetup,
    models: Sequence[CrashModel],
    outer: RecoveredStates,
    judged: Judge,
    most: int | None,
    each: int | None,
) -> Interruption:
    """Interrupt one recovery of every class: at most `most` classes, and `each` states of one recovery.

    A recovery after a kill is also interrupted by power losses that take what the killed run did not make durable:
    at most MOST_INHERITED such states of each recovery.
    """
    found = Interruption()
    workload, progress = setup.workload, setup.progress
    begun = _representatives(outer, bool(workload.recover))[:most]
    progress.stage("recoveries recorded", len(begun))
    inner: list[tuple[CrashState, Recording, CrashState]] = []
    after_kills: list[tuple[CrashState, CombinedTrace, CrashState]] = []
    for number, state in enumerate(begun):
        recording = record(setup, state.volume(outer.recording.replay), workload.recovery, f"recovery-{number}")
        states = crash_states(recording.replay, models)
        tried = first_states(states, each)
        found.classes += 1
        found.states += [max(state.model, one.model) for one in states]
        found.tried += [max(state.model, one.model) for one in tried]
        inner += [(state, recording, one) for one in tried]
        if workload.recover and is_kill(state):
            run = inherited(outer.recording, state, recording)
            states = run.states(models)
            tried = first_states(states, min(MOST_INHERITED, each or MOST_INHERITED))
            found.states += [one.model for one in states]
            found.tried += [one.model for one in tried]
            after_kills += [(state, run, one) for one in tried]
        progress.step()
    makers = [partial(one.volume, recording.replay) for _, recording, one in inner]
    readings = examine(setup, makers, "recoveries interrupted")
    for (state, recording, one), reading in zip(inner, readings, strict=True):
        judgement = judge(reading, workload.reads, [outer.readings[state.digest].answers], 0, 0)
        if judgement.damage is not Damage.NONE:
            first = BadState(state.model, state, UNDAMAGED, outer.recording.traced)
            found.bad.append(BadState(max(state.model, one.model), one, judgement, recording.traced, first))
    makers = [partial(one.volume, run.replay) for _, run, one in after_kills]
    readings = examine(setup, makers, "power losses after kills")
    for (state, run, one), reading in zip(after_kills, readings, strict=True):
        promised = any(step.acknowledged for step in workload.recover[: one.answers - state.answers])
        if promised:
            # What recovery has acknowledged must not change.
            judgement = judge(reading, workload.reads, [outer.readings[state.digest].answers], 0, 0)
        else:
            judgement = judged(reading, state.answers)
        if judgement.damage is not Damage.NONE:
            first = BadState(state.model, state, UNDAMAGED, outer.recording.traced)
            found.bad.append(BadState(one.model, one, judgement, run.traced, first))
    return found


def _representatives(outer: RecoveredStates, recovers: bool) -> list[CrashState]:
    """The first state of every class: the same names in the tree, the same answers after recovery.

    States that recovery changes come first.
    """
    classes: dict[tuple[str, ...], CrashState] = {}
    for state in sorted(outer.states, key=lambda one: (not outer.readings[one.digest].changed, one.model, one.at)):
        reading = outer.readings[state.digest]
        if not (reading.changed or recovers):
            continue  # the recovery only read: nothing to interrupt
        names = tuple(path for path, _ in state.volume(outer.recording.replay).paths())
        classes.setdefault((*names, repr(reading.recovered), repr(reading.answers)), state)
    return list(classes.values())
