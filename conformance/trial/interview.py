"""Suspected mutants are asked what the backend on trial was asked, and new calls beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.backend.conversation import Call
from conformance.backend.drive import Driver
from conformance.backend.resolve import resolve
from conformance.backend.standin import stand_in_for
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import DIALECTS
from conformance.contract.mutant import Mutant
from conformance.trial.asker import Asker
from conformance.trial.attempt import attempt
from conformance.trial.check import Kind, Result
from conformance.trial.judge import answer_of
from conformance.trial.options import DEFAULT_TIMEOUT
from conformance.trial.plan import Plan
from conformance.vectors.corpus import Corpus

NEW_CALLS: Final = 100  # of each operator; fuzzing finds nine of ten mutants that it finds at all within as many
_SEED: Final = "diagnosis"  # other calls than those of the run


@dataclass(frozen=True, slots=True)
class MutantInterview:
    """Asks mutants in fresh processes; `backend` is the one on trial."""

    plan: Plan
    corpus: Corpus
    codebook: Codebook
    backend: Asker
    declared: frozenset[str] | None = None  # what the backend declares; a mutant is asked no other operator

    def checks(self, mutant: Mutant, wanted: Sequence[str]) -> Mapping[str, Result]:
        """The mutant's results in these vectors and laws, by id; golden cases are left out, they take hours."""
        chosen = frozenset(wanted)
        cases = [case for case in self.corpus if case.id in chosen]
        found = dict(attempt(mutant.backend, cases, self.codebook, declared=self.declared).results)
        trials = [trial for trial in self.plan.trials if trial.checks[0].kind is Kind.LAW and chosen & {*trial.ids}]
        for finished in self._driver(mutant).hold([trial.conversation for trial in trials]):
            found |= {result.check.id: result for result in finished.finding or ()}
        return found

    def counterexample(self, mutant: Mutant, found: Result) -> bool:
        """Whether the mutant answers the call of a fuzzing failure as the backend did; a trace is left to `fresh`."""
        if found.call is None or self.codebook[found.call.operator].contract.machine is not None:
            return True
        with Asker(self._driver(mutant)) as other:
            (observed,) = other.ask([Call(found.call.operator, found.call.inputs)])
        return bool(answer_of(observed) == found.call.answer)

    def fresh(self, mutant: Mutant, operators: Sequence[str]) -> bool:
        """Whether the mutant and the backend answer alike in new calls of those operators that are fuzzed."""
        with Asker(self._driver(mutant)) as other:
            for fuzzing in self.plan.fuzzed:
                if fuzzing.contract.operator not in operators:
                    continue
                cases = self.corpus.cases.get(fuzzing.contract.operator, ())
                result, _ = fuzzing.fuzz(
                    fuzzing.contract, cases, self.backend, other, self.codebook, NEW_CALLS, _SEED, trusted=False
                )
                if result.difference is not None:
                    return False
        return True

    def _driver(self, mutant: Mutant) -> Driver:
        stand_in = stand_in_for("json", DEFAULT_TIMEOUT)
        command, dialect = resolve(mutant.backend), DIALECTS["json"]
        return Driver(command, dialect, self.codebook, DEFAULT_TIMEOUT, stand_in=stand_in, declared=self.declared)
