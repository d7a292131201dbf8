"""The calls of a frozen case with native inputs; each expression is evaluated at most once per call."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from conformance.codec.codebook import Codebook, OperatorForms, codebook_of
from conformance.codec.scalar import IllTyped
from conformance.contract.cel.advice import BadExpression
from conformance.contract.cel.engine import variables_of
from conformance.contract.cel.expression import Expression
from conformance.contract.cel.syntax import Relation
from conformance.contract.lazy import np
from conformance.contract.library import Library
from conformance.contract.machine import State
from conformance.contract.model import Contract, Guard, first_false
from conformance.contract.types import ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.lint.deciding import deciding
from conformance.vectors.case import Accumulation, CallStep, Case, ExpectedResult, RestartStep
from conformance.vectors.compact import expanded, holds_recipe, is_marker
from conformance.vectors.conversation.accumulate import inputs_of
from conformance.vectors.conversation.contradiction import Contradiction, contradictions_of
from conformance.vectors.conversation.exchange import resolve
from conformance.vectors.conversation.state_tracking import Ledger
from conformance.vectors.leaf import contains_value, value_at

_TENSOR_MARKER: Final = frozenset({"dtype", "shape", "sha256"})


@dataclass(frozen=True, slots=True, eq=False)
class FrozenCall:
    """One call of a frozen case."""

    case: Case
    step: str
    operator: str
    inputs: Mapping[str, Any]
    result: Mapping[str, Any] | None = None  # native, if the call succeeds and the result is frozen
    elided: frozenset[str] = frozenset()  # outputs that are frozen as a digest only: empty, or zeros, in `result`
    code: str = ""  # the expected failure
    record: Mapping[str, Any] = field(default_factory=dict)
    after: State | None = None  # of a machine whose handle is still open; `inputs` include the `state` before

    @property
    def succeeds(self) -> bool:
        """Whether the expected answer is a result."""
        return not self.code

    def __str__(self) -> str:
        return self.case.id if self.case.kind != "trace" else f"{self.case.id}, step {self.step}"


@dataclass(frozen=True, slots=True)
class UnreadableCase(Exception):
    """A frozen case does not fit the types of its operator's contract."""

    case: Case
    reason: str


def calls_of(case: Case, codebook: Codebook) -> Iterator[FrozenCall]:
    """The calls of a case whose operators have contracts; raises UnreadableCase.

    A call whose inputs depend on an elided output is left out: only a backend can give them. So is a call with the
    recipe of a list: it was judged when it was frozen, and 65,537 items cost the rules seconds.
    """
    try:
        if case.accumulation is not None:
            yield from _accumulated(case, case.accumulation, codebook)
        else:
            yield from _stepped(case, codebook)
    except (IllTyped, KeyError, ValueError, TypeError) as error:
        raise UnreadableCase(case, str(error)) from error


def agreement(library: Library) -> Callable[[Case], bool]:
    """The function that tells whether the contracts allow every frozen answer of a case; of a long run, its success.

    It answers False for a case of a machine.
    """
    codebook, evaluators = codebook_of(library), dict[str, Evaluator]()

    def agrees(case: Case) -> bool:
        try:
            calls = list(calls_of(case, codebook))
        except UnreadableCase:
            return False
        contracts = [codebook[call.operator].contract for call in calls]
        whole = case.accumulation is not None or len(calls) == len(case.calls)
        if not whole or any(one.method is not None for one in contracts):
            return False
        for call, contract in zip(calls, contracts, strict=True):
            evaluator = evaluators.setdefault(call.operator, Evaluator(contract))
            found = evaluator.contradiction(contract, call)
            if found.decision or found.domain or found.broken:
                return False
        return True

    return agrees


def _accumulated(case: Case, run: Accumulation, codebook: Codebook) -> Iterator[FrozenCall]:
    """The first and last call of a run; for a chain only the first, because later inputs are answers."""
    if run.operator not in codebook.forms:
        return
    forms = codebook[run.operator]
    if run.generator == "chain":
        numbered = {"first": run.inputs}
    else:
        numbered = {
            name: inputs_of(run, forms.contract, call) for name, call in (("first", 0), ("last", run.count - 1))
        }
    for name, inputs in numbered.items():
        yield FrozenCall(case, name, run.operator, forms.inputs.to_native(forms.inputs.check(inputs)))


def _stepped(case: Case, codebook: Codebook) -> Iterator[FrozenCall]:
    answers: dict[str, Any] = {}
    ledger = Ledger(codebook)
    for step in case.steps:
        if isinstance(step, RestartStep):
            ledger.restart()
        if not isinstance(step, CallStep):
            continue
        expected = step.expected
        answers[step.name] = expected.fields if isinstance(expected, ExpectedResult) else None
        if step.operator not in codebook.forms:
            continue
        forms = codebook[step.operator]
        try:
            literal = expanded(step.inputs, "text")
            if holds_recipe(literal):
                raise LookupError(step.name)
            inputs = resolve(_placed(literal, forms), partial(_answer, answers), codebook.formats)
        except LookupError:
            ledger.lost_state(step.name, step.operator, step.inputs)
            continue
        plain = forms.inputs.to_native(forms.inputs.check(inputs))
        native = ledger.situated(step.operator, step.inputs, plain)
        if isinstance(expected, ExpectedResult):
            result, elided = _native_result(forms, expected.fields)
            after = ledger.note(step.name, step.operator, step.inputs, native, result, elided)
            yield FrozenCall(case, step.name, step.operator, native, result, elided, after=after)
        else:
            yield FrozenCall(case, step.name, step.operator, native, code=expected.code, record=expected.data)


def _placed(inputs: Mapping[str, Any], forms: OperatorForms) -> Mapping[str, Any]:
    """Inputs with a text in place of every root and handle; no expression can depend on these."""
    places = {name for name in (*forms.roots, *forms.handles) if isinstance(inputs.get(name), Mapping)}
    return {**inputs, **{name: "/".join(inputs[name].values()) for name in places}} if places else inputs


def _answer(answers: Mapping[str, Any], reference: Mapping[str, str]) -> Any:
    name, _, path = reference["from"].partition(".")
    value = value_at(answers[name], path)
    if contains_value(value, is_marker):
        raise LookupError(name)
    return value


def _native_result(forms: OperatorForms, fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], frozenset[str]]:
    elided: list[str] = []
    whole = _filled(forms.contract.outputs, fields, "", elided)
    outputs = forms.lasting or forms.outputs
    return outputs.to_native(outputs.check(whole)), frozenset(elided)


def _filled(type_: Type, wire: Any, path: str, elided: list[str]) -> Any:
    if isinstance(type_, Struct) and isinstance(wire, Mapping):
        members = {member.name: member.type for member in type_.fields}
        return {
            name: _filled(members[name], value, f"{path}.{name}" if path else name, elided)
            if name in members
            else value
            for name, value in wire.items()
        }
    if isinstance(type_, ListOf) and isinstance(wire, Mapping):
        elided.append(path)
        return []
    if isinstance(type_, Tensor) and isinstance(wire, Mapping) and wire.keys() == _TENSOR_MARKER:
        elided.append(path)
        size = math.prod(wire["shape"]) * np.dtype(wire["dtype"]).itemsize
        return {"dtype": wire["dtype"], "shape": wire["shape"], "data": base64.b64encode(bytes(size)).decode()}
    if isinstance(type_, MapOf | Scalar) and is_marker(wire):
        elided.append(path)
        return {} if isinstance(type_, MapOf) else ""
    if isinstance(type_, Value) and contains_value(wire, is_marker):
        elided.append(path)
        return None
    if isinstance(type_, ListOf) and isinstance(wire, list):
        return [_filled(type_.item, item, path, elided) for item in wire]
    if isinstance(type_, MapOf) and isinstance(wire, Mapping):
        return {key: _filled(type_.item, item, path, elided) for key, item in wire.items()}
    return wire


class Evaluator:
    """Evaluates expressions of one operator for its calls, each pair once.

    A value depends only on the contract's variables and on the call, so contracts that differ only in their clauses
    share an evaluator (`serves`).
    """

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._known: dict[FrozenCall, dict[str, Any]] = {}
        self._activations: dict[FrozenCall, Any] = {}
        self._compiled: dict[str, Expression | None] = {}
        self._values: dict[str, dict[FrozenCall, Any]] = {}
        self._deciding: dict[str, dict[FrozenCall, frozenset[tuple[int, int]]]] = {}
        self._mentioned: dict[str, frozenset[str]] = {}

    def forgetful(self) -> Evaluator:
        """A new evaluator with the same compiled expressions and no calls."""
        fresh = Evaluator(self.contract)
        fresh._compiled = self._compiled
        return fresh

    def serves(self, contract: Contract) -> bool:
        """Whether the contract's expressions see the same variables as those of this evaluator."""
        mine = self.contract
        return contract is mine or (
            contract.inputs == mine.inputs
            and contract.outputs == mine.outputs
            and contract.source.value.get("let") == mine.source.value.get("let")
            and memory_of(contract) == memory_of(mine)
        )

    def value(self, text: str, call: FrozenCall) -> Any:
        """The value of an expression over inputs and frozen result for a call; None if it has none."""
        memo = self._values.setdefault(text, {})
        if call not in memo:
            expression = self._expression(text)
            memo[call] = None if expression is None else expression.evaluate(self._activation(call))
        return memo[call]

    def holds(self, text: str, call: FrozenCall) -> bool:
        """Whether an expression is exactly true for a call."""
        return self.value(text, call) is True

    def decides(self, comparison: Relation, call: FrozenCall) -> bool:
        """Whether the value of the whole expression depends on this comparison for a call."""
        memo = self._deciding.setdefault(comparison.whole, {})
        if call not in memo:
            memo[call] = deciding(comparison.whole, lambda part: self.value(part, call))
        return (comparison.start, comparison.end) in memo[call]

    def compiles(self, text: str) -> bool:
        """Whether the text is an expression over this evaluator's variables."""
        return self._expression(text) is not None

    def expression(self, text: str) -> Expression:
        """The compiled expression; raises KeyError if it does not compile."""
        found = self._expression(text)
        if found is None:
            raise KeyError(text)
        return found

    def bind(self, call: FrozenCall, result: Mapping[str, Any] | None) -> Any:
        """The variables of a call with another result, or without one."""
        environment = self.contract.result_environment
        if call not in self._known:
            self._known[call] = environment.bindings(call.inputs)
        return environment.activation(self._known[call], result)

    def refusal(self, guards: tuple[Guard, ...], call: FrozenCall) -> Guard | None:
        """The first guard that is not true for a call."""
        return first_false(guards, lambda expression: self.holds(expression.text, call))

    def contradiction(self, contract: Contract, call: FrozenCall) -> Contradiction:
        """What the frozen outcome of a call contradicts, without clauses about outputs that are known by digest
        only."""

        def of_call(expression: Expression) -> bool:
            return self.holds(expression.text, call)

        def of_result(expression: Expression) -> bool:
            return not self.judges(expression.text, call) or of_call(expression)

        return contradictions_of(contract, call.code, of_call, of_result if call.succeeds else None)

    def judges(self, text: str, call: FrozenCall) -> bool:
        """Whether the call's frozen result has every output that an expression mentions."""
        if call.result is None or not call.elided:
            return call.result is not None
        names = self._outputs(text)
        return not any(f"{name}.".startswith(f"result.{path}.") for path in call.elided for name in names)

    def _outputs(self, text: str) -> frozenset[str]:
        """The variables that an expression mentions, directly and through the state after the call."""
        if text not in self._mentioned:
            expression, following = self._expression(text), self.contract.result_environment.after
            names = frozenset[str]() if expression is None else variables_of(expression.compiled)
            after = [let.needs for let in following if any(name.startswith("next.") for name in names)]
            self._mentioned[text] = names.union(*after)
        return self._mentioned[text]

    def _activation(self, call: FrozenCall) -> Any:
        if call not in self._activations:
            self._activations[call] = self.bind(call, call.result)
        return self._activations[call]

    def _expression(self, text: str) -> Expression | None:
        if text not in self._compiled:
            try:
                self._compiled[text] = self.contract.result_environment.compile(text, expected=None)
            except BadExpression:
                self._compiled[text] = None
        return self._compiled[text]


def memory_of(contract: Contract) -> object:
    """The declarations about a machine's state, in comparable form; None for an operator without a machine."""
    if contract.machine is None:
        return None
    body = contract.source.value
    variables = [(one.name, one.type) for one in contract.machine.variables]
    return variables, body.get("becomes"), body.get("keeps"), body.get("opens"), body.get("closes")
