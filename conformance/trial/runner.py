"""Runs every trial of a run, and stops asking an operator that is lost again and again.

Asking goes on after a crash, but not for ever. A few trials of every operator come first, always the same ones. A
backend that is lost in all of them is not asked again. An operator that is lost in its own first trials is tried PROBE
times, and given up where each is lost. Everything else is asked, unless the backend stays silent too often. Then every
check of the operator, or of all operators, is judged "not asked"; only the first trials keep their results. So no
result depends on the order of the others (DESIGN 6).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from conformance.backend.driver import Driver
from conformance.backend.outcome import ProtocolError, describe
from conformance.backend.scheduler import Patience, workers
from conformance.trial.cases import blamed, forsaken, lost
from conformance.trial.check import Check, FailedCall, Result, Verdict
from conformance.trial.options import Progress
from conformance.trial.plan import Trial

FIRST: Final = 3  # trials of every operator that come before everything else
PROBE: Final = 20  # trials of an operator that must not all be lost


@dataclass(slots=True)
class TrialResults:
    """What trials came to: their results, and what else a run tells of them."""

    results: list[Result] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)  # keys of trials
    unasked: list[Trial] = field(default_factory=list)  # given up; they have no result yet
    hopeless: dict[str, str] = field(default_factory=dict)  # operators that are not asked any more, and why
    unattributed: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)  # why nothing can be judged
    stderr_tail: bytes = b""
    stderr: dict[str, str] = field(default_factory=dict)  # by check: the last words of a backend that was lost in it
    calls: int = 0

    def add(self, other: TrialResults) -> None:
        """Take over what other trials came to, apart from those that were not asked."""
        self.results += other.results
        self.lost |= other.lost
        self.unattributed += other.unattributed
        self.obstacles += other.obstacles
        self.stderr_tail = other.stderr_tail or self.stderr_tail
        self.stderr |= other.stderr
        self.calls += other.calls

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
    patience = Patience(operators.__getitem__, jobs, driver().timeout, progress.note)
    with workers(jobs) as executor:
        return _Runner(driver, executor, jobs, shuffle, progress, patience).run(trials)


@dataclass(frozen=True, slots=True)
class _Runner:
    driver: Callable[[], Driver]
    executor: Executor
    jobs: int
    shuffle: str
    progress: Progress
    patience: Patience

    def run(self, trials: Sequence[Trial]) -> TrialResults:
        probes = [sorted(part, key=digest)[:PROBE] for part in by_operator(trials)]
        # One of every operator after the other, so that silence in a row is silence everywhere.
        first = [trial for row in zip_longest(*(probe[:FIRST] for probe in probes)) for trial in row if trial]
        whole = self.run_part(first)
        asked = without(first, whole.unasked)
        if len(probes) > 1 and whole.all_lost(asked):
            why = "the backend was lost in all of a few checks of every operator"
            whole.give_up(without(trials, asked), lambda _: why)
            return whole
        self.run_apart(whole, by_operator(whole.unasked))
        rest = without(trials, first)
        for probe in probes:
            if whole.all_lost(probe[:FIRST]):
                rest = self.probed(whole, probe, rest)
        ordered = sorted(rest, key=lambda trial: shuffled(trial, self.shuffle))
        given_up = self.run_parts(whole, [ordered[k :: self.jobs] for k in range(self.jobs)])
        self.run_apart(whole, by_operator(given_up))
        self.forget(whole, without(trials, first))
        return whole

    def silence(self, operator: str) -> str:
        """Why an operator was not asked though only silence kept it from being asked."""
        return self.patience.weary(operator) or "no process of the backend said a valid hello any more"

    def forget(self, whole: TrialResults, trials: Sequence[Trial]) -> None:
        """Judge these trials as not asked where patience with their operator ended, also those that were asked."""
        why = {trial.operator: reason for trial in trials if (reason := self.patience.weary(trial.operator))}
        late = {check.id: why[trial.operator] for trial in trials if trial.operator in why for check in trial.checks}
        whole.hopeless |= why
        whole.results = [unasked(r.check, late[r.check.id]) if r.check.id in late else r for r in whole.results]

    def probed(self, whole: TrialResults, probe: Sequence[Trial], rest: Sequence[Trial]) -> list[Trial]:
        """What is left to ask after an operator whose first trials were lost has been tried further."""
        self.run_apart(whole, [probe[FIRST:]])
        left = without(rest, probe)
        if not whole.all_lost(probe):
            return left
        hopeless = [trial for trial in left if trial.operator == probe[0].operator]
        whole.give_up(hopeless, lambda _: f"the backend was lost in each of {len(probe)} checks of this operator")
        return without(left, hopeless)

    def run_apart(self, whole: TrialResults, parts: Sequence[Sequence[Trial]]) -> None:
        """Run each part with a driver of its own; what they do not ask is given up."""
        whole.give_up(self.run_parts(whole, parts), self.silence)

    def run_parts(self, whole: TrialResults, parts: Sequence[Sequence[Trial]]) -> list[Trial]:
        """Run each part with a driver of its own; the trials that they did not ask."""
        found = list(self.executor.map(self.run_part, filter(None, parts)))
        for one in found:
            whole.add(one)
        return [trial for one in found for trial in one.unasked]

    def run_part(self, part: Sequence[Trial]) -> TrialResults:
        driver, found = self.driver(), TrialResults()
        driver.patience = self.patience
        by_key = {trial.conversation.key: trial for trial in part}
        for finished in driver.hold([trial.conversation for trial in part]):
            trial = by_key[finished.key]
            if not finished.asked:
                found.unasked.append(trial)
            else:
                judged = blamed(trial.checks, finished, driver.declared)
                found.results += [_with_call(result, trial, finished.calls) for result in judged.results]
                if finished.stderr:
                    found.stderr[trial.conversation.key] = finished.stderr
                found.obstacles += filter(None, [judged.obstacle])
                if finished.lost is not None:
                    found.lost.add(finished.key)
            self.progress.step()
        found.unattributed = [describe(reason) for reason in driver.unattributed]
        found.obstacles += map(forsaken, driver.forsaken)
        found.stderr_tail, found.calls = driver.stderr_tail, driver.calls
        return found


def _with_call(result: Result, trial: Trial, number: int) -> Result:
    """A result of a lost backend with the call that it was lost in, where a frozen case says which that was."""
    if result.verdict is not Verdict.ERROR or result.call is not None or not 0 < number <= len(trial.calls):
        return result
    step = trial.calls[number - 1]
    name = step.name if len(trial.calls) > 1 else ""
    return replace(result, step=name, call=FailedCall(step.operator, step.inputs))


def unasked(check: Check, why: str) -> Result:
    """The verdict on a check that is not tried because the backend was lost too often."""
    return lost(check, ProtocolError(f"not asked: {why}"))


def by_operator(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Trials apart by their operators, in the order of the operators' names."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.operator, []).append(trial)
    return [found[operator] for operator in sorted(found)]


def without(trials: Iterable[Trial], others: Iterable[Trial]) -> list[Trial]:
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
