"""One crash workload of one backend: record, enumerate, recover and judge it, and make a check of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from conformance.backend.carrier import stand_in_for
from conformance.backend.driver import Driver
from conformance.backend.hello import BadHello
from conformance.backend.outcome import Side, describe
from conformance.backend.resolve import resolve
from conformance.backend.scheduler import Conversation, Talk
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.contract.library import Library
from conformance.contract.yaml.source import MalformedContract
from conformance.trial.check import Check, Kind, Result, Verdict
from conformance.trial.crash.operation import DiskImage, snapshot
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.crash.recording import LIVE, BrokenWorkload, Recording, RecordingSetup, modelled, record
from conformance.trial.crash.recovery import Interruption, RecoveredStates, examine, interrupt_recoveries, known_tree
from conformance.trial.crash.report import (
    Answers,
    BadState,
    CrashReport,
    Damage,
    ExplainedDamage,
    StateCounts,
    SweepResult,
    TreeAnswers,
    judge,
)
from conformance.trial.crash.states import CrashModel, crash_states, first_states
from conformance.trial.crash.strace import NotRun, require_tracing, scratch
from conformance.trial.crash.sweep import error_sweep, kill_sweep, order_sweep
from conformance.trial.crash.workload import AnswerKind, CrashWorkload, WorkloadClient, WorkloadStep, crash_workloads
from conformance.trial.options import DEFAULT_TIMEOUT, NO_PROGRESS, Progress
from conformance.vectors.draft import Unusable

SOME_STATES: Final = 2000  # per workload, unless all are wanted
SOME_RECOVERIES: Final = 8  # with SOME_STATES; in proportion with fewer
SOME_RECOVERY_STATES: Final = 40  # per interrupted recovery


@dataclass(frozen=True, slots=True)
class CrashOptions:
    """The choices of one test; `states` None tries all of them, and only then a level is stated."""

    backend: str
    wire: str = "json"
    models: tuple[CrashModel, ...] = tuple(CrashModel)
    states: int | None = SOME_STATES
    sweeps: tuple[str, ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    reference: str = ""  # empty: the suite's; answers what the backend does not declare
    declared: frozenset[str] | None = None
    bytecode: bool = True  # whether Python may write compiled modules

    @property
    def full(self) -> bool:
        """Whether every state is tried."""
        return self.states is None


def try_workload(
    workload: CrashWorkload, codebook: Codebook, options: CrashOptions, progress: Progress = NO_PROGRESS
) -> CrashReport:
    """Test one backend with one workload.

    Raises BackendNotFound, NotRun if nothing can be traced, Untraceable if the run cannot be modelled, and
    BrokenWorkload if the workload fails without any crash.
    """
    strace = require_tracing()
    command = resolve(options.backend, codebook.suite, options.wire, bytecode=options.bytecode)
    with scratch() as folder:
        questioner = WorkloadClient(codebook, DIALECTS[options.wire])
        seconds = max(options.timeout, DEFAULT_TIMEOUT)
        stand_in = stand_in_for(codebook.suite, options.wire, seconds, options.reference, options.bytecode)
        place = Path(folder).resolve()
        setup = RecordingSetup(
            command, strace, place, options.timeout, questioner, workload, progress, stand_in, options.declared
        )
        return _Test(setup, options).report()


def operators_of(options: CrashOptions, codebook: Codebook) -> frozenset[str]:
    """The operators that a backend declares.

    Raises BackendNotFound, NotRun if its command ends before it reads anything, and BrokenWorkload if it says no
    valid hello.
    """
    command = resolve(options.backend, codebook.suite, options.wire)
    driver = Driver(command, DIALECTS[options.wire], codebook, options.timeout)
    try:
        process, hello = driver.start()
    except BadHello as error:
        if not error.begun:
            raise NotRun(str(error)) from None
        raise BrokenWorkload(f"no valid hello: {error}") from None
    process.kill()
    return hello.operators


@dataclass(frozen=True, slots=True)
class _Test:
    setup: RecordingSetup
    options: CrashOptions

    def report(self) -> CrashReport:
        setup, workload, options = self.setup, self.setup.workload, self.options
        setup.progress.stage("recording", 1)
        initial = self.initial()
        if {"kill", "error"} & set(options.sweeps):
            # A first run writes compiled modules and the like, so its calls have other ordinals than later runs.
            record(setup, initial, workload.steps, "rehearsal")
        recording = record(setup, initial, workload.steps)
        setup.progress.step()
        versions = self.versions(recording)
        setup.progress.stage("enumerating", len(options.models) * (len(recording.traced) + 1))
        states = crash_states(recording.replay, options.models, setup.progress.step)
        tried = first_states(states, options.states)
        makers = [partial(state.volume, recording.replay) for state in tried]
        found = examine(setup, makers, "crash states")
        readings = {state.digest: reading for state, reading in zip(tried, found, strict=True)}
        judged = {state.digest: self.damage_in(versions, readings[state.digest], state.answers) for state in tried}
        bad = [
            BadState(state.model, state, judged[state.digest], recording.traced)
            for state in tried
            if judged[state.digest].damage is not Damage.NONE
        ]
        well = [state for state in tried if judged[state.digest].damage is Damage.NONE]
        interruption = self.interruption(RecoveredStates(recording, well, readings), versions)
        return CrashReport(
            backend=options.backend,
            workload=workload.id,
            why=workload.why,
            wanted=workload.level,
            operations=recording.traced,
            answers=tuple(step.name for step in workload.steps),
            states=tallies(options.models, [s.model for s in states], [s.model for s in tried], bad),
            recoveries=interruption.classes,
            recovery_states=tallies(options.models, interruption.states, interruption.tried, interruption.bad),
            bad=(*bad, *interruption.bad),
            full=options.full,
            sweeps=tuple(self.sweeps(recording, versions)),
        )

    def initial(self) -> DiskImage:
        """The tree before the recording: the roots, with what the steps of `before` put there."""
        folder = self.setup.scratch / "before"
        for root in self.setup.workload.roots:
            (folder / root).mkdir(parents=True)
        talk = partial(self.setup.questioner.ask, self.setup.workload.before, folder)
        found = self.answers_alone(talk, "before the recording", "before the recording")
        for step, answer in zip(self.setup.workload.before, found, strict=True):
            if isinstance(step, WorkloadStep) and not answer.usable:
                said = f"the step {step.name} is answered by {answer} though nothing interrupts it"
                if self.options.declared is not None and step.operator not in self.options.declared:
                    raise NotRun(f"the stand-in is wrong before the recording: {said}")
                raise BrokenWorkload(said)
        return modelled(folder)

    def versions(self, recording: Recording) -> tuple[Answers, ...]:
        """The answers of the reads after 0, 1, 2, ... steps without a crash; raises BrokenWorkload."""
        readings = examine(self.setup, [known_tree(volume) for volume in recording.volumes], "reading what is written")
        places = ["before any step", *(f"after {step.name}" for step in self.setup.workload.steps)]
        for where, reading in zip(places, readings, strict=True):
            for answer in reading.recovered:
                if not answer.usable:
                    raise BrokenWorkload(f"recovery {where} is answered by {answer} though nothing was interrupted")
            for name, answer in zip(self.setup.workload.reads, reading.answers, strict=True):
                if answer.kind in (AnswerKind.FAILURE, AnswerKind.BAD):
                    hint = "if that means that nothing is there, list it under `absent`"
                    said = f"{name} {where} is answered by {answer} though nothing was interrupted"
                    raise BrokenWorkload(f"{said}; {hint}")
        versions = tuple(reading.answers for reading in readings)
        if all(version == versions[0] for version in versions):
            raise BrokenWorkload("what is read never changes: the steps do nothing that `verify` can see")
        self.require_the_same_from_a_copy(recording, versions[-1])
        return versions

    def require_the_same_from_a_copy(self, recording: Recording, copied: Answers) -> None:
        """Check that the recorded folder itself is read like its copy; raises BrokenWorkload."""
        folder, workload, ask = self.setup.scratch / LIVE, self.setup.workload, self.setup.questioner.ask
        if snapshot(folder).digests() != recording.volumes[-1].digests():
            return  # changed once the last answer was out

        def talk() -> Talk[Answers]:
            for _ in range(2):  # as on every tree
                yield from ask(workload.recover, folder)
            return (yield from ask(workload.verify, folder))

        found = self.answers_alone(talk, "after the recording", "when it read what it had written")
        for name, answer, other in zip(workload.reads, found, copied, strict=True):
            if answer != other:
                said = f"{name} is answered otherwise from a copy of the files than from the files themselves"
                raise BrokenWorkload(f"{said}; it may go by their times, inode numbers, places or order of listing")

    def answers_alone(self, talk: Callable[[], Talk[Answers]], when: str, doing: str) -> Answers:
        """The answers of a process of its own; raises NotRun, and BrokenWorkload if the backend is lost."""
        (finished,) = self.setup.driver().run([Conversation("alone", talk, alone=True)])
        if finished.side is not Side.BACKEND:
            raise NotRun(f"{finished.side.value} was lost {when}")
        if finished.lost is not None:
            raise BrokenWorkload(f"the backend was lost {doing}: {describe(finished.lost)}")
        return finished.finding or ()

    def damage_in(self, versions: Sequence[Answers], reading: TreeAnswers, answers: int) -> ExplainedDamage:
        ceiling = min(answers + 1, len(versions) - 1)
        return judge(reading, self.setup.workload.reads, versions, self.setup.workload.floor(answers), ceiling)

    def interruption(self, recovered: RecoveredStates, versions: Sequence[Answers]) -> Interruption:
        declared = self.options.declared
        if declared is not None and not {step.operator for step in self.setup.workload.recovery} <= declared:
            return Interruption()  # the stand-in would recover, and it is not under test
        asked = self.options.states
        most = None if asked is None else min(SOME_RECOVERIES, 1 + asked * SOME_RECOVERIES // SOME_STATES)
        each = None if asked is None else SOME_RECOVERY_STATES
        return interrupt_recoveries(
            self.setup, self.options.models, recovered, partial(self.damage_in, versions), most, each
        )

    def sweeps(self, recording: Recording, versions: Sequence[Answers]) -> Iterable[SweepResult]:
        judge = partial(self.damage_in, versions)
        if "order" in self.options.sweeps:
            yield order_sweep(self.setup.workload, recording)
        if "kill" in self.options.sweeps:
            yield kill_sweep(self.setup, recording, judge)
        if "error" in self.options.sweeps:
            yield error_sweep(self.setup, recording, judge)


def tallies(
    models: Sequence[CrashModel], every: Sequence[CrashModel], tried: Sequence[CrashModel], bad: Sequence[BadState]
) -> dict[CrashModel, StateCounts]:
    """The states by model; those of a weaker one are among those of a stronger one."""
    return {
        model: StateCounts(
            total=sum(one <= model for one in every),
            tried=sum(one <= model for one in tried),
            bad=Counter(one.judgement.damage for one in bad if one.model <= model),
        )
        for model in models
    }


@dataclass(frozen=True, slots=True)
class Crashed:
    """The verdict on one workload, its levels for the record, and why it could not be tried if it could not."""

    result: Result
    levels: Mapping[str, Any]
    obstacle: str = ""
    states: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # counts for each model: an observation


def workloads(library: Library, codebook: Codebook) -> tuple[CrashWorkload, ...]:
    """Every workload of a library; raises MalformedContract."""
    try:
        return tuple(crash_workloads(library, codebook))
    except Unusable as error:
        raise MalformedContract([error.problem]) from None


def crash_check(plan: CrashWorkload) -> Check:
    """The check for a workload."""
    operator, _, name = plan.id.partition("%")
    return Check(plan.id, Kind.CRASH, operator, name, plan.why, plan.requirements, plan.rulings)


def crashed(plan: CrashWorkload, codebook: Codebook, options: CrashOptions, progress: Progress) -> Crashed:
    """Crash a backend in one workload; the levels are none, kill, ext4 and posix, the strongest without a bad state."""
    check, asked = crash_check(plan), str(plan.level)
    levels = {"asked": asked, "reached": "", "sampled": not options.full}
    try:
        report = try_workload(plan, codebook, options, progress)
    except (NotRun, Untraceable) as error:
        kind = "untraceable" if isinstance(error, Untraceable) else "cannot be traced here"
        why = f"{plan.id}: {kind}: {error}"
        return Crashed(Result(check, Verdict.ERROR, message=why), levels, why)
    except BrokenWorkload as error:
        return Crashed(Result(check, Verdict.FAIL, message=str(error)), levels)
    levels |= {"reached": report.reached, "sampled": not report.complete}
    states = {
        str(model): {"total": tally.total, "tried": tally.tried, "bad": tally.bad_count}
        for model, tally in report.states.items()
    }
    if report.satisfied:
        return Crashed(Result(check, Verdict.PASS), levels, states=states)
    worst = report.first_bad
    said = f": {worst.judgement.damage}: {worst.judgement.reason}" if worst is not None else ""
    message = f"crash level {levels['reached']}, {asked} is asked for{said}"
    return Crashed(Result(check, Verdict.FAIL, message=message), levels, states=states)
