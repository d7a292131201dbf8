"""A declared sequence, compiled: the inputs of each of its calls, and the expressions that derive one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.codec.form import form_of
from conformance.contract.cel.advice import BadExpression
from conformance.contract.cel.expression import BadLet, Environment, Expression, environment
from conformance.contract.cel.functions import FUNCTIONS, registry_functions
from conformance.contract.family import DerivationStep, SequenceDeclaration
from conformance.contract.library import Library
from conformance.contract.machine import native
from conformance.contract.model import Contract
from conformance.contract.types import INTEGER_RANGES, Field, ListOf, Scalar, Struct, Type
from conformance.contract.wording import excerpt
from conformance.contract.yaml.source import MalformedContract, Problem, ValuePath
from conformance.vectors.leaf import UnknownPath, replaced, type_at, value_at

_UINT: Final = Scalar("uint64")
_PLACES: Final = (Field("position", _UINT), Field("index", _UINT))
Inputs = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SequenceRange:
    """The first position of a sequence, the position after its last, and how many positions one call gives."""

    start: int
    length: int
    stride: int

    @property
    def calls(self) -> int:
        """How many calls give the whole sequence."""
        return max(0, -(-(self.length - self.start) // self.stride))

    def call_of(self, position: int) -> int:
        """The number, from 0, of the call that gives a position."""
        return (position - self.start) // self.stride


@dataclass(frozen=True, slots=True)
class CallSequence:
    """A sequence of calls of one operator, each of which can be asked alone."""

    declaration: SequenceDeclaration
    contract: Contract
    environment: Environment = field(repr=False)
    expressions: Mapping[tuple[ValuePath, str], Expression] = field(repr=False)  # by the path and key in the file
    types: Mapping[tuple[ValuePath, str], Type] = field(repr=False)  # of the inputs of helper calls, by the same
    helpers: Mapping[str, Contract] = field(repr=False)  # by step: the contract that it calls
    bound: frozenset[str]  # the steps whose values later expressions can use

    def value(self, path: ValuePath, key: str, values: Inputs) -> Any:
        """The value of an expression of the file over inputs, `position`, `index` and steps; None if it has none."""
        return self.expressions[path, key].evaluate(self.environment.bind(values))

    def extent(self, inputs: Inputs, native_inputs: Inputs) -> SequenceRange | None:
        """The extent of the sequence for these inputs; None if its expressions have no value for them."""
        start = _at(inputs, self.declaration.at)
        values = {**native_inputs, "position": start, "index": 0}
        length, stride = (self.value(self.declaration.path, key, values) for key in ("length", "stride"))
        if start is None or not isinstance(length, int) or not isinstance(stride, int) or stride < 1:
            return None
        return SequenceRange(start, length, stride)

    def inputs(self, base: Inputs, position: int) -> Inputs:
        """The inputs of the call that begins at a position."""
        wire = form_of(type_at(self.contract.inputs, self.declaration.at)).from_native(position)
        return dict(replaced(base, self.declaration.at, wire))

    def first(self, native_inputs: Inputs, position: int) -> int:
        """The position of the first value that a call at a position gives."""
        found = self.value(self.declaration.path, "first", {**native_inputs, "position": position, "index": 0})
        return found if isinstance(found, int) else position

    def argument(self, step: DerivationStep, name: str, values: Inputs) -> Any:
        """The wire value of an input of a helper call; None if its expression has no value of the input's type."""
        type_ = self.types[step.path_in_file, name]
        found = native(type_, self.value((*step.path_in_file, "with"), name, values))
        return None if found is None else form_of(type_).from_native(found)


def _at(inputs: Inputs, path: str) -> int | None:
    try:
        return int(value_at(inputs, path))
    except KeyError:
        return None


def call_sequence(declaration: SequenceDeclaration, library: Library) -> CallSequence:
    """The compiled sequence of a declaration that is not a replay; raises MalformedContract with all problems."""
    return _Compiler(declaration, library).sequence()


class _Compiler:
    def __init__(self, declaration: SequenceDeclaration, library: Library) -> None:
        self.declaration, self.library = declaration, library
        self.problems: list[Problem] = []
        self.expressions: dict[tuple[ValuePath, str], Expression] = {}
        self.types: dict[tuple[ValuePath, str], Type] = {}

    def sequence(self) -> CallSequence:
        declaration = self.declaration
        contract = self.contract((*declaration.path, "operator"), declaration.operator)
        if contract is not None:
            self.numbered(contract)
            calls, bound = self.helpers(contract)
        if contract is None or self.problems:
            raise MalformedContract(self.problems)
        env = self.scope(contract, bound)
        for key in ("length", "stride", "first"):
            self.compiled(env, declaration.path, key, getattr(declaration, key), _UINT)
        for step in declaration.steps:
            self.expressions_of(step, env, calls.get(step.name))
        if self.problems:
            raise MalformedContract(self.problems)
        names = frozenset(one.name for one in bound)
        return CallSequence(declaration, contract, env, self.expressions, self.types, calls, names)

    def note(self, path: ValuePath, code: str, message: str, hint: str = "") -> None:
        self.problems.append(self.declaration.source.problem(path, code, message, hint))

    def contract(self, path: ValuePath, name: str) -> Contract | None:
        found = self.library.contracts.get(name)
        if found is None or found.machine is not None:
            why = "no contract" if found is None else "a machine keeps state: it has no random access"
            hint = "correct the name" if found is None else "write `replay`"
            self.note(path, "C014", f"{why} ({name})", hint)
            return None
        return found

    def numbered(self, contract: Contract) -> None:
        declaration = self.declaration
        type_ = self.type_at(contract.inputs, declaration.at, (*declaration.path, "position"))
        if type_ is not None and not (isinstance(type_, Scalar) and type_.name in INTEGER_RANGES):
            hint = "name an input that is an integer"
            self.note((*declaration.path, "position"), "C013", f"{declaration.at} is {type_}", hint)
        self.type_at(contract.outputs, declaration.values, (*declaration.path, "values"))

    def type_at(self, struct: Type, dotted: str, path: ValuePath) -> Type | None:
        try:
            return type_at(struct, dotted)
        except UnknownPath as error:
            self.note(path, "C007", f"no {dotted!r}", error.hint)
            return None

    def helpers(self, contract: Contract) -> tuple[dict[str, Contract], list[Field]]:
        """The contracts of the helper calls by step, and the steps whose values expressions can use."""
        taken = {"position", "index", *(member.name for member in contract.inputs.fields)}
        taken |= contract.source.value.get("let", {}).keys()
        calls: dict[str, Contract] = {}
        bound: list[Field] = []
        for step in self.declaration.steps:
            if step.name in taken:
                self.note((*step.path_in_file, "step"), "C005", f"the name {step.name!r} is taken", "rename the step")
            taken.add(step.name)
            helper = self.contract((*step.path_in_file, "call"), step.call) if step.call else None
            struct = contract.outputs if step.told else helper.outputs if helper else None
            if struct is not None:
                type_ = self.type_at(struct, step.told or step.path, (*step.path_in_file, "path"))
                if step.element and isinstance(type_, ListOf):
                    type_ = type_.item
                elif step.element and type_ is not None:
                    self.note((*step.path_in_file, "element"), "C009", f"{type_} has no elements")
                if isinstance(type_, Scalar):
                    bound.append(Field(step.name, type_))
            if helper is not None:
                self.arguments(step, contract, helper, calls)
                calls[step.name] = helper
        return calls, bound

    def arguments(
        self, step: DerivationStep, contract: Contract, helper: Contract, calls: Mapping[str, Contract]
    ) -> None:
        members = {member.name: member for member in helper.inputs.fields}
        for key, given in (("with", step.inputs), ("use", step.uses)):
            for name in given:
                if name not in members:
                    hint = f"it has {', '.join(members)}"
                    message = f"{helper.operator} has no input {name!r}"
                    self.note((*step.path_in_file, key, name), "C007", message, hint)
        for name, place in step.uses.items():
            head, _, rest = place.partition(".")
            struct, dotted = (calls[head].outputs, rest) if head in calls and rest else (contract.inputs, place)
            self.type_at(struct, dotted, (*step.path_in_file, "use", name))
        for name, member in members.items():
            if not member.optional and member.default is None and name not in step.inputs and name not in step.uses:
                message, hint = f"the call of {helper.operator} lacks its input {name}", "give it in `with` or `use`"
                self.note((*step.path_in_file, "call"), "C007", message, hint)

    def scope(self, contract: Contract, bound: list[Field]) -> Environment:
        """The names that expressions may use: inputs, lets, `position`, `index` and the values of the steps."""
        seen = Struct((*contract.inputs.fields, *_PLACES, *bound), contract.inputs.name)
        lets = [*contract.source.value.get("let", {}).items()]
        lets += [(step.name, step.value) for step in self.declaration.steps if step.value]
        functions = (*FUNCTIONS, *registry_functions(self.library.errors))
        try:
            return environment(seen, None, lets, functions)
        except BadLet as error:
            step = next((one for one in self.declaration.steps if one.name == error.name), None)
            path = (*step.path_in_file, "value") if step else self.declaration.path
            raise MalformedContract([self.bad(path, error.name, error)]) from None

    def expressions_of(self, step: DerivationStep, env: Environment, helper: Contract | None) -> None:
        path = step.path_in_file
        types = {"element": _UINT, "when": Scalar("bool"), "value": None, "otherwise": None}
        for key, type_ in types.items():
            if text := getattr(step, key):
                self.compiled(env, path, key, text, type_)
        if helper is not None:
            for member in helper.inputs.fields:
                if member.name in step.inputs:
                    self.types[path, member.name] = member.type
                    self.compiled(env, (*path, "with"), member.name, step.inputs[member.name], member.type)

    def compiled(self, env: Environment, path: ValuePath, key: str, text: str, type_: Type | None) -> None:
        try:
            self.expressions[path, key] = env.compile(text, None) if type_ is None else env.compile_as(text, type_)
        except BadExpression as error:
            self.problems.append(self.bad((*path, key), text, error))

    def bad(self, path: ValuePath, text: str, error: BadExpression) -> Problem:
        return self.declaration.source.problem(path, "C004", f"{error.message} in {excerpt(text)}", error.hint)


def problems_of(declaration: SequenceDeclaration, library: Library) -> Iterator[Problem]:
    """Everything that is wrong with a declaration, as far as contracts alone tell."""
    if declaration.replay is not None:
        if declaration.operator not in library.contracts:
            path = (*declaration.path, "operator")
            yield declaration.source.problem(path, "C014", f"no contract ({declaration.operator})", "correct the name")
        return
    try:
        call_sequence(declaration, library)
    except MalformedContract as error:
        yield from error.problems
