"""The state of every handle during a conversation, according to its machine's contract; the moves between states."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.backend.outcome import ObservedResult
from conformance.codec.codebook import Codebook, OperatorForms
from conformance.contract.cel.advice import BadExpression
from conformance.contract.cel.expression import Expression
from conformance.contract.cel.syntax import Relation, comparisons
from conformance.contract.machine import Method, State, known
from conformance.contract.model import Clause, Contract
from conformance.vectors.case import CallStep, QuestionCall, RestartStep
from conformance.vectors.conversation.exchange import AnyStep, Exchange
from conformance.vectors.draft import Draft, YamlPlace

UNKNOWN_HANDLE: Final = "nobody"  # a text that no backend gives as a handle


class Ledger:
    """Follows handles from the call that opens them to the call that closes them, under the name of the opening step.

    Questions and answers are in their frozen form: handles as {from: step.output}.
    """

    def __init__(self, codebook: Codebook) -> None:
        self._codebook = codebook
        self._states: dict[str, State] = {}

    def situated(self, operator: str, wire: Mapping[str, Any], native: Mapping[str, Any]) -> Mapping[str, Any]:
        """Native inputs with the `state` of the handle that the call takes, if that handle is open."""
        method = self._codebook[operator].contract.method
        if method is None:
            return native
        state = self._states.get(_handle_name(method, wire))
        return native if state is None else {**native, "state": state}

    def note(
        self,
        step: str,
        operator: str,
        wire: Mapping[str, Any],
        situated: Mapping[str, Any],
        result: Any,
        elided: Iterable[str] = (),
    ) -> State | None:
        """Note a success with its native result; return the state after it, None if no handle is open.

        A variable is unknown afterwards if it depends on an `elided` output, which is known by its digest only.
        """
        contract = self._codebook[operator].contract
        if (method := contract.method) is None:
            return None
        key = _key(step, method, wire)
        if method.closes or (not method.opens and key not in self._states):
            self._states.pop(key, None)
            return None
        state = dict(contract.next_state(situated, result))
        for path in elided:
            for name in [one for one in state if f"result.{path}" in method.becomes[one].text]:
                del state[name]
        self._states[key] = state
        return state

    def lost_state(self, step: str, operator: str, wire: Mapping[str, Any]) -> None:
        """Note a call whose answer cannot be followed: the state after it is unknown."""
        if (method := self._codebook[operator].contract.method) is None:
            return
        key = _key(step, method, wire)
        if method.opens or key in self._states:
            self._states[key] = {}

    def restart(self) -> None:
        """Forget all handles: a new process has none."""
        self._states.clear()


def _key(step: str, method: Method, wire: Mapping[str, Any]) -> str:
    """The key of the handle that a call opens, or else of the one that it takes."""
    return f"{step}.{method.opens}" if method.opens else _handle_name(method, wire)


def _handle_name(method: Method, wire: Mapping[str, Any]) -> str:
    handle = wire.get(method.takes)
    return str(handle["from"]) if isinstance(handle, Mapping) else f"text {handle}"


SUCCEEDS: Final = ""  # the side that no guard refuses
UNSURE: Final = "?"  # the side where a guard depends on unknown state
OUTSIDE: Final = "-"  # the side that no guard refuses, but outside the domain
MOST_CALLS: Final = 64  # combinations of an operation's examples
# The value of left - right in the nearest case where a comparison is true, and in the nearest where it is false.
NEIGHBOURS: Final[Mapping[str, tuple[int, int]]] = {"<": (-1, 0), "<=": (0, 1), ">": (1, 0), ">=": (0, -1)}


@dataclass(frozen=True, slots=True)
class MachineCall:
    """One possible call: an operation and its inputs without the handle."""

    operator: str
    wire: Mapping[str, Any] = field(hash=False)
    native: Mapping[str, Any] = field(hash=False, repr=False)
    chosen: tuple[str, ...] = ()  # `path number` of every example value in it, numbered from 1


@dataclass(frozen=True, slots=True)
class CallEffect:
    """The effect of a move in a state by the contract: its side, the boundaries that it touches, the state after it."""

    side: str  # id of the guard that refuses, SUCCEEDS, UNSURE or OUTSIDE
    touched: frozenset[str] = frozenset()  # `guard/number of comparison/side`
    after: State | None = None  # None: no handle is open


@dataclass(frozen=True, slots=True)
class _Boundary:
    guard: str
    number: int
    sign: str
    left: Expression
    right: Expression


class Model:
    """The moves of a machine and their effects, computed from its contracts alone, without a backend."""

    def __init__(self, whole: Contract, codebook: Codebook, operations: Sequence[str] = ()) -> None:
        assert whole.machine is not None
        self.codebook = codebook
        machine = whole.machine
        wanted = {machine.full_name(name) for name in operations} or set(machine.methods)
        self.contracts = {name: codebook[name].contract for name in machine.methods if name in wanted}
        self.moves = {name: tuple(_moves(one, codebook[name])) for name, one in self.contracts.items()}
        self._boundaries = {name: tuple(_boundaries(one)) for name, one in self.contracts.items()}

    def opening(self, operator: str) -> bool:
        """Whether an operation gives a handle and takes none."""
        method = self.contracts[operator].method
        return method is not None and bool(method.opens) and not method.takes

    def reads(self, operator: str) -> bool:
        """Whether an operation takes a handle, answers something and changes nothing."""
        contract = self.contracts[operator]
        method = contract.method
        return method is not None and bool(method.takes) and method.reads and bool(contract.outputs.fields)

    def closes(self, operator: str) -> bool:
        """Whether an operation ends its handle."""
        method = self.contracts[operator].method
        return method is not None and method.closes

    def reach(self, move: MachineCall, state: State | None) -> CallEffect:
        """The effect of a move on a handle in this `state`."""
        contract = self.contracts[move.operator]
        method = contract.method
        assert method is not None
        inputs = dict(move.native) if state is None or not method.takes else {**move.native, "state": state}
        activation = contract.environment.bind(inputs)
        touched: set[str] = set()
        for guard in contract.requires:
            if not known(guard.needs, inputs.get("state")):
                return CallEffect(UNSURE, frozenset(touched), state)
            touched.update(self._touched(move.operator, guard.id, activation))
            if not guard.expression.holds(activation):
                return CallEffect(guard.id, frozenset(touched), state)
        if not all(one.holds(activation) for one in contract.domain):
            return CallEffect(OUTSIDE, frozenset(touched), state)
        if method.closes:
            return CallEffect(SUCCEEDS, frozenset(touched), None)
        return CallEffect(SUCCEEDS, frozenset(touched), self._after(contract, inputs))

    def _after(self, contract: Contract, inputs: Mapping[str, Any]) -> State:
        """The state after a success; variables that depend on the answer are unknown before the call."""
        after = dict(contract.next_state(inputs, {}))
        for name, becomes in contract.method.becomes.items() if contract.method is not None else ():
            if "result." in becomes.text:
                after.pop(name, None)
        return after

    def _touched(self, operator: str, guard: str, activation: Any) -> Iterator[str]:
        for one in self._boundaries[operator]:
            if one.guard != guard:
                continue
            left, right = one.left.evaluate(activation), one.right.evaluate(activation)
            true, false = NEIGHBOURS[one.sign]
            apart = left - right if type(left) is type(right) is int else None
            if apart in (true, false):
                yield f"{guard}/{one.number}/{'inside' if apart == true else 'outside'}"


def comparisons_of(expression: Expression) -> tuple[Relation, ...]:
    """The comparisons that an expression makes outside macros."""
    try:
        return comparisons(expression.text)
    except ValueError:  # this reader does not know every construct that the engine accepts
        return ()


def _boundaries(contract: Contract) -> Iterator[_Boundary]:
    for guard in contract.requires:
        for number, one in enumerate(comparisons_of(guard.expression)):
            if one.sign not in NEIGHBOURS:
                continue
            try:
                sides = [contract.environment.compile(side, None) for side in (one.left, one.right)]
            except BadExpression:
                continue
            yield _Boundary(guard.id, number, one.sign, *sides)


def _moves(contract: Contract, forms: OperatorForms) -> Iterator[MachineCall]:
    """Calls with an operation's examples: first values only, then one other value at a time, then all combinations."""
    place = YamlPlace(contract.source, ("examples",))
    examples: Mapping[str, Sequence[Any]] = contract.source.value.get("examples", {})
    takes = contract.method.takes if contract.method is not None else ""
    sizes = [range(len(values)) for values in examples.values()]
    beside = (tuple(k if n == at else 0 for n in range(len(sizes))) for at, size in enumerate(sizes) for k in size)
    rows = dict.fromkeys([tuple(0 for _ in sizes), *beside])
    rows |= dict.fromkeys(itertools.islice(itertools.product(*sizes), MOST_CALLS))
    for row in rows:
        draft = Draft(contract)
        for path, k in zip(examples, row, strict=True):
            draft.set(path, examples[path][k], place / path / k)
        if takes and takes not in examples:
            draft.set(takes, UNKNOWN_HANDLE, place)
        wire = draft.wire(place)
        chosen = tuple(f"{path} {k + 1}" for path, k in zip(examples, row, strict=True))
        yield MachineCall(contract.operator, wire, forms.inputs.to_native(wire), chosen)


@dataclass(frozen=True, slots=True)
class StateTransition:
    """One exchange: native inputs, with the `state` of the handle; the native result; the state afterwards."""

    exchange: Exchange
    inputs: Mapping[str, Any]
    result: Mapping[str, Any] | None = None
    after: State | None = None
    broken: tuple[Clause, ...] = field(default=())  # invariants of the machine


def situations(
    steps: Iterable[AnyStep], exchanges: Iterable[Exchange], codebook: Codebook
) -> Iterator[StateTransition]:
    """The calls of these steps that were made, in order."""
    made = {exchange.step: exchange for exchange in exchanges}
    ledger = Ledger(codebook)
    for step in steps:
        if isinstance(step, RestartStep):
            ledger.restart()
        elif isinstance(step, QuestionCall | CallStep) and step.name in made:
            yield _situation(made[step.name], ledger, codebook)


def _situation(exchange: Exchange, ledger: Ledger, codebook: Codebook) -> StateTransition:
    forms, wire = codebook[exchange.operator], exchange.inputs
    inputs = ledger.situated(exchange.operator, wire, forms.inputs.to_native(wire))
    if not isinstance(exchange.observed, ObservedResult):
        return StateTransition(exchange, inputs)
    result = (forms.lasting or forms.outputs).to_native(exchange.observed.fields)
    after = ledger.note(exchange.step, exchange.operator, wire, inputs, result)
    if after is None or forms.contract.machine is None:
        return StateTransition(exchange, inputs, result, after)
    machine = codebook[forms.contract.machine.name].contract
    return StateTransition(exchange, inputs, result, after, machine.broken_invariants(after))
