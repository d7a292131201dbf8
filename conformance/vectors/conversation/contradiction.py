"""How the outcome of a call contradicts its contract, and when the contract allows no other outcome.

Freezing, the lint rules on cases, fuzzing, wrong answers of a run and `tally explain` all ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from conformance.backend.outcome import ObservedFailure, ObservedResult
from conformance.codec.codebook import Codebook
from conformance.contract.cel.expression import Expression
from conformance.contract.cel.syntax import conjuncts, dotted_names, equation
from conformance.contract.machine import known
from conformance.contract.model import Clause, Contract, Guard, first_false
from conformance.contract.types import Scalar, Struct, Type, lasting
from conformance.vectors.case import Question, TreeStep
from conformance.vectors.conversation.exchange import Transcript
from conformance.vectors.conversation.state_tracking import StateTransition

IsTrue = Callable[[Expression], bool]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What the outcome of one call contradicts; `guard` is the first that is not true, None where all are true.

    `decision` is true where the outcome is not what the guards decide: another code, a result where a guard refuses, or
    a failure that nothing declares. The other fields are of a result: the numbers of the expressions of the domain that
    are not true, the broken postconditions, and the invariants that the state afterwards breaks.
    """

    guard: Guard | None
    decision: bool
    domain: tuple[int, ...] = ()
    postconditions: tuple[Clause, ...] = ()
    invariants: tuple[Clause, ...] = ()

    @property
    def broken(self) -> tuple[Clause, ...]:
        """The broken postconditions and invariants."""
        return (*self.postconditions, *self.invariants)

    @property
    def predicted(self) -> str:
        """What the guards say of the call."""
        return f"the guard {self.guard.id} predicts {self.guard.code}" if self.guard else "every guard is true"


def contradictions_of(
    contract: Contract, code: str, of_call: IsTrue, of_result: IsTrue | None = None, invariants: tuple[Clause, ...] = ()
) -> Contradiction:
    """The contradictions of one outcome: a failure with `code`, or a result where `code` is empty.

    `of_call` says whether an expression over the inputs is true, `of_result`, of a result, the same of one over both.
    """
    guard = first_false(contract.requires, of_call)
    foreseen = {guard.code} if guard else {"", *contract.later_codes}
    if of_result is None:
        return Contradiction(guard, code not in foreseen)
    domain = tuple(k for k, expression in enumerate(contract.domain) if not of_call(expression))
    broken = tuple(clause for clause in contract.ensures if not of_result(clause.expression))
    return Contradiction(guard, code not in foreseen, domain, broken, invariants)


def contradiction(situation: StateTransition, codebook: Codebook) -> Contradiction | None:
    """What an answer contradicts; None if there is no answer, or if a clause needs a state that is unknown."""
    observed, inputs = situation.exchange.observed, situation.inputs
    contract = codebook[situation.exchange.operator].contract
    if not isinstance(observed, ObservedResult | ObservedFailure) or not contract.foresees(inputs):
        return None
    given = contract.environment.bindings(inputs)
    call = contract.environment.activation(given)
    if isinstance(observed, ObservedFailure):
        return contradictions_of(contract, observed.code, lambda one: one.holds(call))
    result = contract.result_environment.activation(given, situation.result or {})
    return contradictions_of(contract, "", lambda one: one.holds(call), lambda one: one.holds(result), situation.broken)


def evaluation_error(condition: Guard | Clause, situation: StateTransition, codebook: Codebook) -> str:
    """The engine's error for a guard, or a postcondition of a result, that has no value; empty if it has one."""
    contract = codebook[situation.exchange.operator].contract
    given = contract.environment.bindings(situation.inputs)
    if isinstance(condition, Guard):
        return condition.expression.error(contract.environment.activation(given))
    return condition.expression.error(contract.result_environment.activation(given, situation.result or {}))


def follows(
    question: Question,
    transcript: Transcript,
    found: Sequence[StateTransition],
    contradictions: Sequence[Contradiction | None],
    codebook: Codebook,
) -> bool:
    """Whether the contracts allow only this answer to every call, so that the contract itself is a second derivation.

    A failure follows if a guard decides it and its record says nothing else. A result follows if every output is one
    side of an equation and nothing else can refuse the call. The content of files never follows; nor does a float,
    since equal floats may have different bits.
    """
    if transcript.fault or any(isinstance(step, TreeStep) for step in question.steps):
        return False
    return len(found) == len(question.calls) and all(map(_follows, found, contradictions, repeat(codebook)))


def _follows(situation: StateTransition, found: Contradiction | None, codebook: Codebook) -> bool:
    exchange = situation.exchange
    contract = codebook[exchange.operator].contract
    if (contract.method is None and contract.purity != "pure") or found is None or found.decision:
        return False
    if isinstance(exchange.observed, ObservedFailure):
        record = {"failure_code": exchange.observed.code, "failure_operator": contract.operator}
        return found.guard is not None and exchange.observed.data == record
    return not contract.refuses and set(_leaves(lasting(contract.outputs))) <= _equated(contract, situation)


def _equated(contract: Contract, situation: StateTransition) -> set[str]:
    """The outputs that a postcondition equates with an expression that does not depend on the result."""
    found = set[str]()
    for clause in contract.ensures:
        if not known(clause.needs, situation.inputs.get("state")):
            continue
        found |= {path for path, source in equations_of(clause.expression.text) if not _of_result(source, contract)}
    return found


def equations_of(text: str) -> Iterator[tuple[str, str]]:
    """Each output path that an expression equates in a conjunct of its own, with the expression that it must equal."""
    try:
        pairs = [pair for conjunct in conjuncts(text) if (pair := equation(conjunct))]
    except ValueError:  # this reader does not know every construct that the engine accepts
        return
    for left, right in pairs:
        for path, source in ((left, right), (right, left)):
            if path.startswith("result.") and dotted_names(path) == {path}:
                yield path.removeprefix("result."), source


def _of_result(text: str, contract: Contract) -> bool:
    names = dotted_names(text)
    followed = [name.removeprefix("next.") for name in names if name.startswith("next.")]
    becomes = contract.method.becomes if contract.method is not None else {}
    texts = [text, *(becomes[name].text for name in followed if name in becomes)]
    return any(name.startswith(("result.", "has_result.")) for one in texts for name in dotted_names(one))


def _leaves(type_: Type, path: str = "") -> Iterator[str]:
    if isinstance(type_, Struct):
        for member in type_.fields:
            # The presence of an optional output also has to be decided, and no equation decides it.
            yield from [f"{path}?"] if member.optional else ()
            yield from _leaves(member.type, f"{path}.{member.name}" if path else member.name)
    elif isinstance(type_, Scalar) and type_.name.startswith("float"):
        yield f"{path}?"
    else:
        yield path
