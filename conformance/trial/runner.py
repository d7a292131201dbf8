"""Runs every trial of a run, and stops asking an operator that is lost again and again.

Asking goes on after a crash, but not for ever. A few trials of every operator come first, always the same ones. A
backend that is lost in all of them is not asked again. An operator that is lost in its own first trials is tried PROBE
times, and given up where each is lost. Everything else is asked, unless the backend stays silent too often. Then every
check of the operator, or of all operators, is judged "not asked"; only the first trials keep their results. So no
result depends on the order of the others (DESIGN 6).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from conformance.backend.driver import Driver
from conformance.backend.outcome import NOT_ASKED, ProtocolError, describe
from conformance.backend.scheduler import ConversationResult, TimeoutBudget
from conformance.trial.cases import conversation_verdicts, stand_in_loss
from conformance.trial.check import Check, FailedCall, Kind, Result, Verdict, lost
from conformance.trial.forked import PAUSE, share_out
from conformance.trial.options import Progress
from conformance.trial.plan import Trial
from conformance.trial.turns import by_turns

FIRST: Final = 3  # trials of every operator that come before everything else
PROBE: Final = 20  # trials of an operator that must not all be lost
_PARTS: Final = 4  # of the rest, for each job


@dataclass(slots=True)
class TrialResults:
    """The results of trials, and the other facts about them that a run reports."""

    results: list[Result] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)  # keys of trials
    unasked: list[str] = field(default_factory=list)  # keys of trials that were given up; they have no result yet
    hopeless: dict[str, str] = field(default_factory=dict)  # operators that are not asked any more, and why
    unattributed: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)  # why nothing can be judged
    stderr_tail: bytes = b""
    stderr: dict[str, str] = field(default_factory=dict)  # by check: the last words of a backend that was lost in it
    calls: int = 0
    trials: int = 0  # how many have ended
    seconds: dict[str, float] = field(default_factory=dict)  # by check, the first of its trial

    def add(self, other: TrialResults) -> None:
        """Add the results of other trials."""
        self.results += other.results
        self.lost |= other.lost
        self.unasked += other.unasked
        self.unattributed += other.unattributed
        self.obstacles += other.obstacles
        self.stderr_tail = other.stderr_tail or self.stderr_tail
        self.stderr |= other.stderr
        self.hopeless |= other.hopeless
        self.calls += other.calls
        self.trials += other.trials
        self.seconds |= other.seconds

    def give_up(self, trials: Iterable[Trial], why: Callable[[str], str]) -> None:
        """Judge trials as not asked, and ask nothing more of their operators; `why` gives the reason of an operator."""
        for trial in trials:
            reason = self.hopeless[trial.operator] = why(trial.operator)
            self.lost.add(trial.conversation.key)
            self.results += [unasked(check, reason) for check in trial.checks]

    def all_lost(self, trials: Iterable[Trial]) -> bool:
        """Whether the backend was lost in every one of these trials."""
        return all(trial.conversation.key in self.lost for trial in trials)


def run_trials(
    trials: Sequence[Trial], driver: Callable[[], Driver], jobs: int, shuffle: str, progress: Progress
) -> TrialResults:
    """Run every trial, `jobs` processes at a time; `driver` must give tolerant drivers."""
    operators = {trial.conversation.key: trial.operator for trial in trials}
    timeout_budget = TimeoutBudget(operators, jobs, driver().timeout, progress.note)
    return _Runner(driver, jobs, shuffle, progress, timeout_budget).run(trials)


@dataclass(frozen=True, slots=True)
class _Runner:
    driver: Callable[[], Driver]
    jobs: int
    shuffle: str
    progress: Progress
    timeout_budget: TimeoutBudget

    def run(self, trials: Sequence[Trial]) -> TrialResults:
        # Those that restart the process come last, because each costs processes.
        probes = [
            sorted(part, key=lambda trial: (trial.conversation.alone, digest(trial)))[:PROBE]
            for part in by_operator(trials)
        ]
        # One of every operator after the other, so that silence in a row is silence everywhere.
        first = list(by_turns(probe[:FIRST] for probe in probes))
        whole = TrialResults()
        given_up = self.run_parts(whole, [first])
        asked = other_trials(first, given_up)
        if len(probes) > 1 and whole.all_lost(asked):
            why = "the backend was lost in all of a few checks of every operator"
            whole.give_up(other_trials(trials, asked), lambda _: why)
            return whole
        self.run_apart(whole, by_operator(given_up))
        rest = other_trials(trials, first)
        for probe in probes:
            if whole.all_lost(probe[:FIRST]):
                rest = self.probed(whole, probe, rest)
        given_up = self.run_parts(whole, self.parts_of(rest))
        self.run_apart(whole, by_operator(given_up))
        self.forget(whole, other_trials(trials, first))
        return whole

    def parts_of(self, trials: Iterable[Trial]) -> list[list[Trial]]:
        """Trials in parts, each with processes of its own; those that restart the process are together in step.

        Rules are apart from cases and laws, so that no other check has asked their operators in the same process.
        """
        rules, restarting, others = list[Trial](), list[Trial](), list[Trial]()
        for trial in sorted(trials, key=lambda trial: shuffled(trial, self.shuffle)):
            of_rule = trial.checks[0].kind is Kind.BEHAVIOUR
            (others if not trial.conversation.alone else rules if of_rule else restarting).append(trial)
        # More parts than jobs, because some trials take a thousand times as long as others.
        count = 1 if self.jobs == 1 else _PARTS * self.jobs
        return [rules, restarting, *(others[k::count] for k in range(count))]

    def silence(self, operator: str) -> str:
        """The reason for an operator that was not asked only because the backend was silent."""
        return self.timeout_budget.why_given_up(operator) or "no process of the backend said a valid hello any more"

    def forget(self, whole: TrialResults, trials: Sequence[Trial]) -> None:
        """Judge these trials as not asked if their operator is given up, even if they were asked."""
        budget = self.timeout_budget
        asked = {trial.operator for trial in trials}
        why = {operator: reason for operator in asked if (reason := budget.why_given_up(operator))}
        late = {check.id: why[trial.operator] for trial in trials if trial.operator in why for check in trial.checks}
        whole.hopeless |= why
        whole.results = [unasked(r.check, late[r.check.id]) if r.check.id in late else r for r in whole.results]

    def probed(self, whole: TrialResults, probe: Sequence[Trial], rest: Sequence[Trial]) -> list[Trial]:
        """The trials that are left after PROBE more of an operator whose first trials were lost."""
        self.run_apart(whole, [probe[FIRST:]])
        left = other_trials(rest, probe)
        if not whole.all_lost(probe):
            return left
        hopeless = [trial for trial in left if trial.operator == probe[0].operator]
        whole.give_up(hopeless, lambda _: f"the backend was lost in each of {len(probe)} checks of this operator")
        return other_trials(left, hopeless)

    def run_apart(self, whole: TrialResults, parts: Sequence[Sequence[Trial]]) -> None:
        """Run each part with a driver of its own; what they do not ask is given up."""
        whole.give_up(self.run_parts(whole, parts), self.silence)

    def run_parts(self, whole: TrialResults, parts: Sequence[Sequence[Trial]]) -> list[Trial]:
        """Run each part with a driver of its own; the trials that they did not ask."""

        def take(found: TrialResults | str) -> None:
            if isinstance(found, str):
                self.progress.note(found)
            else:
                whole.add(found)
                for result in found.results:
                    self.progress.note_verdict(result.check.id, result.verdict.value)
                self.progress.step(found.trials)

        share_out(self.work, [part for part in parts if part], self.jobs, take)
        unasked, whole.unasked = frozenset(whole.unasked), []
        return [trial for part in parts for trial in part if trial.conversation.key in unasked]

    def work(self, parts: Iterator[Sequence[Trial]], tell: Callable[[TrialResults | str], None]) -> None:
        """Run parts one after the other; tells what the trials came to, several at a time."""
        self.timeout_budget.tell = tell
        for part in parts:
            driver = self.driver()
            driver.timeout_budget = self.timeout_budget
            by_key = {trial.conversation.key: trial for trial in part}
            ended, reported = TrialResults(), time.perf_counter()
            since = reported
            for finished in driver.run([trial.conversation for trial in part]):
                trial, now = by_key[finished.key], time.perf_counter()
                try:
                    found = results_of_trial(trial, finished, driver.declared)
                except Exception as error:
                    error.add_note(f"in the check {trial.checks[0].id}")
                    raise
                # Trials overlap; what passed since the last one ended counts for this one, so that the sum is right.
                found.seconds[trial.checks[0].id] = now - since
                since = now
                ended.add(found)
                if now - reported > PAUSE:
                    tell(ended)
                    ended, reported = TrialResults(), now
            ended.add(
                TrialResults(
                    unattributed=[describe(reason) for reason in driver.unattributed],
                    obstacles=[stand_in_loss(reason) for reason in driver.stand_in_losses],
                    stderr_tail=driver.stderr_tail,
                    calls=driver.calls,
                )
            )
            tell(ended)


def results_of_trial(
    trial: Trial, finished: ConversationResult[Sequence[Result]], declared: frozenset[str] | None
) -> TrialResults:
    """The results of one trial."""
    key = trial.conversation.key
    if not finished.asked:
        return TrialResults(unasked=[key], trials=1)
    found = conversation_verdicts(trial.checks, finished, declared)
    return TrialResults(
        results=[_with_call(result, trial, finished.calls) for result in found.results],
        lost=set() if finished.lost is None else {key},
        obstacles=[found.obstacle] if found.obstacle else [],
        stderr={key: finished.stderr} if finished.stderr else {},
        trials=1,
    )


def _with_call(result: Result, trial: Trial, number: int) -> Result:
    """The result of a lost backend, with the call in which it was lost if a frozen case shows that call."""
    if result.verdict is not Verdict.ERROR or result.call is not None or not 0 < number <= len(trial.calls):
        return result
    step = trial.calls[number - 1]
    name = step.name if len(trial.calls) > 1 else ""
    return replace(result, step=name, call=FailedCall(step.operator, step.inputs))


def unasked(check: Check, why: str) -> Result:
    """The verdict on a check that is not tried because the backend was lost too often."""
    return lost(check, ProtocolError(NOT_ASKED + why))


def by_operator(trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials of each operator, in the order of the operators' names."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.operator, []).append(trial)
    return [found[operator] for operator in sorted(found)]


def other_trials(trials: Iterable[Trial], others: Iterable[Trial]) -> list[Trial]:
    """The trials that are not among others."""
    keys = {trial.conversation.key for trial in others}
    return [trial for trial in trials if trial.conversation.key not in keys]


def digest(trial: Trial) -> str:
    """A sort key that spreads a few trials over all of them, always in the same way."""
    return hashlib.sha256(trial.conversation.key.encode()).hexdigest()


def shuffled(trial: Trial, seed: str) -> tuple[str, str]:
    """The sort key that puts trials in id order, or in the order that a seed gives."""
    key = trial.conversation.key
    return (hashlib.sha256(f"{seed}\0{key}".encode()).hexdigest() if seed else "", key)
