"""What notices a mutant without any frozen case: the laws, differential fuzzing, the crash workloads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from conformance.backend.drive import Driver
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import DIALECTS
from conformance.contract.library import Library
from conformance.contract.mutant import Mutant
from conformance.lint.reference import check_of
from conformance.trial.asker import Asker
from conformance.trial.check import Kind, Verdict
from conformance.trial.crash.recording import BrokenWorkload
from conformance.trial.crash.trial import CrashOptions, try_workload
from conformance.trial.crash.workload import plans
from conformance.trial.fuzz import Fuzzing
from conformance.trial.holding import digest, hold_trials
from conformance.trial.laws.law import known_laws
from conformance.trial.options import RunOptions, Silence
from conformance.trial.plan import Plan, Trial
from conformance.trial.run import reference
from conformance.vectors.corpus import Corpus

INSTANCES: Final = 12  # of each law that a mutant is put to; all of them take 24 s, for every mutant
CRASH_STATES: Final = 400  # per workload; a mistake in the order of writes shows in a few


@dataclass(frozen=True)
class Power:
    """Puts mutants to the laws, fuzzing and crash workloads of a suite; every method gives check strings or names."""

    library: Library
    corpus: Corpus
    codebook: Codebook

    def laws(self, mutant: Mutant, changed: frozenset[str] | None) -> frozenset[str]:
        """The laws, as `law:OPERATOR#name`, that the mutant breaks or does not get through."""
        trials = [trial for trial in self._laws if _reaches(self._called(trial), changed)]

        def driver() -> Driver:
            options = self._options(mutant)
            start = options.start_timeout
            command = resolve(mutant.backend)
            return Driver(command, DIALECTS["json"], self.codebook, options.timeout, start, tolerant=True)

        held = hold_trials(trials, driver, 1, "", Silence())
        broken = (result.check for result in held.results if result.verdict is not Verdict.PASS)
        return frozenset(f"law:{check.operator}#{check.group}" for check in broken)

    def fuzz(self, mutant: Mutant, changed: frozenset[str] | None) -> frozenset[str]:
        """The operators and machines whose fuzzing tells the mutant from the reference."""
        asked = [one for one in self._plan.fuzzed if _reaches([one.contract.operator], changed)]
        if not asked:
            return frozenset()
        options = self._options(mutant)
        command, start = resolve(mutant.backend), options.start_timeout
        driver = Driver(command, DIALECTS["json"], self.codebook, options.timeout, start)
        with Asker(driver) as backend, reference(options, self.codebook) as right:
            found = {one.contract.operator for one in asked if self._differs(one, backend, right)}
        return frozenset(found)

    def crash(self, mutant: Mutant) -> frozenset[str] | None:
        """The workloads, as `workload:OPERATOR#name`, that find a bad state; None where the mutant names none.

        Raises NotRun where nothing can be traced here, Untraceable where the mutant cannot.
        """
        wanted = self._workloads(mutant)
        if not wanted:
            return None
        found = set()
        for plan in plans(self.library, self.codebook):
            text = "workload:" + plan.id.replace("%", "#")
            if text not in wanted:
                continue
            options = CrashOptions(mutant.backend, states=CRASH_STATES, sweeps=("order",))
            try:
                killed = not try_workload(plan, self.codebook, options).satisfied
            except BrokenWorkload:
                killed = True
            if killed:
                found.add(text)
        return frozenset(found)

    @cached_property
    def _plan(self) -> Plan:
        return Plan(self.library, self.corpus, RunOptions(), self.codebook)

    @cached_property
    def _laws(self) -> tuple[Trial, ...]:
        """Some instances of every law, spread over all of them, always the same ones."""
        apart: dict[tuple[str, str], list[Trial]] = {}
        for trial in self._plan.trials:
            if trial.checks[0].kind is Kind.LAW:
                apart.setdefault((trial.operator, trial.checks[0].group), []).append(trial)
        return tuple(trial for trials in apart.values() for trial in sorted(trials, key=digest)[:INSTANCES])

    def _called(self, trial: Trial) -> Iterable[str]:
        return (trial.operator, *known_laws()[trial.checks[0].group].calls)

    def _differs(self, fuzzing: Fuzzing, backend: Asker, right: Asker) -> bool:
        cases = self.corpus.cases.get(fuzzing.contract.operator, ())
        result, _ = fuzzing.fuzz(fuzzing.contract, cases, backend, right, self.codebook, trusted=False)
        return result.difference is not None or bool(result.outcome)

    def _options(self, mutant: Mutant) -> RunOptions:
        return replace(self._plan.options, backend=mutant.backend)

    def _workloads(self, mutant: Mutant) -> set[str]:
        """What the mutant is to break, and what rows of its requirements rest on."""
        rows = filter(None, map(self.library.requirement, mutant.requirements))
        named: Sequence[str] = [*mutant.breaks, *(text for row in rows if row.kind == "X" for text in row.checks)]
        return {text for text in named if check_of(text).kind == "workload"}


def _reaches(operators: Iterable[str], changed: frozenset[str] | None) -> bool:
    """Whether a mistake can show in any of these operators; a machine stands for its methods."""
    if changed is None:
        return True
    return any(name == one or name.startswith(f"{one}.") for one in operators for name in changed)
