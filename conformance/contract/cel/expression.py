"""Guards and postconditions: CEL text over the flattened, typed variables of a contract (DESIGN 4).

An expression is true only when the engine answers the value True. A raised exception, any other value, and an
evaluation error (which this engine returns as a truthy value) are all "not true".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cel_expr_python import cel

from conformance.contract.cel.advice import BadExpression, advice_on, comment_in
from conformance.contract.cel.engine import (
    cel_type,
    conversion,
    engine_function,
    error_text,
    evaluate,
    held_text,
    little_endian,
    plain_or_none,
    plain_value,
    variables_of,
)
from conformance.contract.cel.functions import FUNCTIONS, Function
from conformance.contract.cel.syntax import hoisted
from conformance.contract.suggest import nearest
from conformance.contract.types import (
    Enum,
    Field,
    ListOf,
    MapOf,
    Struct,
    Tensor,
    Type,
    is_place,
    walk,
)

Activation = Mapping[str, Any]
_MACRO = re.compile(r"\.(?:all|exists|exists_one|map|filter)\(")
# Types of the engine, which no variable can be named after: such an input has no value in expressions.
TYPE_NAMES: Final = frozenset(
    ("bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint"),
)
_TAKEN: Final = "this is the name of a type in expressions; give the input another name"
_NAMES = frozenset(function.name for function in FUNCTIONS)
_HAS_MACRO = re.compile(r"(?<![\w.])has\s*\(")
_TEXT = r"[rR]?(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")"
_PATTERN = re.compile(rf"(?<!\w)matches\((?:[^()]*,)?\s*({_TEXT})\s*\)")


def _inside(text: str, match: re.Match[str], message: str, hint: str) -> BadExpression:
    """A mistake at the last group of a match, or at the match."""
    at = match.start(match.lastindex or 0)
    return BadExpression(message, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at), hint)


class BadLet(BadExpression):
    """The text of the `let` called `name` does not compile."""

    def __init__(self, name: str, error: BadExpression) -> None:
        super().__init__(error.message, error.line, error.column, error.hint)
        self.name = name


@dataclass(frozen=True, slots=True)
class Variable:
    """A typed CEL variable and how to read it from native inputs or results."""

    name: str
    type: Any
    read: Callable[[Any], Any] = field(repr=False)

    @property
    def of_result(self) -> bool:
        """Whether the variable is read from the result, not from the inputs."""
        return self.name.startswith(("result.", "has_result."))


@dataclass(frozen=True, slots=True)
class Expression:
    """One compiled CEL expression."""

    text: str
    compiled: Any = field(repr=False, compare=False)
    hoisted: Any = field(default=None, repr=False, compare=False)  # a form that is faster on long lists

    def evaluate(self, activation: Any) -> Any:
        """The plain value; None if the evaluation failed in any way."""
        found = None if self.hoisted is None else evaluate(self.hoisted, activation, plain_or_none)
        return evaluate(self.compiled, activation, plain_or_none) if found is None else found

    def error(self, activation: Any) -> str:
        """Why there is no value, in the words of the engine; empty if there is one."""
        return str(evaluate(self.compiled, activation, error_text, str))

    def holds(self, activation: Any) -> bool:
        """Whether the value is exactly True; a failed evaluation gives a text, which is not."""
        if self.hoisted is not None and isinstance(found := evaluate(self.hoisted, activation, plain_value), bool):
            return found
        return evaluate(self.compiled, activation, plain_value) is True


@dataclass(frozen=True, slots=True)
class Let:
    """A named intermediate value; `needs` are the variables that its text mentions or its macros bind.

    Each let with `needs` has an activation, which costs 26 us with forty variables and 3 us with four.
    """

    name: str
    expression: Expression
    needs: frozenset[str]
    constant: Any = None  # the value of a let that needs no variable


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables that the expressions of one contract may use."""

    variables: tuple[Variable, ...]
    engine: Any = field(repr=False, compare=False)
    lets: tuple[Let, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)  # names without a value here, and the reason
    after: tuple[Let, ...] = ()  # computed from inputs and result: a machine's state after the call
    named: tuple[str, ...] = ()  # other names with a value while the contract is read: the lets so far
    over: tuple[str, ...] = ()  # digests of the data that functions read besides their arguments
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the values of every enum, by its path

    def compile(self, text: str, expected: Any = cel.Type.BOOL) -> Expression:
        """Compile an expression of type `expected` (None: any); raises BadExpression."""
        if (comment := comment_in(text)) >= 0:
            raise BadExpression("`//` begins a comment", column=comment + 1, hint="write / to divide")
        if match := _HAS_MACRO.search(text):
            raise BadExpression(
                "has() on a dotted variable does not test presence",
                column=match.start() + 1,
                hint="write has_<path>, the companion of an optional input",
            )
        try:
            compiled = self.engine.compile(text)
        except RuntimeError as error:
            names = [*(one.name for one in self.variables), *(one.name for one in self.lets), *self.named]
            raise self._unspoken(text) or advice_on(text, str(error), names, _NAMES) from None
        if expected is not None and not compiled.return_type() == expected:
            raise BadExpression(
                f"the expression is of type {compiled.return_type().name()}, not {expected.name()}",
                hint="compare with ==, <, in ...; an unsigned literal ends in u" if expected == cel.Type.BOOL else
                "an unsigned literal ends in u, and uint() converts",
            )
        self._look_at_texts(text)
        return Expression(text, compiled, self._hoisted(text) if compiled.return_type() == cel.Type.BOOL else None)

    def _look_at_texts(self, text: str) -> None:
        """Refuse a quoted text that its enum does not have, and a pattern that is not valid; raises BadExpression."""
        for path, values in self.choices.items():
            for match in re.finditer(rf"(?<![\w.]){re.escape(path)}\s*[!=]=\s*({_TEXT})", text):
                if (named := match[1].strip("rR")[1:-1]) not in values:
                    hint = nearest(named, values, f"it is one of {', '.join(values)}")
                    raise _inside(text, match, f"{path} is never {match[1]}", hint)
        for match in _PATTERN.finditer(text):
            matches = self.engine.compile(f"''.matches({match[1]})")
            if evaluate(matches, self.engine.Activation({}), plain_or_none) is None:
                hint = "https://github.com/google/re2/wiki/Syntax says what one is made of"
                raise _inside(text, match, f"{match[1]} is no regular expression", hint)

    def _hoisted(self, text: str) -> Any:
        """The compiled expression with repeated calls moved out of its macros; None if no call is repeated."""
        if not _MACRO.search(text):
            return None
        try:
            moved = hoisted(text, _NAMES)
            return None if moved == text else self.engine.compile(moved)
        except (ValueError, RuntimeError):  # a construct that `syntax.py` does not know, or too many levels
            return None

    def compile_as(self, text: str, type_: Type) -> Expression:
        """Compile an expression whose value is of a contract type; raises BadExpression."""
        if isinstance(type_, ListOf | MapOf):
            found, kind = self.compile(text, None), "LIST" if isinstance(type_, ListOf) else "MAP"
            returned = found.compiled.return_type()
            # An empty list or map has no element type.
            if not (returned == cel_type(type_) or (returned.name().startswith(kind) and "DYN" in returned.name())):
                raise BadExpression(f"the expression is of type {returned.name()}, not {cel_type(type_).name()}")
            return found
        return self.compile(text, cel_type(type_))

    def let(self, name: str, text: str) -> Let:
        """A named value of any type; raises BadExpression."""
        expression = self.compile(text, None)
        needs = variables_of(expression.compiled)
        return Let(name, expression, needs, None if needs else expression.evaluate(self.engine.Activation({})))

    def _unspoken(self, text: str) -> BadExpression | None:
        """The complaint about a text that does not compile because it mentions a name without a value."""
        for name, reason in self.silent.items():
            if match := re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text):
                return _inside(text, match, f"{name} has no value", reason)
        return None

    def bind(self, values: Any) -> Any:
        """The activation for native inputs.

        A `let` that cannot be evaluated stays unbound, so expressions that use it are not true.
        """
        return self.activation(self.bindings(values))

    def only_for(self, expressions: Iterable[Expression]) -> Environment:
        """The environment reduced to what these expressions need; binding all variables and lets costs more."""
        needed = set().union(*(variables_of(one.compiled) for one in expressions))
        lets = list[Let]()
        for let in reversed(self.lets):
            if let.name in needed:
                lets.append(let)
                needed |= let.needs
        variables = tuple(variable for variable in self.variables if variable.name in needed)
        return replace(self, variables=variables, lets=tuple(reversed(lets)))

    def activation(self, known: Mapping[str, Any], result: Any = None) -> Any:
        """The activation for the `known` bindings and, for postconditions, the native result."""
        return self.engine.Activation(dict(known) if result is None else self.followed(known, result))

    def followed(self, known: Mapping[str, Any], result: Any) -> dict[str, Any]:
        """The values of all variables: the `known` bindings, the native result, and the values computed from both."""
        data = {**known, **self.answered(result)}
        self._follow(data, self.after)
        return data

    def bindings(self, values: Any) -> dict[str, Any]:
        """The values of the variables over native inputs, and of the lets."""
        data = {variable.name: variable.read(values) for variable in self.variables if not variable.of_result}
        self._follow(data, self.lets)
        return data

    def _follow(self, data: dict[str, Any], lets: Sequence[Let]) -> None:
        for let in lets:
            value = let.constant
            if value is None:
                needed = {name: data[name] for name in let.needs & data.keys()}
                value = let.expression.evaluate(self.engine.Activation(needed))
            if value is not None:
                data[let.name] = value

    def answered(self, result: Any) -> dict[str, Any]:
        """The values of the variables over a native result."""
        return {variable.name: variable.read(result) for variable in self.variables if variable.of_result}


def environment(
    inputs: Struct,
    outputs: Struct | None,
    lets: Sequence[tuple[str, str]],
    functions: Sequence[Function] = FUNCTIONS,
    after: Sequence[tuple[str, str, Type]] = (),
    silent: Mapping[str, str] | None = None,
) -> Environment:
    """The environment of a contract: inputs, `result.*` outputs and the `let` names in order; raises BadLet.

    `after` names what follows from all of these, each with its text and type; `silent` more names without a value.
    """
    both = (("", inputs), ("result", Struct(()) if outputs is None else outputs))
    everything = [one for prefix, struct in both for one in _flatten(prefix, struct, lambda value: value)]
    variables = [one for one in everything if one.name not in TYPE_NAMES]
    types = {variable.name: variable.type for variable in variables}
    taken = {one.name: _TAKEN for one in everything if one.name in TYPE_NAMES}
    silent = {**taken, **dict(_silent(*both[0])), **(silent or {}), **dict(_silent(*both[1]))}
    inside = [found for prefix, struct in both for found in walk(struct, prefix)]
    choices = {path: type_.values for path, type_ in inside if isinstance(type_, Enum)}
    declared = _declared(functions)
    engine, unknown = _engine(types, declared), set[str]()  # unknown: names that the engine does not know
    for name, text in lets:
        if name in types or name in TYPE_NAMES:
            raise BadLet(name, BadExpression(f"{name} has a meaning already", hint="give the let another name"))
        if any(other in text for other in unknown):
            engine, unknown = _engine(types, declared), set()
        try:
            known = Environment(tuple(variables), engine, silent=silent, named=tuple(types), choices=choices)
            expression = known.compile(text, expected=None)
        except BadExpression as error:
            raise BadLet(name, error) from None
        types[name] = expression.compiled.return_type()
        unknown.add(name)
    if after:
        before = Environment(tuple(variables), _engine(types, declared), silent=silent)
        for name, text, type_ in after:
            try:
                before.compile_as(text, type_)
            except BadExpression as error:
                raise BadLet(name, error) from None
        types |= {name: cel_type(type_) for name, _, type_ in after}
    # A function call evaluates only in the engine that compiled it, so the last engine compiles the lets again.
    last = Environment(tuple(variables), _engine(types, declared), silent=silent)
    bound = tuple(last.let(name, text) for name, text in lets)
    following = tuple(last.let(name, text) for name, text, _ in after)
    over = tuple(sorted({function.over for function in functions if function.over}))
    return Environment(last.variables, last.engine, bound, silent, following, over=over, choices=choices)


def _declared(functions: Sequence[Function]) -> list[Any]:
    return [
        cel.FunctionDecl(
            f.name,
            [
                cel.Overload(f"{f.name}_{k}", f.returns, list(kinds), False, engine_function(f.call, kinds, f.returns))
                for k, kinds in enumerate(f.parameters)
            ],
        )
        for f in functions
    ]


def _engine(types: Mapping[str, Any], declared: Sequence[Any]) -> Any:
    return cel.NewEnv(variables=dict(types), functions=list(declared))


_Read = Callable[[Any], Any]


def _flatten(prefix: str, struct: Struct, read: _Read) -> list[Variable]:
    variables: list[Variable] = []
    for member in struct.fields:
        if member.volatile:
            continue
        path = f"{prefix}.{member.name}" if prefix else member.name
        get = _reader(read, member)
        if member.optional and member.default is None:
            variables.append(Variable(f"has_{path}", cel.Type.BOOL, _presence(read, member.name)))
        if not is_place(member.type):
            variables += _variables(path, member.type, get)
    return variables


def _silent(prefix: str, struct: Struct) -> Iterator[tuple[str, str]]:
    """The members without a value in expressions, by dotted path, each with the reason."""
    for member in struct.fields:
        path = f"{prefix}.{member.name}" if prefix else member.name
        if is_place(member.type):
            yield path, f"a {member.type} differs from run to run; no expression can depend on it"
        elif member.volatile:
            yield path, "it is volatile: held to its type, never looked at"
        elif isinstance(member.type, Struct):
            yield from _silent(path, member.type)


def _reader(read: _Read, member: Field) -> _Read:
    name, default = member.name, member.default

    def get(value: Any) -> Any:
        holder = read(value)
        return default if holder is None else holder.get(name, default)

    return get


def _presence(read: _Read, name: str) -> _Read:
    def present(value: Any) -> bool:
        holder = read(value)
        return holder is not None and name in holder

    return present


def _variables(path: str, type_: Type, get: _Read) -> list[Variable]:
    if isinstance(type_, Struct):
        return _flatten(path, type_, get)
    if isinstance(type_, Tensor):
        return [
            Variable(f"{path}.shape", cel.Type.List(cel.Type.INT), lambda v: list(get(v).shape)),
            Variable(f"{path}.dtype", cel.Type.STRING, lambda v: get(v).dtype.name),
            Variable(f"{path}.data", cel.Type.BYTES, lambda v: little_endian(get(v))),
        ]
    if isinstance(type_, ListOf | MapOf) and isinstance(type_.item, Struct):
        wrap = cel.Type.List if isinstance(type_, ListOf) else (lambda item: cel.Type.Map(cel.Type.STRING, item))
        return [
            Variable(f"{path}.{inner.name}", wrap(inner.type), _column(get, inner.read))
            for inner in _flatten("", type_.item, lambda value: value)
        ]
    found = cel_type(type_)
    empty, convert = conversion(type_)
    return [Variable(path, found, lambda v: empty if (value := get(v)) is None else convert(value))]


def _column(get: _Read, read: _Read) -> _Read:
    def column(value: Any) -> Any:
        holder = get(value)
        if isinstance(holder, dict):
            return {held_text(key): read(item) for key, item in holder.items()}
        return [read(item) for item in holder or ()]

    return column
