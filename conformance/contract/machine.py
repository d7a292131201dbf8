"""A machine as a value: what it remembers under every handle, and what each of its methods does to that."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.contract.expression import Environment, Expression
from conformance.contract.position import Position
from conformance.contract.types import FIXED_BYTES, FLOAT_BYTES, INTEGER_RANGES, Field, Scalar, Struct, Type

State = Mapping[str, Any]  # native values by variable; a variable that is missing is not known
_STATE = re.compile(r"\bstate\.([a-z]\w*)")
_LEARNT = re.compile(r"\s*result\.[\w.]+\s*\Z")
_NEXT = re.compile(r"\bnext\.([a-z]\w*)")


@dataclass(frozen=True, slots=True)
class Variable:
    """Something that a machine remembers; an opaque one has no type, no value and no part in an expression."""

    name: str
    type: Type | None
    position: Position

    @property
    def opaque(self) -> bool:
        """Whether its value cannot be said."""
        return self.type is None


@dataclass(frozen=True, slots=True)
class Machine:
    """What all methods of a machine share; `methods` are the full names of them, in the contract's order."""

    name: str
    variables: tuple[Variable, ...]
    methods: tuple[str, ...]
    given: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)  # file steps before every derived trace
    own_roots: bool = False  # what the harness makes up gives no two handles the same root

    @property
    def state(self) -> Struct:
        """The variables that have values."""
        return Struct(tuple(Field(one.name, one.type) for one in self.variables if one.type is not None))

    def full_name(self, method: str) -> str:
        """The full name of a method, given that or its last part; the name itself where there is no such method."""
        full = f"{self.name}.{method}"
        return full if full in self.methods else method


@dataclass(frozen=True, slots=True)
class Method:
    """One operation of a machine. `takes` is the input and `opens` the output that is a handle, empty where none is.

    `becomes` has an expression for every variable with a value (over inputs, state and result), `state.NAME` where the
    contract says that it keeps; `needs` are the state variables that each of these texts hangs on.
    """

    name: str
    takes: str
    opens: str
    closes: bool
    becomes: Mapping[str, Expression]
    needs: Mapping[str, frozenset[str]]
    keeps: frozenset[str]
    unknown: frozenset[str]  # variables of which nobody knows what they become
    said: Mapping[str, str]  # opaque variables that may change, each with the sentence that says how

    @property
    def reads(self) -> bool:
        """Whether a success changes nothing; what an answer makes known (`result.position`) has been so before."""
        learnt = {name for name, one in self.becomes.items() if _LEARNT.match(one.text)}
        changes = self.closes or self.opens or self.said or self.unknown
        return not changes and self.becomes.keys() <= self.keeps | learnt


@dataclass(frozen=True, slots=True)
class Mentions:
    """Which state variables a text hangs on, through lets and through what variables become."""

    lets: Mapping[str, str]
    becomes: Mapping[str, str] = field(default_factory=dict)

    def of(self, text: str) -> frozenset[str]:
        """The state variables of a text; it may name more than there are, never fewer."""
        waiting, seen, found = [text], {text}, set[str]()
        while waiting:
            part = waiting.pop()
            found.update(_STATE.findall(part))
            more = [self.becomes[name] for name in _NEXT.findall(part) if name in self.becomes]
            more += [body for name, body in self.lets.items() if re.search(rf"(?<![\w.]){re.escape(name)}\b", part)]
            waiting += [one for one in more if one not in seen]
            seen.update(more)
        return frozenset(found)


def next_state(
    method: Method, environment: Environment, inputs: Mapping[str, Any], result: Any, struct: Struct
) -> State:
    """What a method's success leaves: each variable with its new value, those nobody can know left out.

    `inputs` are native, with the `state` before; `result` is native.
    """
    before: State = inputs.get("state") or {}
    activation = environment.bind(inputs, result)
    found: dict[str, Any] = {}
    for member in struct.fields:
        expression = method.becomes.get(member.name)
        if expression is None or not method.needs[member.name] <= before.keys():
            continue
        if member.name in method.keeps:
            found[member.name] = before[member.name]
            continue
        value = native(member.type, expression.evaluate(activation))
        if value is not None:
            found[member.name] = value
    return found


def native(type_: Type, value: Any) -> Any:
    """A value of the expression engine as a native one of a type; None where it is none of that type."""
    match type_:
        case Scalar(name) if name in INTEGER_RANGES:
            low, high = INTEGER_RANGES[name]
            return value if type(value) is int and low <= value <= high else None
        case Scalar(name) if name in FIXED_BYTES:
            return bytes(value) if value is not None and len(value) == FIXED_BYTES[name] else None
        case Scalar("bytes"):
            return None if value is None else bytes(value)
        case Scalar(name) if name in FLOAT_BYTES:
            return None if value is None else float(value)
    return value


def known(needs: frozenset[str], state: State | None) -> bool:
    """Whether everything that a text hangs on is known; where no handle is open, the first guard decides."""
    return state is None or needs <= state.keys()


def names_of(methods: Sequence[str], machine: str) -> tuple[str, ...]:
    """The full names of methods."""
    return tuple(f"{machine}.{name}" for name in methods)
