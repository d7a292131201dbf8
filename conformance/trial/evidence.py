"""Finds which guard, refusal, postcondition or invariant of a contract a mutant breaks, from its wrong answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from conformance.codec.codebook import Codebook
from conformance.contract.family import Mutant
from conformance.lint.call import FrozenCall, UnreadableCase, calls_of
from conformance.lint.checks import check_text, guard_text
from conformance.trial.check import Result, Verdict
from conformance.vectors.case import CallStep, Case, ExpectedFailure

_OUTCOMES = ("outcome", "error.message")  # where a difference is one of the code, or of result against failure


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What its contract says of one frozen call."""

    call: FrozenCall
    guard: str  # the check string of the guard that refuses it; "" where none does
    refusals: frozenset[str]  # the check strings of the refusals whose code it fails with


@dataclass(frozen=True, slots=True)
class Evidence:
    """Reads wrong answers; a memo of what the contracts say of every frozen call, and nothing else."""

    codebook: Codebook
    _known: dict[str, Mapping[str, Foreseen]] = field(default_factory=dict, repr=False)

    def broken(self, mutant: Mutant, results: Iterable[tuple[Case, Result]]) -> dict[str, int]:
        """How many cases show each thing that a mutant breaks, by check string."""
        counted: Counter[str] = Counter()
        for case, result in results:
            counted.update(set(self._of_result(mutant, case, result)))
        return dict(sorted(counted.items()))

    def foreseen(self, case: Case) -> Mapping[str, Foreseen]:
        """The calls of a case by step, those left out that lint cannot read."""
        if case.id not in self._known:
            try:
                calls = list(calls_of(case, self.codebook))
            except UnreadableCase:
                calls = []
            self._known[case.id] = {call.step: self._foreseen(call) for call in calls}
        return self._known[case.id]

    def _foreseen(self, call: FrozenCall) -> Foreseen:
        contract = self.codebook[call.operator].contract
        if call.succeeds or not contract.foresees(call.inputs):
            return Foreseen(call, "", frozenset())
        guard = contract.refusal(call.inputs)
        if guard is not None:
            return Foreseen(call, guard_text(contract, guard.id), frozenset())
        possible = (one.id for one in contract.refuses if one.code == call.code)
        return Foreseen(call, "", frozenset(check_text(contract, "refuses", id_) for id_ in possible))

    def _of_result(self, mutant: Mutant, case: Case, result: Result) -> Iterator[str]:
        calls = self.foreseen(case)
        if result.verdict is Verdict.ERROR:
            # The call in which it was lost is unknown: only what the mutant is there to break counts.
            for one in calls.values():
                yield from {one.guard, *one.refusals} & set(mutant.breaks)
            yield from self._left_out(mutant, [step for step in _refused(case) if step.name not in calls])
            return
        if result.call is None or result.difference is None:
            return
        yield from self._clauses(result)
        found = calls.get(result.step or next(iter(calls), ""))
        if found is None:
            refused = _refused(case)
            yield from self._left_out(mutant, [one for one in refused if one.name == result.step or len(refused) == 1])
            return
        if found.call.operator != result.call.operator:
            return
        yield from found.refusals & set(mutant.breaks)
        if found.guard and (result.difference.path in _OUTCOMES or found.guard in mutant.breaks):
            yield found.guard
        elif found.call.succeeds and result.outcome == "failure":
            yield from self._too_strict(mutant, result)

    def _left_out(self, mutant: Mutant, steps: Iterable[CallStep]) -> Iterator[str]:
        """The refusals that a mutant is to break, of frozen calls that lint does not read: their inputs are recipes."""
        for step in steps:
            assert isinstance(step.expected, ExpectedFailure)
            contract = self.codebook[step.operator].contract
            possible = (one.id for one in contract.refuses if one.code == step.expected.code)
            yield from {check_text(contract, "refuses", id_) for id_ in possible} & set(mutant.breaks)

    def _clauses(self, result: Result) -> Iterator[str]:
        assert result.call is not None
        contract = self.codebook[result.call.operator].contract
        own = {clause.id for clause in contract.ensures}
        for id_ in result.broken:
            if id_ in own:
                yield check_text(contract, "ensures", id_)
            elif contract.machine is not None:
                yield check_text(self.codebook[contract.machine.name].contract, "invariant", id_)

    def _too_strict(self, mutant: Mutant, result: Result) -> Iterator[str]:
        """The guards and refusals of the code that a call got which must succeed, where the mutant is to break them."""
        assert result.call is not None
        assert result.difference is not None
        contract = self.codebook[result.call.operator].contract
        said = str(result.difference.actual)
        for guard in contract.requires:
            if said == f"failure {guard.code}" and guard_text(contract, guard.id) in mutant.breaks:
                yield guard_text(contract, guard.id)
        for refusal in contract.refuses:
            text = check_text(contract, "refuses", refusal.id)
            if said == f"failure {refusal.code}" and text in mutant.breaks:
                yield text


def _refused(case: Case) -> list[CallStep]:
    """The calls of a case that must fail."""
    return [step for step in case.steps if isinstance(step, CallStep) and isinstance(step.expected, ExpectedFailure)]
