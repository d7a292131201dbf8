"""Suspected mutants are asked what the backend on trial was asked, and new calls beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Final

from conformance.backend.drive import Driver
from conformance.backend.resolve import resolve
from conformance.backend.standin import stand_in_for
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import DIALECTS
from conformance.contract.mutant import Mutant
from conformance.trial.asker import Asker
from conformance.trial.attempt import TOO_SLOW, attempt
from conformance.trial.check import Kind, Result
from conformance.trial.fuzz import Fuzzing
from conformance.trial.neighbourhood import Steps
from conformance.trial.options import DEFAULT_TIMEOUT
from conformance.trial.plan import Plan
from conformance.trial.probing import Failing, Probing
from conformance.vectors.case import Case
from conformance.vectors.corpus import Corpus
from conformance.vectors.question import Asked

NEW_CALLS: Final = 100  # of each operator; fuzzing finds nine of ten mutants that it finds at all within as many
MOST_LEFT_OUT: Final = 24  # frozen cases that the run left out
_SEED: Final = "diagnosis"  # other calls than those of the run
_FUZZING: Final = "standard"  # the least profile that fuzzes; new calls are asked in every one


@dataclass
class MutantInterview:
    """Asks mutants in fresh processes; `backend` is the one on trial, `reference` knows what is right."""

    plan: Plan
    corpus: Corpus
    codebook: Codebook
    backend: Asker
    reference: Asker
    declared: frozenset[str] | None = None  # what the backend declares; a mutant is asked no other operator
    _probing: dict[tuple[str, ...], Probing] = field(default_factory=dict, init=False)

    def checks(self, mutant: Mutant, wanted: Sequence[str]) -> Mapping[str, Result]:
        """The mutant's results in these vectors and laws, by id; golden cases are left out, they take hours."""
        chosen = frozenset(wanted)
        cases = [case for case in self.corpus if case.id in chosen]
        found = dict(attempt(mutant.backend, cases, self.codebook, declared=self.declared).results)
        trials = [trial for trial in self.plan.trials if trial.checks[0].kind is Kind.LAW and chosen & {*trial.ids}]
        for finished in self._driver(mutant).hold([trial.conversation for trial in trials]):
            found |= {result.check.id: result for result in finished.finding or ()}
        return found

    def alike_near(self, mutant: Mutant, failed: Sequence[Result], left_out: Sequence[str]) -> bool:
        """Whether the mutant answers what fuzzing found, what the run left out and what lies near as the backend does.

        `left_out` are frozen cases that kill the mutant; those that call what the backend does not declare are skipped.
        """
        key = tuple(sorted(result.check.id for result in failed))
        if key not in self._probing:
            failing = list(self._failing(failed))
            operators = {result.check.operator for result in failed}
            # The failing cases come first, so that what makes them fail is tried everywhere.
            cases = sorted(self._cases(operators), key=lambda case: (case.id not in key, case.id))
            self._probing[key] = Probing(self.codebook, self.backend, self.reference, failing, cases)
        probing = self._probing[key]
        chosen = frozenset(left_out)
        others: dict[str, list[Case]] = {}
        for case in self.corpus:
            if case.id in chosen and case.steps and (self.declared is None or case.operators <= self.declared):
                others.setdefault(f"{case.operator}::{case.group}", []).append(case)
        in_turns = [case.steps for row in zip_longest(*others.values()) for case in row if case is not None]
        counterexamples = [one.steps for one in probing.failing]
        with Asker(self._driver(mutant)) as other:
            return probing.alike(other, [*counterexamples, *in_turns[:MOST_LEFT_OUT]])

    def _cases(self, operators: set[str]) -> Iterator[Case]:
        for operator in sorted(operators):
            yield from (case for case in self.corpus.cases.get(operator, ()) if case.profile != TOO_SLOW)

    def _failing(self, failed: Sequence[Result]) -> Iterator[Failing]:
        """The questions behind failures, each as short as it is known to be."""
        by_id = {case.id: case for case in self._cases({result.check.operator for result in failed})}
        for result in failed:
            call, case = result.call, by_id.get(result.check.id)
            if call is not None and self._stands_alone(call.operator):
                # What an earlier call of the case answered stands in it.
                group = case.group if case is not None else result.check.group
                yield Failing((Asked("call", call.operator, call.inputs),), "", group)
            elif case is not None and case.steps:
                yield Failing(_until(case.steps, result.step), result.step, case.group)
            elif result.steps:
                yield Failing(result.steps, result.step, result.check.group)

    def _stands_alone(self, operator: str) -> bool:
        """Whether a call of it hangs on nothing but its inputs."""
        forms = self.codebook[operator]
        return forms.contract.purity == "pure" and not forms.handles and not forms.roots

    def fresh(self, mutant: Mutant, operators: Sequence[str]) -> bool:
        """Whether the mutant and the backend answer alike in new calls of those operators that can be fuzzed."""
        with Asker(self._driver(mutant)) as other:
            for fuzzing in self._fuzzed:
                if fuzzing.contract.operator not in operators:
                    continue
                cases = self.corpus.cases.get(fuzzing.contract.operator, ())
                result, _ = fuzzing.fuzz(
                    fuzzing.contract, cases, self.backend, other, self.codebook, NEW_CALLS, _SEED, trusted=False
                )
                if result.difference is not None:
                    return False
        return True

    @cached_property
    def _fuzzed(self) -> tuple[Fuzzing, ...]:
        """How the operators are fuzzed, whatever the profile of the run."""
        return replace(self.plan, options=replace(self.plan.options, profile=_FUZZING)).fuzzed

    def _driver(self, mutant: Mutant) -> Driver:
        stand_in = stand_in_for("json", DEFAULT_TIMEOUT)
        command, dialect = resolve(mutant.backend), DIALECTS["json"]
        return Driver(command, dialect, self.codebook, DEFAULT_TIMEOUT, stand_in=stand_in, declared=self.declared)


def _until(steps: Steps, last: str) -> Steps:
    """The steps up to the first wrong answer, so that nothing else is wrong; what comes behind was never asked."""
    for k, step in enumerate(steps):
        if last and getattr(step, "name", "") == last:
            return steps[: k + 1]
    return steps
