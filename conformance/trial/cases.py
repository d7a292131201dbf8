"""A frozen case as a conversation: ask its calls, stop at the first wrong answer, judge."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.backend.drive import RESTART, Call, Conversation, Restart
from conformance.backend.observed import BadAnswer, ObservedFailure, ObservedResult, observe
from conformance.backend.outcome import Outcome
from conformance.backend.outcome import Result as AnsweredResult
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect
from conformance.trial import check as checks
from conformance.trial.check import Check, Difference, Kind, Result, Verdict
from conformance.trial.judge import answer_of, difference, loss_sentence, outcome_name
from conformance.vectors.accumulate import accumulate, gap
from conformance.vectors.case import CallStep, Case, ExpectedResult, RestartStep
from conformance.vectors.exchange import Exchange, resolve, restarts

CaseTalk = Generator[Sequence[Call] | Restart, Sequence[Outcome], Result]


def check_of(case: Case) -> Check:
    """The check that a case is."""
    return Check(case.id, Kind.VECTOR, case.operator, case.group, case.why, case.requirements, case.rulings)


@dataclass(frozen=True, slots=True)
class CaseRunner:
    """Turns cases into conversations with one backend."""

    codebook: Codebook
    dialect: Dialect
    names_broken: bool = True  # say which postconditions a wrong result violates; costs milliseconds each
    _texts: dict[int, str] = field(default_factory=dict, init=False, repr=False)  # by id of a step of the corpus

    def conversation(self, case: Case) -> Conversation[Result]:
        """The conversation that tries one case; it needs a process of its own where the trace restarts it."""
        return Conversation(case.id, lambda: self.talk(case), restarts(case.steps))

    def conversations(self, cases: Sequence[Case]) -> Iterator[Conversation[Result]]:
        """A conversation per case."""
        return map(self.conversation, cases)

    def talk(self, case: Case) -> CaseTalk:
        """Ask and judge one case."""
        if case.accumulation is not None:
            return (yield from self._accumulated(case))
        made: dict[str, Exchange] = {}
        for step in case.steps:
            if isinstance(step, RestartStep):
                yield RESTART
                continue
            wrong = yield from self._step(case, step, made)
            if wrong is not None:
                return wrong
        return Result(check_of(case), Verdict.PASS)

    def _step(
        self, case: Case, step: CallStep, made: dict[str, Exchange]
    ) -> Generator[Sequence[Call], Sequence[Outcome], Result | None]:
        inputs = resolve(step.inputs, made) if made else step.inputs
        (outcome,) = yield [Call(step.operator, inputs)]
        if case.kind == "explicit" and self._is_expected(step, outcome):
            return None
        observed = observe(outcome, step.operator, self.codebook, self.dialect)
        check, name = check_of(case), step.name if case.kind == "trace" else ""
        if not isinstance(observed, ObservedResult | ObservedFailure | BadAnswer):
            # A framed message that is no answer; a lost process never reaches a talk.
            return Result(check, Verdict.ERROR, outcome_name(observed), name, loss_sentence(observed))
        contract = self.codebook[step.operator].contract
        found = difference(step.expected, observed, contract.outputs, contract.failure)
        if found is None:
            made[step.name] = Exchange(step.name, step.operator, inputs, observed)
            return None
        return Result(
            check,
            Verdict.FAIL,
            outcome_name(observed),
            name,
            difference=found,
            call=checks.Call(step.operator, inputs, answer_of(observed)),
            broken=self._broken(step.operator, inputs, observed),
        )

    def _is_expected(self, step: CallStep, outcome: Outcome) -> bool:
        """Whether a JSON answer is the expected text itself: well typed and right, at a tenth of the cost."""
        if not isinstance(outcome, AnsweredResult) or not isinstance(step.expected, ExpectedResult):
            return False
        if self.dialect.name != "json":
            return False
        text = self._texts.get(id(step))
        if text is None:
            text = self._texts[id(step)] = json.dumps(step.expected.fields, sort_keys=True)
        return json.dumps(outcome.value, sort_keys=True) == text

    def _broken(self, operator: str, inputs: Mapping[str, Any], observed: object) -> tuple[str, ...]:
        """The ids of the postconditions that a wrong result violates."""
        if not self.names_broken or not isinstance(observed, ObservedResult):
            return ()
        forms = self.codebook[operator]
        given, said = forms.inputs.to_native(inputs), forms.outputs.to_native(observed.fields)
        return tuple(clause.id for clause in forms.contract.broken_postconditions(given, said))

    def _accumulated(self, case: Case) -> CaseTalk:
        assert case.accumulation is not None
        run = yield from accumulate(case.accumulation, self.codebook, self.dialect)
        check = check_of(case)
        expected = case.accumulation.checkpoints
        if run.stop is not None:
            at, observed = run.stop, run.stop.observed
            said = observed.error if isinstance(observed, BadAnswer) else observed
            call = checks.Call(case.accumulation.operator, at.inputs, answer_of(observed))
            where = Difference(f"call {at.call} of {case.accumulation.count}", "a result", str(said))
            return Result(check, Verdict.FAIL, outcome_name(observed), difference=where, call=call)
        if (parting := gap(expected, run.checkpoints)) is None:
            return Result(check, Verdict.PASS)
        sums = (dict(expected)[parting.differs], dict(run.checkpoints)[parting.differs])
        where = Difference(f"{case.accumulation.output}, hashed after call {parting.differs}", *sums, str(parting))
        return Result(check, Verdict.FAIL, "result", difference=where)
