"""Every trial of a run held, so that a loss stays with the operator that causes it and hangs on no order.

Asking goes on after a crash, but not for ever where there is nothing to be had: a few trials of every operator come
first, always the same ones. A backend that is lost in all of them is not asked again. An operator that is lost in its
own first ones is tried PROBE times, and given up on where each is lost. Everything else is asked to the end, unless
the backend stays silent too often. Then every check of the operator, or of all operators, is judged "not asked"; only
the first trials keep their results. So the results do not hang on the order of the others (DESIGN 6).
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
class Held:
    """What came of trials: their results, the losses that no trial repeats alone, the last stderr, the calls made."""

    results: list[Result] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)  # keys of trials
    unasked: list[Trial] = field(default_factory=list)  # given up on; they have no result yet
    hopeless: dict[str, str] = field(default_factory=dict)  # operators that are not asked any more, and why
    unattributed: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)  # why nothing can be judged
    stderr_tail: bytes = b""
    stderr: dict[str, str] = field(default_factory=dict)  # by check: the last words of a backend that was lost in it
    calls: int = 0

    def add(self, other: Held) -> None:
        """Everything that other trials came to, but what was not asked of them."""
        self.results += other.results
        self.lost |= other.lost
        self.unattributed += other.unattributed
        self.obstacles += other.obstacles
        self.stderr_tail = other.stderr_tail or self.stderr_tail
        self.stderr |= other.stderr
        self.calls += other.calls

    def leave(self, trials: Iterable[Trial], why: Callable[[Trial], str]) -> None:
        """Judge trials that are not asked at all, and ask nothing more of their operators."""
        for trial in trials:
            reason = why(trial)
            self.lost.add(trial.conversation.key)
            self.hopeless[trial.operator] = reason
            self.results += [unasked(check, reason) for check in trial.checks]


def hold_trials(
    trials: Sequence[Trial], driver: Callable[[], Driver], jobs: int, shuffle: str, progress: Progress
) -> Held:
    """Hold every trial, `jobs` processes at a time; `driver` must give tolerant drivers."""
    operators = {trial.conversation.key: trial.operator for trial in trials}
    patience = Patience(operators.__getitem__, jobs, driver().timeout, progress.note)
    with workers(jobs) as executor:
        return _Holding(driver, executor, jobs, shuffle, progress, patience).held(trials)


@dataclass(frozen=True, slots=True)
class _Holding:
    driver: Callable[[], Driver]
    executor: Executor
    jobs: int
    shuffle: str
    progress: Progress
    patience: Patience

    def held(self, trials: Sequence[Trial]) -> Held:
        probes = [sorted(part, key=digest)[:PROBE] for part in by_operator(trials)]
        # One of every operator after the other, so that silence in a row is silence everywhere.
        first = [trial for row in zip_longest(*(probe[:FIRST] for probe in probes)) for trial in row if trial]
        whole = self.hold_part(first)
        if len(probes) > 1 and all_lost(whole, without(first, whole.unasked)):
            why = "the backend was lost in all of a few checks of every operator"
            whole.leave(without(trials, without(first, whole.unasked)), lambda _: why)
            return whole
        whole.leave(self.hold_apart(whole, by_operator(whole.unasked)), self.silence)
        rest = without(trials, first)
        for probe in probes:
            if all_lost(whole, probe[:FIRST]):
                rest = self.probed(whole, probe, rest)
        ordered = sorted(rest, key=lambda trial: shuffled(trial, self.shuffle))
        given_up = self.hold_apart(whole, [ordered[k :: self.jobs] for k in range(self.jobs)])
        whole.leave(self.hold_apart(whole, by_operator(given_up)), self.silence)
        self.forget(whole, without(trials, first))
        return whole

    def silence(self, trial: Trial) -> str:
        """Why a trial was not asked though nothing but silence kept it from being asked."""
        return self.patience.weary(trial.operator) or "no process of the backend said a valid hello any more"

    def forget(self, whole: Held, trials: Sequence[Trial]) -> None:
        """Judge these trials as not asked where patience with their operator ended, also those that were asked."""
        why = {trial.operator: reason for trial in trials if (reason := self.patience.weary(trial.operator))}
        late = {check.id: why[trial.operator] for trial in trials if trial.operator in why for check in trial.checks}
        whole.hopeless |= why
        whole.results = [unasked(r.check, late[r.check.id]) if r.check.id in late else r for r in whole.results]

    def probed(self, whole: Held, probe: Sequence[Trial], rest: Sequence[Trial]) -> list[Trial]:
        """What is left to ask after an operator whose first trials were lost has been tried further."""
        whole.leave(self.hold_apart(whole, [probe[FIRST:]]), self.silence)
        left = without(rest, probe)
        if not all_lost(whole, probe):
            return left
        hopeless = [trial for trial in left if trial.operator == probe[0].operator]
        why = f"the backend was lost in each of {len(probe)} checks of this operator"
        whole.leave(hopeless, lambda _: why)
        return without(left, hopeless)

    def hold_apart(self, whole: Held, parts: Sequence[Sequence[Trial]]) -> list[Trial]:
        """Hold each part with a driver of its own; what they gave up on."""
        held = list(self.executor.map(self.hold_part, filter(None, parts)))
        for one in held:
            whole.add(one)
        return [trial for one in held for trial in one.unasked]

    def hold_part(self, part: Sequence[Trial]) -> Held:
        driver, held = self.driver(), Held()
        driver.patience = self.patience
        by_key = {trial.conversation.key: trial for trial in part}
        for finished in driver.hold([trial.conversation for trial in part]):
            trial = by_key[finished.key]
            if not finished.asked:
                held.unasked.append(trial)
            else:
                judged = blamed(trial.checks, finished, driver.declared)
                held.results += [_with_call(result, trial, finished.calls) for result in judged.results]
                if finished.stderr:
                    held.stderr[trial.conversation.key] = finished.stderr
                held.obstacles += filter(None, [judged.obstacle])
                if finished.lost is not None:
                    held.lost.add(finished.key)
            self.progress.step()
        held.unattributed = [describe(reason) for reason in driver.unattributed]
        held.obstacles += map(forsaken, driver.forsaken)
        held.stderr_tail, held.calls = driver.stderr_tail, driver.calls
        return held


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


def all_lost(held: Held, trials: Sequence[Trial]) -> bool:
    """Whether the backend was lost in every one of these trials."""
    return all(trial.conversation.key in held.lost for trial in trials)


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
