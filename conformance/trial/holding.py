"""Every trial of a run held, so that a loss stays with the operator that causes it and hangs on no order.

Asking goes on after a crash, but not for ever where there is nothing to be had: a few trials of every operator come
first, always the same ones. A backend that is lost in all of them is not asked again. An operator that is lost in its
own first ones is tried PROBE times, and given up on where each is lost. Everything else is asked to the end (DESIGN 6).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from conformance.backend.drive import Driver
from conformance.backend.outcome import Lost, ProtocolError, describe
from conformance.trial.check import Check, Result, Verdict
from conformance.trial.judge import outcome_name
from conformance.trial.options import Progress
from conformance.trial.plan import Trial

FIRST: Final = 3  # trials of every operator that come before everything else
PROBE: Final = 20  # trials of an operator that must not all be lost
SILENT: Final = "the backend was silent too often in checks of this operator"


@dataclass(slots=True)
class Held:
    """What came of trials: their results, the losses that no trial repeats alone, the last stderr, the calls made."""

    results: list[Result] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)  # keys of trials
    unasked: list[Trial] = field(default_factory=list)  # given up on; they have no result yet
    hopeless: dict[str, str] = field(default_factory=dict)  # operators that are not asked any more, and why
    unattributed: list[str] = field(default_factory=list)
    stderr_tail: bytes = b""
    calls: int = 0

    def add(self, other: Held) -> None:
        """Everything that other trials came to, but what was not asked of them."""
        self.results += other.results
        self.lost |= other.lost
        self.unattributed += other.unattributed
        self.stderr_tail = other.stderr_tail or self.stderr_tail
        self.calls += other.calls

    def leave(self, trials: Iterable[Trial], why: str) -> None:
        """Judge trials that are not asked at all, and ask nothing more of their operators."""
        for trial in trials:
            self.lost.add(trial.conversation.key)
            self.hopeless[trial.operator] = why
            self.results += [unasked(check, why) for check in trial.checks]


def hold_trials(
    trials: Sequence[Trial], driver: Callable[[], Driver], jobs: int, shuffle: str, progress: Progress
) -> Held:
    """Hold every trial, `jobs` processes at a time; `driver` must give tolerant drivers."""
    with ThreadPoolExecutor(jobs) as executor:
        return _Holding(driver, executor, jobs, shuffle, progress).held(trials)


@dataclass(frozen=True, slots=True)
class _Holding:
    driver: Callable[[], Driver]
    executor: Executor
    jobs: int
    shuffle: str
    progress: Progress

    def held(self, trials: Sequence[Trial]) -> Held:
        probes = [sorted(part, key=digest)[:PROBE] for part in by_operator(trials)]
        # One of every operator after the other, so that silence in a row is silence everywhere.
        first = [trial for row in zip_longest(*(probe[:FIRST] for probe in probes)) for trial in row if trial]
        whole = self.hold_part(first)
        if len(probes) > 1 and all_lost(whole, without(first, whole.unasked)):
            why = "the backend was lost in all of a few checks of every operator"
            whole.leave(without(trials, without(first, whole.unasked)), why)
            return whole
        whole.leave(self.hold_apart(whole, by_operator(whole.unasked)), SILENT)
        rest = without(trials, first)
        for probe in probes:
            if all_lost(whole, probe[:FIRST]):
                rest = self.probed(whole, probe, rest)
        ordered = sorted(rest, key=lambda trial: shuffled(trial, self.shuffle))
        given_up = self.hold_apart(whole, [ordered[k :: self.jobs] for k in range(self.jobs)])
        whole.leave(self.hold_apart(whole, by_operator(given_up)), SILENT)
        return whole

    def probed(self, whole: Held, probe: Sequence[Trial], rest: Sequence[Trial]) -> list[Trial]:
        """What is left to ask after an operator whose first trials were lost has been tried further."""
        whole.leave(self.hold_apart(whole, [probe[FIRST:]]), SILENT)
        left = without(rest, probe)
        if not all_lost(whole, probe):
            return left
        hopeless = [trial for trial in left if trial.operator == probe[0].operator]
        whole.leave(hopeless, f"the backend was lost in each of {len(probe)} checks of this operator")
        return without(left, hopeless)

    def hold_apart(self, whole: Held, parts: Sequence[Sequence[Trial]]) -> list[Trial]:
        """Hold each part with a driver of its own; what they gave up on."""
        held = list(self.executor.map(self.hold_part, filter(None, parts)))
        for one in held:
            whole.add(one)
        return [trial for one in held for trial in one.unasked]

    def hold_part(self, part: Sequence[Trial]) -> Held:
        driver, held = self.driver(), Held()
        by_key = {trial.conversation.key: trial for trial in part}
        for finished in driver.hold([trial.conversation for trial in part]):
            trial = by_key[finished.key]
            if finished.finding is not None:
                held.results += finished.finding
            elif not finished.asked:
                held.unasked.append(trial)
            elif finished.lost is not None:
                held.lost.add(finished.key)
                held.results += [lost(check, finished.lost) for check in trial.checks]
            self.progress.step()
        held.unattributed = [describe(reason) for reason in driver.unattributed]
        held.stderr_tail, held.calls = driver.stderr_tail, driver.calls
        return held


def lost(check: Check, reason: Lost) -> Result:
    """The verdict on a check in which the backend was lost, alone."""
    return Result(check, Verdict.ERROR, outcome_name(reason), message=describe(reason))


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
