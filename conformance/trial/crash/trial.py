"""One workload of one backend on trial: record, enumerate, recover, judge. It knows calls and trees, never a family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.backend.carrier import stand_in_for
from conformance.backend.driver import Driver
from conformance.backend.hello import BadHello
from conformance.backend.outcome import LostBackend, Side, describe
from conformance.backend.resolve import REFERENCE, resolve
from conformance.backend.scheduler import Conversation, Talk
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.trial.crash.operation import Volume, snapshot
from conformance.trial.crash.order import order_sweep
from conformance.trial.crash.recording import FINE, BrokenWorkload, Recording, Stage, record
from conformance.trial.crash.recovery import Interruption, Outer, examine, interrupt_recoveries
from conformance.trial.crash.report import (
    BadState,
    CrashReport,
    Judgement,
    Reading,
    Sweep,
    Tally,
    Verdict,
    Version,
    judge,
)
from conformance.trial.crash.states import CrashState, Model, Replay, crash_states, first_states
from conformance.trial.crash.strace import NotRun, require_tracing, scratch
from conformance.trial.crash.sweep import Judge, error_sweep, kill_sweep
from conformance.trial.crash.workload import Answer, Kind, Plan, Questioner, Roots, Step
from conformance.trial.options import DEFAULT_TIMEOUT, Progress, Silence

SOME_STATES: Final = 2000  # per workload where not all are asked for
SOME_RECOVERIES: Final = 8  # where so many states are tried, in proportion where fewer
SOME_RECOVERY_STATES: Final = 40  # per interrupted recovery


@dataclass(frozen=True, slots=True)
class CrashOptions:
    """One trial's choices; `states` None tries all of them, and only then a level is stated."""

    backend: str = REFERENCE
    wire: str = "json"
    models: tuple[Model, ...] = tuple(Model)
    states: int | None = SOME_STATES
    sweeps: tuple[str, ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    reference: str = REFERENCE  # stands in for what the backend does not declare
    declared: frozenset[str] | None = None

    @property
    def full(self) -> bool:
        """Whether every state is tried."""
        return self.states is None


def try_workload(
    plan: Plan, codebook: Codebook, options: CrashOptions, progress: Progress | None = None
) -> CrashReport:
    """Put one backend on trial with one workload.

    Raises BackendNotFound, NotRun where nothing can be traced, Untraceable where the run cannot be modelled, and
    BrokenWorkload where it fails without any crash.
    """
    strace = require_tracing()
    command = resolve(options.backend, options.wire)
    with scratch() as folder:
        questioner = Questioner(codebook, DIALECTS[options.wire])
        patience = max(options.timeout, DEFAULT_TIMEOUT)
        stand_in = stand_in_for(options.wire, patience, options.reference)
        place = Path(folder).resolve()
        stage = Stage(command, strace, place, options.timeout, questioner, stand_in, options.declared)
        return _Trial(plan, stage, options, progress or Silence()).report()


def operators_of(options: CrashOptions, codebook: Codebook) -> frozenset[str]:
    """What a backend says it can do; raises BackendNotFound, NotRun where its command ends before it reads anything.

    Raises BrokenWorkload where it says no valid hello.
    """
    command = resolve(options.backend, options.wire)
    driver = Driver(command, DIALECTS[options.wire], codebook, options.timeout)
    try:
        process, hello = driver.start()
    except (BadHello, LostBackend) as error:
        if isinstance(error, BadHello) and not error.begun:
            raise NotRun(str(error)) from None
        raise BrokenWorkload(f"no valid hello: {error}") from None
    process.kill()
    return hello.operators


@dataclass(frozen=True, slots=True)
class _Trial:
    plan: Plan
    stage: Stage
    options: CrashOptions
    progress: Progress

    def report(self) -> CrashReport:
        plan, options = self.plan, self.options
        self.progress.stage("recording", 1)
        initial = self.initial()
        if {"kill", "error"} & set(options.sweeps):
            # What a first run leaves behind for later ones, such as compiled modules, would move every call's ordinal.
            record(self.stage, initial, plan.steps, "rehearsal")
        recording = record(self.stage, initial, plan.steps)
        self.progress.step()
        versions = self.versions(recording)
        replay = Replay(recording.initial, recording.operations)
        self.progress.stage("enumerating", len(options.models) * (len(recording.traced) + 1))
        states = crash_states(replay, recording.operations, options.models, self.progress.step)
        tried = first_states(states, options.states)
        readings = self.readings(replay, tried)
        judged = {state.digest: self.judged(readings[state.digest], versions, state.answers) for state in tried}
        bad = [
            BadState(state.model, state, judged[state.digest], recording.traced)
            for state in tried
            if judged[state.digest].verdict is not Verdict.OK
        ]
        well = [state for state in tried if judged[state.digest].verdict is Verdict.OK]
        interruption = self.interruption(replay, well, readings, recording)
        return CrashReport(
            backend=options.backend,
            workload=plan.id,
            why=plan.why,
            wanted=plan.level,
            operations=recording.traced,
            answers=tuple(step.name for step in plan.steps),
            states=tallies(options.models, [s.model for s in states], [s.model for s in tried], bad),
            recoveries=interruption.classes,
            recovery_states=tallies(options.models, interruption.states, interruption.tried, interruption.bad),
            bad=(*bad, *interruption.bad),
            full=options.full,
            sweeps=tuple(self.sweeps(recording, versions, replay)),
        )

    def initial(self) -> Volume:
        """The tree before the recording: the roots, and whatever `before` puts and asks there."""
        folder = self.stage.scratch / "before"
        roots = Roots(folder)
        for root in self.plan.roots:
            roots.path(root).mkdir(parents=True)

        def talk() -> Talk[tuple[Answer, ...]]:
            return (yield from self.stage.questioner.ask(self.plan.before, roots))

        (finished,) = self.stage.driver().hold([Conversation("before", talk, alone=True)])
        if finished.side is not Side.BACKEND:
            raise NotRun(f"{finished.side.value} was lost before the recording")
        if finished.lost is not None:
            raise BrokenWorkload(f"the backend was lost before the recording: {describe(finished.lost)}")
        for step, answer in zip(self.plan.before, finished.finding or (), strict=True):
            if isinstance(step, Step) and answer.kind not in FINE:
                said = f"the step {step.name} is answered by {answer} though nothing interrupts it"
                if self.options.declared is not None and step.operator not in self.options.declared:
                    raise NotRun(f"the stand-in is wrong before the recording: {said}")
                raise BrokenWorkload(said)
        return snapshot(folder)

    def versions(self, recording: Recording) -> tuple[Version, ...]:
        """What is read after 0, 1, 2, ... answers when nothing is interrupted; raises BrokenWorkload."""
        self.progress.stage("reading what is written", len(recording.volumes))
        volumes = [(f"v{k}", lambda volume=volume: volume) for k, volume in enumerate(recording.volumes)]
        found = dict(examine(self.stage, self.plan, volumes))
        versions = []
        for k in range(len(recording.volumes)):
            reading = found[f"v{k}"]
            where = "before any step" if not k else f"after {self.plan.steps[k - 1].name}"
            for answer in reading.recovered:
                if answer.kind not in FINE:
                    raise BrokenWorkload(f"recovery {where} is answered by {answer} though nothing was interrupted")
            for name, answer in zip(self.names(), reading.answers, strict=True):
                if answer.kind in (Kind.FAILURE, Kind.BAD):
                    hint = "if that means that nothing is there, list it under `absent`"
                    said = f"{name} {where} is answered by {answer} though nothing was interrupted"
                    raise BrokenWorkload(f"{said}; {hint}")
            versions.append(reading.answers)
            self.progress.step()
        if all(version == versions[0] for version in versions):
            raise BrokenWorkload("what is read never changes: the steps do nothing that `verify` can see")
        return tuple(versions)

    def names(self) -> tuple[str, ...]:
        return tuple(step.name for step in self.plan.verify)

    def readings(self, replay: Replay, states: Sequence[CrashState]) -> dict[bytes, Reading]:
        self.progress.stage("crash states", len(states))
        wanted = [(state.digest.hex(), lambda state=state: state.volume(replay)) for state in states]
        found: dict[bytes, Reading] = {}
        for key, reading in examine(self.stage, self.plan, wanted):
            found[bytes.fromhex(key)] = reading
            self.progress.step()
        return found

    def judged(self, reading: Reading, versions: Sequence[Version], answers: int) -> Judgement:
        ceiling = min(answers + 1, len(versions) - 1)
        return judge(reading, self.names(), versions, self.plan.floor(answers), ceiling)

    def interruption(
        self, replay: Replay, states: Sequence[CrashState], readings: Mapping[bytes, Reading], recording: Recording
    ) -> Interruption:
        recovering = self.plan.recover or tuple(step for step in self.plan.verify if isinstance(step, Step))
        declared = self.options.declared
        if declared is not None and not {step.operator for step in recovering} <= declared:
            return Interruption()  # whoever recovers here is the stand-in, which is not on trial
        asked = self.options.states
        most = None if asked is None else min(SOME_RECOVERIES, 1 + asked * SOME_RECOVERIES // SOME_STATES)
        each = None if asked is None else SOME_RECOVERY_STATES
        outer = Outer(replay, recording.traced, states, readings)
        return interrupt_recoveries(self.stage, self.plan, self.options.models, outer, most, each, self.progress)

    def sweeps(self, recording: Recording, versions: Sequence[Version], replay: Replay) -> Iterable[Sweep]:
        if "order" in self.options.sweeps:
            yield order_sweep(self.plan, recording)
        if "kill" in self.options.sweeps:
            yield kill_sweep(self.stage, self.plan, recording, replay, self.judged_for(versions), self.progress)
        if "error" in self.options.sweeps:
            yield error_sweep(self.stage, self.plan, recording, self.judged_for(versions), self.progress)

    def judged_for(self, versions: Sequence[Version]) -> Judge:
        return lambda reading, answers: self.judged(reading, versions, answers)


def tallies(
    models: Sequence[Model], every: Sequence[Model], tried: Sequence[Model], bad: Sequence[BadState]
) -> dict[Model, Tally]:
    """The states by model; those of a weaker one are among those of a stronger one."""
    return {
        model: Tally(
            total=sum(one <= model for one in every),
            tried=sum(one <= model for one in tried),
            bad=Counter(one.judgement.verdict for one in bad if one.model <= model),
        )
        for model in models
    }
