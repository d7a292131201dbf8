"""A frozen case as a conversation: ask its calls, stop at the first wrong answer, judge, and blame the right side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from conformance.backend.driver import RESTART, Conversation, Talk
from conformance.backend.outcome import (
    BadAnswer,
    Lost,
    Observed,
    ObservedFailure,
    ObservedResult,
    Outcome,
    RawResult,
    Side,
    describe,
)
from conformance.backend.scheduler import ConversationResult
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.contract.cel.advice import BadExpression
from conformance.contract.cel.syntax import Relation, comparisons
from conformance.contract.model import Contract, Guard
from conformance.trial.check import (
    Check,
    Difference,
    FailedCall,
    Kind,
    Result,
    Verdict,
    answer_of,
    lost,
    outcome_name,
    tree_failure,
)
from conformance.vectors.case import (
    CallStep,
    Case,
    ExpectedFailure,
    ExpectedResult,
    FileStep,
    RestartStep,
    TreeStep,
    label,
)
from conformance.vectors.conversation.accumulate import accumulate, gap
from conformance.vectors.conversation.contradiction import contradiction
from conformance.vectors.conversation.difference import difference
from conformance.vectors.conversation.exchange import ConversationContext, may_share, runs_alone
from conformance.vectors.conversation.state_tracking import situations
from conformance.vectors.files.temp_roots import StepRefused

_MOST: Final = 3  # guards that a report names


def guard_details(contract: Contract, inputs: Mapping[str, Any], observed: Observed) -> dict[str, Any]:
    """The details of a failure about guards: `guards` that compete, and `limits`.

    `limits`, for a call that no guard refuses, are all guards with the answered code that have the call at their limit.
    If there are several, only other calls show which of them the backend has wrong.
    """
    guards = competing(contract, inputs, observed)
    if not guards:
        return {}
    if "decides" in guards:
        return {"guards": guards}
    activation, code = contract.environment.bind(inputs), guards["answered"][0]["code"]
    same = [guard for guard in contract.requires if guard.code == code]
    limits = {guard.id: guard.expression.text for guard in same if is_at_limit(contract, guard, activation)}
    return {"guards": guards, "limits": limits} if limits else {"guards": guards}


def competing(contract: Contract, inputs: Mapping[str, Any], observed: Observed) -> dict[str, Any]:
    """The guard that decides a call, and the one whose code the backend answers.

    If no guard refuses the call, the second is each guard that has the call at its limit; if there is none, the only
    guard with this code.

    `inputs` are native, with the state of a machine. Each entry has the guard's id, code, requirements and rulings: a
    report cites those, not everything that the case is about. Empty if no guard is concerned.
    """
    if not contract.foresees(inputs):
        return {}
    decides = contract.refusal(inputs)
    code = observed.code if isinstance(observed, ObservedFailure) else ""
    if decides is None and not code:
        return {}
    activation = contract.environment.bind(inputs)
    same = [guard for guard in contract.requires if guard.code == code and guard is not decides]
    false = [guard for guard in same if not guard.expression.holds(activation)]
    # In a wrong order, the first that refuses with this code is the one that competes.
    answered = false[:1]
    if decides is None:
        alone = len(same) == 1 and all(refusal.code != code for refusal in contract.refuses)
        near = [guard for guard in same if is_at_limit(contract, guard, activation)]
        answered = near or (same if alone else [])
    if decides is None and not answered:
        return {}
    members = {
        "decides": _named(decides) if decides is not None else None,
        "answered": [_named(guard) for guard in answered[:_MOST]],
    }
    return {name: value for name, value in members.items() if value}


def _named(guard: Guard) -> dict[str, Any]:
    return {
        "id": guard.id,
        "code": guard.code,
        "that": guard.expression.text,
        "requirements": list(guard.requirements),
        "rulings": list(guard.rulings),
    }


def is_at_limit(contract: Contract, guard: Guard, activation: Any) -> bool:
    """Whether a true guard would refuse the call if one of its limits were stricter by one."""
    return any(not passes for passes in _stricter(contract, guard, activation))


def _stricter(contract: Contract, guard: Guard, activation: Any) -> Iterator[bool]:
    """Whether the guard is still true with each of its comparisons one stricter."""
    for comparison in comparisons(guard.expression.text):
        for text in _tightened(comparison):
            try:
                expression = contract.environment.compile(comparison.replaced(text))
            except BadExpression:
                continue  # a literal of the other type of integers
            yield expression.holds(activation)
            break


def _tightened(comparison: Relation) -> Iterator[str]:
    left, right = f"({comparison.left})", f"({comparison.right})"
    match comparison.sign:
        case "<=":
            yield f"{left} < {right}"
        case ">=":
            yield f"{left} > {right}"
        case "<":
            yield from (f"{left} + {one} < {right}" for one in ("1u", "1"))
        case ">":
            yield from (f"{left} > {right} + {one}" for one in ("1u", "1"))


BAD: Final = (Verdict.FAIL, Verdict.ERROR)
STAND_IN: Final = "the stand-in (the suite's reference)"


@dataclass(frozen=True, slots=True)
class ConversationVerdicts:
    """The verdicts on the checks of one conversation; `obstacle` says why nothing can be judged, if nothing can."""

    results: Sequence[Result]
    obstacle: str = ""


def conversation_verdicts(
    checks: Sequence[Check], finished: ConversationResult[Sequence[Result]], declared: frozenset[str] | None
) -> ConversationVerdicts:
    """The verdicts of a finished conversation; `declared` are the backend's operators, None if it was not asked."""
    innocent = declared is not None and not finished.called & declared
    if finished.finding is not None:
        bad = [result for result in finished.finding if result.verdict in BAD]
        if not bad or not innocent:
            return ConversationVerdicts(finished.finding)
        who = f"the law, or {STAND_IN}," if bad[0].check.kind is Kind.LAW else STAND_IN
        why = f"{bad[0].check.id}: {who} is wrong before the backend is asked anything"
        why += f": {bad[0].message}" if bad[0].message else ""
        return ConversationVerdicts([_unjudged(result, why) for result in finished.finding], why)
    assert finished.lost is not None
    if finished.side is Side.BACKEND:
        return ConversationVerdicts([lost(check, finished.lost) for check in checks])
    said = describe(finished.lost)
    if finished.side is Side.INSTALLATION:
        why = f"{checks[0].id}: {STAND_IN} cannot answer: {said}"
    elif innocent:
        why = f"{checks[0].id}: {STAND_IN} is lost before the backend is asked anything: {said}"
    else:
        message = f"{STAND_IN} is lost on what the backend left: {said}"
        return ConversationVerdicts(
            [Result(check, Verdict.FAIL, outcome_name(finished.lost), message=message) for check in checks]
        )
    return ConversationVerdicts(
        [Result(check, Verdict.ERROR, outcome_name(finished.lost), message=why) for check in checks], why
    )


def stand_in_loss(reason: Lost) -> str:
    """Why nothing is judged: the stand-in was lost, and no check alone repeats the loss."""
    return f"{STAND_IN} is lost, and no check repeats it alone: {describe(reason)}"


def _unjudged(result: Result, why: str) -> Result:
    return replace(result, verdict=Verdict.ERROR, message=why) if result.verdict in BAD else result


def check_of(case: Case) -> Check:
    """The check for a case."""
    return Check(case.id, Kind.VECTOR, case.operator, case.group, case.why, case.requirements, case.rulings)


@dataclass(frozen=True, slots=True)
class CaseRunner:
    """Turns cases into conversations with one backend."""

    codebook: Codebook
    dialect: Dialect
    names_broken: bool = True  # say which part of the contract a wrong answer contradicts; costs milliseconds each
    _texts: dict[int, str] = field(default_factory=dict, init=False, repr=False)  # by id of a step of the corpus

    def conversation(self, case: Case) -> Conversation[Sequence[Result]]:
        """The conversation that tries one case."""
        alone, calls = runs_alone(case.steps), sum(isinstance(step, CallStep) for step in case.steps)
        in_step = alone and may_share(case.steps, self.codebook)
        return Conversation(case.id, lambda: self.talk(case), alone, in_step, exclusive=calls > 1)

    def talk(self, case: Case) -> Talk[Sequence[Result]]:
        """Ask and judge one case; its one result."""
        return [(yield from self._result_of(case))]

    def _result_of(self, case: Case) -> Talk[Result]:
        if case.accumulation is not None:
            return (yield from self._accumulated(case))
        with ConversationContext(self.codebook, self.dialect) as stage:
            for number, step in enumerate(case.steps, start=1):
                match step:
                    case RestartStep():
                        yield RESTART
                        wrong = None
                    case CallStep():
                        wrong = (yield from self._step(case, step, stage)) or _settled(case, step.name, stage)
                    case FileStep() | TreeStep():
                        wrong = _file_step(case, step, label(step, number), stage)
                if wrong is not None:
                    return wrong
        return Result(check_of(case), Verdict.PASS)

    def _step(self, case: Case, step: CallStep, stage: ConversationContext) -> Talk[Result | None]:
        inputs = stage.inputs(step)
        (outcome,) = yield [stage.call(step.operator, inputs)]
        if case.kind == "explicit" and self._is_expected(step, outcome):
            return None
        observed = stage.note(step.name, step.operator, inputs, outcome).observed
        check, name = check_of(case), step.name if case.kind == "trace" else ""
        if not isinstance(observed, ObservedResult | ObservedFailure | BadAnswer):
            # The message has a frame but is no answer; the loss of a process never reaches a talk.
            return lost(check, observed, name)
        contract = self.codebook[step.operator].contract
        found = difference(step.expected, observed, contract.outputs, contract.failure)
        if found is None:
            return None
        return Result(
            check,
            Verdict.FAIL,
            outcome_name(observed),
            name,
            difference=found,
            call=FailedCall(step.operator, inputs, answer_of(observed)),
            **self._contradicted(case, step, stage),
        )

    def _is_expected(self, step: CallStep, outcome: Outcome) -> bool:
        """Whether a JSON answer is the expected text itself: well typed and right, at a tenth of the cost."""
        if not isinstance(outcome, RawResult) or not isinstance(step.expected, ExpectedResult):
            return False
        if self.dialect.name != "json" or self.codebook[step.operator].lasting is not None:
            return False  # volatile outputs are answered but not frozen
        text = self._texts.get(id(step))
        if text is None:
            text = self._texts[id(step)] = json.dumps(step.expected.fields, sort_keys=True)
        return json.dumps(outcome.value, sort_keys=True) == text

    def _contradicted(self, case: Case, step: CallStep, stage: ConversationContext) -> dict[str, Any]:
        """What a wrong answer contradicts: postconditions and invariants of a result, guards that decide otherwise."""
        if not self.names_broken:
            return {}
        observed, contract = stage.exchanges[-1].observed, self.codebook[step.operator].contract
        situation = list(situations(case.steps, stage.exchanges, self.codebook))[-1]
        found = contradiction(situation, self.codebook)
        broken = tuple(clause.id for clause in found.broken) if found is not None else ()
        details = {}
        if isinstance(step.expected, ExpectedFailure) or isinstance(observed, ObservedFailure):
            details = guard_details(contract, situation.inputs, observed)
        return {"broken": broken, "details": details}

    def _accumulated(self, case: Case) -> Talk[Result]:
        assert case.accumulation is not None
        run = yield from accumulate(case.accumulation, self.codebook, self.dialect)
        check = check_of(case)
        expected = case.accumulation.checkpoints
        if run.stop is not None:
            at, observed = run.stop, run.stop.observed
            said = observed.error if isinstance(observed, BadAnswer) else describe(observed)
            call = FailedCall(case.accumulation.operator, at.inputs, answer_of(observed))
            where = Difference(f"call {at.call} of {case.accumulation.count}", "a result", str(said))
            return Result(check, Verdict.FAIL, outcome_name(observed), difference=where, call=call)
        if (parting := gap(expected, run.checkpoints)) is None:
            return Result(check, Verdict.PASS)
        sums = (dict(expected)[parting.differs], dict(run.checkpoints)[parting.differs])
        where = Difference(f"{case.accumulation.output}, hashed after call {parting.differs}", *sums, str(parting))
        calls = {"agreed": parting.agreed, "differs": parting.differs, "count": case.accumulation.count}
        return Result(check, Verdict.FAIL, "result", difference=where, details={"calls": calls})


def _settled(case: Case, name: str, stage: ConversationContext) -> Result | None:
    """Wait for the file steps that were to be done during a call; None if they succeed."""
    try:
        stage.settle()
    except StepRefused as refused:
        return _refused(case, name, refused)
    return None


def _refused(case: Case, name: str, refused: StepRefused) -> Result:
    # The step could be done where the values come from, so the files are not what they must be.
    where = Difference(name, "a step that can be done", str(refused))
    message = f"the harness cannot do the step {name}: {refused}"
    return Result(check_of(case), Verdict.FAIL, "result", name, message, where)


def _file_step(case: Case, step: FileStep | TreeStep, name: str, stage: ConversationContext) -> Result | None:
    """Do a file step, or compare a tree with the frozen one; None if it succeeds."""
    try:
        tree = stage.take(step)
    except StepRefused as refused:
        return _refused(case, name, refused)
    if not isinstance(step, TreeStep) or tree is None:
        return None
    return tree_failure(check_of(case), step, name, step.expected or {}, tree)
