"""Every call of a conversation with the state that it found and left; whether its answers follow from the contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.backend.observed import ObservedFailure, ObservedResult
from conformance.codec.codebook import Codebook
from conformance.contract.lasting import lasting
from conformance.contract.machine import State, known
from conformance.contract.model import Clause, Contract
from conformance.contract.syntax import conjuncts, dotted_names, equation
from conformance.contract.types import Struct, Type
from conformance.vectors.case import CallStep, RestartStep, TreeStep
from conformance.vectors.exchange import AnyStep, Exchange, Held
from conformance.vectors.ledger import Ledger
from conformance.vectors.question import Asked, Question


@dataclass(frozen=True, slots=True)
class Situation:
    """One exchange: native inputs, with the `state` behind a handle; the native result; the state afterwards."""

    exchange: Exchange
    inputs: Mapping[str, Any]
    result: Mapping[str, Any] | None = None
    after: State | None = None
    broken: tuple[Clause, ...] = field(default=())  # invariants of the machine


def situations(steps: Iterable[AnyStep], exchanges: Iterable[Exchange], codebook: Codebook) -> Iterator[Situation]:
    """The calls of these steps that were made, in order."""
    made = {exchange.step: exchange for exchange in exchanges}
    ledger = Ledger(codebook)
    for step in steps:
        if isinstance(step, RestartStep):
            ledger.restart()
        elif isinstance(step, Asked | CallStep) and step.name in made:
            yield _situation(made[step.name], ledger, codebook)


def _situation(exchange: Exchange, ledger: Ledger, codebook: Codebook) -> Situation:
    forms, wire = codebook[exchange.operator], exchange.inputs
    inputs = ledger.situated(exchange.operator, wire, forms.inputs.to_native(wire))
    if not isinstance(exchange.observed, ObservedResult):
        return Situation(exchange, inputs)
    result = (forms.lasting or forms.outputs).to_native(exchange.observed.fields)
    after = ledger.note(exchange.step, exchange.operator, wire, inputs, result)
    if after is None or forms.contract.machine is None:
        return Situation(exchange, inputs, result, after)
    machine = codebook[forms.contract.machine.name].contract
    return Situation(exchange, inputs, result, after, machine.broken_invariants(after))


def follows(question: Question, held: Held, found: Sequence[Situation], codebook: Codebook) -> bool:
    """Whether a machine's contract leaves no other answer to any call: the contract itself is a second derivation.

    A failure follows where a guard decides it and its record says no more than that; a result where every output
    stands on one side of an equation and nothing else can refuse. What stands in files follows from nothing.
    """
    if held.fault or any(isinstance(step, TreeStep) for step in question.steps):
        return False
    return len(found) == len(question.calls) and all(_follows(one, codebook) for one in found)


def _follows(situation: Situation, codebook: Codebook) -> bool:
    exchange = situation.exchange
    contract = codebook[exchange.operator].contract
    if contract.method is None or not contract.foresees(situation.inputs):
        return False
    guard = contract.refusal(situation.inputs)
    if isinstance(exchange.observed, ObservedFailure):
        record = {"failure_code": exchange.observed.code, "failure_operator": contract.operator}
        return guard is not None and exchange.observed.code == guard.code and exchange.observed.data == record
    settled = isinstance(exchange.observed, ObservedResult) and guard is None and not contract.refuses
    return settled and set(_leaves(lasting(contract.outputs))) <= _equated(contract, situation)


def _equated(contract: Contract, situation: Situation) -> set[str]:
    """The outputs that some postcondition equates with what does not hang on the result."""
    method, found = contract.method, set[str]()
    for clause in contract.ensures if method is not None else ():
        if not known(contract.mentions.of(clause.expression.text), situation.inputs.get("state")):
            continue
        for pair in filter(None, map(equation, conjuncts(clause.expression.text))):
            for path, source in (pair, pair[::-1]):
                if path.startswith("result.") and not _of_result(source, contract):
                    found.add(path.removeprefix("result."))
    return found


def _of_result(text: str, contract: Contract) -> bool:
    names = dotted_names(text)
    followed = [name.removeprefix("next.") for name in names if name.startswith("next.")]
    texts = [text, *(contract.mentions.becomes.get(name, "0") for name in followed)]
    return any(name.startswith(("result.", "has_result.")) for one in texts for name in dotted_names(one))


def _leaves(type_: Type, path: str = "") -> Iterator[str]:
    if isinstance(type_, Struct):
        for member in type_.fields:
            # Whether an optional output is there is an output too, and no equation says it.
            yield from [f"{path}?"] if member.optional else ()
            yield from _leaves(member.type, f"{path}.{member.name}" if path else member.name)
    else:
        yield path
