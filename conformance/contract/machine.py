"""A machine as a value: its state, and how each method changes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.contract.cel.engine import given_text, variables_of
from conformance.contract.cel.expression import Environment, Expression
from conformance.contract.suggest import nearest
from conformance.contract.types import (
    FIXED_BYTES,
    FLOAT_BYTES,
    HANDLE,
    INTEGER_RANGES,
    Enum,
    Field,
    ListOf,
    MapOf,
    NamedTypes,
    Scalar,
    Struct,
    Type,
    is_place,
    members_of,
    type_at,
)
from conformance.contract.yaml.source import Position, Problem, Source, ValuePath

State = Mapping[str, Any]  # native values by variable; a missing variable is unknown
_STATE: Final = "state."
_LEARNT = re.compile(r"\s*result\.[\w.]+\s*\Z")


@dataclass(frozen=True, slots=True)
class StateVariable:
    """A variable that a machine remembers; an opaque one has no type and no value, and expressions cannot use it."""

    name: str
    type: Type | None
    position: Position

    @property
    def opaque(self) -> bool:
        """Whether the variable has no value that a contract can express."""
        return self.type is None


@dataclass(frozen=True, slots=True)
class Machine:
    """The parts that all methods of a machine share; `methods` are their full names, in the contract's order."""

    name: str
    variables: tuple[StateVariable, ...]
    methods: tuple[str, ...]
    given: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)  # file steps before every derived trace
    own_roots: bool = False  # derived traces give no two handles the same root

    @property
    def state(self) -> Struct:
        """The variables that have values."""
        return Struct(tuple(Field(one.name, one.type) for one in self.variables if one.type is not None))

    def full_name(self, method: str) -> str:
        """The full name of a method, found by its full name or last part; the given name if there is no such method."""
        full = f"{self.name}.{method}"
        return full if full in self.methods else method


@dataclass(frozen=True, slots=True)
class Method:
    """One operation of a machine. `takes` is the input that is a handle, `opens` the output that is one; empty if none.

    `becomes` has an expression over inputs, state and result for every variable with a value; `state.NAME` if the
    variable keeps it. `needs` has the state variables that each of these depends on, and under "" those of the
    guards, postconditions and edge cases.
    """

    name: str
    takes: str
    opens: str
    closes: bool
    becomes: Mapping[str, Expression]
    needs: Mapping[str, frozenset[str]]
    keeps: frozenset[str]
    unknown: frozenset[str]  # variables whose new value is unknown
    said: Mapping[str, str]  # opaque variables that may change, with the sentence that describes the change

    @property
    def reads(self) -> bool:
        """Whether a success changes nothing; to learn a variable from the answer (`result.position`) is no change."""
        learnt = {name for name, one in self.becomes.items() if _LEARNT.match(one.text)}
        changes = self.closes or self.opens or self.said or self.unknown
        return not changes and self.becomes.keys() <= self.keeps | learnt


def state_needs(expression: Expression, environment: Environment) -> frozenset[str]:
    """The state variables that an expression depends on, directly, through lets and through new values of variables."""
    follow = {let.name: let.needs for let in (*environment.lets, *environment.after)}
    waiting, seen = list(variables_of(expression.compiled)), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += follow.get(name, ())
    return frozenset(name.removeprefix(_STATE) for name in seen if name.startswith(_STATE))


def native(type_: Type, value: Any) -> Any:
    """The native value of a type for a value of the expression engine; None if it is not of that type."""
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
    return given_text(value)


def known(needs: frozenset[str], state: State | None) -> bool:
    """Whether all needed variables are known; always if no handle is open, because the first guard then refuses."""
    return state is None or needs <= state.keys()


UNKNOWN: Final = "unknown"  # the text for a variable's new value if no expression gives it
_SENTENCE = re.compile(r"[A-Z].*\.\Z", re.DOTALL)


def machine_from(source: Source, named: NamedTypes, problems: list[Problem]) -> Machine:
    """The machine of the source of a machine's own contract."""
    body = source.value
    variables = tuple(_variable(source, name, named, problems) for name in body["state"])
    given = tuple(body.get("given", ()))
    if "generator" in body.get("fuzz", {}) and body["purity"] != "io":
        hint = "remove it: the calls of a machine without files are drawn; or say purity: io"
        message = "this machine has no files for a generator"
        problems.append(source.problem(("fuzz", "generator"), "C016", message, hint))
    methods = tuple(f"{body['contract']}.{method}" for method in body["methods"])
    return Machine(body["contract"], variables, methods, given, body.get("own_roots", False))


def _variable(source: Source, name: str, named: NamedTypes, problems: list[Problem]) -> StateVariable:
    path: ValuePath = ("state", name)
    position = source.key_at(path)
    if source.value["state"][name].get("opaque"):
        return StateVariable(name, None, position)
    type_ = type_at(source, path, named)
    if not _simple(type_):
        hint = "declare each part as a variable of its own, or the whole as `opaque: true`"
        problems.append(source.problem(path, "C003", f"state cannot be of type {type_}", hint))
        return StateVariable(name, None, position)
    return StateVariable(name, type_, position)


def _simple(type_: Type) -> bool:
    """Whether an expression can make a value of the type."""
    if isinstance(type_, ListOf | MapOf):
        return _simple(type_.item)
    return isinstance(type_, Enum) or (isinstance(type_, Scalar) and not is_place(type_))


@dataclass(frozen=True, slots=True)
class OperationText:
    """The declarations of an operation, before its expressions are compiled."""

    machine: Machine
    takes: str
    opens: str
    closes: bool
    texts: Mapping[str, str]
    keeps: frozenset[str]
    said: Mapping[str, str]
    unknown: frozenset[str]

    def visible_inputs(self, inputs: Struct) -> Struct:
        """The inputs as expressions see them: with the state of the handle that the operation takes."""
        if not self.takes:
            return inputs
        return Struct((*inputs.fields, Field("state", self.machine.state, optional=True)), inputs.name)

    @property
    def following(self) -> list[tuple[str, str, Type]]:
        """The state after the operation: name, text and type of every variable that has one."""
        types = {member.name: member.type for member in self.machine.state.fields}
        return [(f"next.{name}", text, types[name]) for name, text in self.texts.items() if name in types]

    @property
    def silent(self) -> Mapping[str, str]:
        """The variables that have no value, and why."""
        found: dict[str, str] = {}
        for one in self.machine.variables:
            if one.opaque:
                why = "it is opaque; what hangs on it is a `refuses`, in words"
                found |= {f"state.{one.name}": why, f"next.{one.name}": why}
        return found | {f"next.{name}": "it is not known after this operation" for name in self.unknown}


def words_of(
    source: Source, machine: Machine, inputs: Struct, outputs: Struct, problems: list[Problem]
) -> OperationText:
    """The declarations in the source of a method; contradictions are added to `problems`."""
    body = source.value
    takes, opens = members_of(inputs, HANDLE), body.get("opens", "")
    for path, message, hint in _faults(body, machine, takes, members_of(outputs, HANDLE)):
        problems.append(source.problem(path, "C016", message, hint))
    becomes: Mapping[str, str] = body.get("becomes", {})
    opaque = {one.name for one in machine.variables if one.opaque}
    keeps = frozenset(body.get("keeps", ()))
    texts = {name: text for name, text in becomes.items() if name not in opaque and text != UNKNOWN}
    texts |= {one.name: f"state.{one.name}" for one in machine.variables if one.name in keeps - becomes.keys() - opaque}
    return OperationText(
        machine,
        takes[0] if takes else "",
        opens,
        bool(body.get("closes")),
        texts,
        keeps,
        {name: text for name, text in becomes.items() if name in opaque},
        frozenset(name for name, text in becomes.items() if text == UNKNOWN and name not in opaque),
    )


def _faults(
    body: Mapping[str, Any], machine: Machine, takes: tuple[str, ...], gives: tuple[str, ...]
) -> Iterator[tuple[ValuePath, str, str]]:
    opens = body.get("opens", "")
    if len(takes) > 1 or len(gives) > 1:
        yield ("inputs",), "an operation takes one handle and gives one", "split it"
    if not takes and not opens:
        yield ("contract",), "the operation neither opens nor takes a handle", "write it as a contract of its own"
    if (opens and opens not in gives) or (gives and not opens):
        yield ("outputs",), "`opens` names the output of type handle", f"opens: {gives[0] if gives else 'handle'}"
    if body.get("closes") and (opens or not takes or body.get("becomes") or body.get("keeps")):
        yield ("closes",), "an operation that closes takes a handle and leaves no state", "drop becomes and keeps"
    if opens and not takes and body.get("keeps"):
        yield ("keeps",), "an operation that opens has nothing to keep", "say in `becomes` what the state begins with"
    known = {one.name: one for one in machine.variables}
    for key in ("becomes", "keeps"):
        for at, name in enumerate(body.get(key, ())):
            if name not in known:
                place = (key, name) if key == "becomes" else (key, at)
                hint = nearest(name, known, f"variables of {machine.name}: {', '.join(known)}")
                yield place, f"no state variable {name!r}", hint
    for name, text in body.get("becomes", {}).items():
        if name in known and known[name].opaque and not _SENTENCE.match(text):
            hint = "a capital and a full stop; or declare the variable with a type"
            yield ("becomes", name), f"{name} is opaque, so what it becomes is a sentence", hint
    if "state" in body.get("inputs", {}):
        yield ("inputs", "state"), "an input called `state` would hide the machine's", "rename it"


def method_from(words: OperationText, operator: str, after: Environment, looked_at: frozenset[str]) -> Method:
    """The method once its expressions are compiled; `looked_at` are the state variables that its clauses depend on."""
    compiled = {let.name.removeprefix("next."): let.expression for let in after.after}
    needs = {name: state_needs(expression, after) for name, expression in compiled.items()}
    return Method(
        operator.removeprefix(f"{words.machine.name}."),
        words.takes,
        words.opens,
        words.closes,
        compiled,
        {**needs, "": looked_at},
        words.keeps,
        words.unknown,
        words.said,
    )
