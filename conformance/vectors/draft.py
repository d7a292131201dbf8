"""Builds the inputs of one call from the values of a contract, and the values that a requirement page pins.

In YAML people write integers, floats and booleans as numbers and words, byte strings as hex, a tensor's data as a flat
list in C order. Inside a `value` they write null as the word null (this YAML has no null), and a map with text keys as
`fields`. Values that are already in wire form stay as they are.
"""

from __future__ import annotations

import base64
import copy
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.form import Form, form_of
from conformance.codec.scalar import WIDE, IllTyped, show_path
from conformance.contract.canonical import wire_value
from conformance.contract.lazy import np
from conformance.contract.model import Contract
from conformance.contract.suggest import look_alike, nearest, typed
from conformance.contract.types import (
    HANDLE,
    INTEGER_RANGES,
    TENSOR_DTYPES,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Tensor,
    Type,
    Value,
    members_of,
    whole_number,
)
from conformance.contract.yaml.source import Position, Problem, Source, ValuePath
from conformance.vectors.case import Pin
from conformance.vectors.compact import MARK, BadRecipe, expanded, recipe
from conformance.vectors.leaf import UnknownPath, reference, type_at

ROOT_NAME: Final = re.compile(r"[a-z0-9]+([-/][a-z0-9]+)*\Z")  # a/b is a folder in the root a
_PACK: Final[Mapping[str, str]] = {"float16": ">e", "float32": ">f", "float64": ">d"}


@dataclass(frozen=True, slots=True)
class Reference:
    """Represents an earlier step's answer, `step.output.path`; with a `format`, the same with one field damaged."""

    text: str
    format: str = ""
    edit: str = ""


def to_wire(type_: Type, value: Any) -> Any:
    """The JSON wire form of a YAML value; raises IllTyped with the path of what does not fit."""
    if isinstance(value, Reference):
        return reference(value.text, value.format, value.edit)
    if isinstance(value, dict) and value.keys() == {MARK} and not isinstance(type_, Struct | Value):
        return _recipe(type_, value[MARK])
    match type_:
        case Scalar("root"):
            return _root(value)
        case Scalar(name):
            return scalar_form(type_).check(_scalar(name, value))
        case ListOf(item):
            if type(value) is not list:
                raise IllTyped("a list", value)
            return [inside(index, item, element) for index, element in enumerate(value)]
        case MapOf(item):
            if type(value) is not dict:
                raise IllTyped("a map", value)
            return {key: inside(key, item, element) for key, element in value.items()}
        case Struct():
            return _struct(type_, value)
        case Value():
            made = wire_value(value, _value_recipe)
            try:
                whole = expanded(made)
            except BadRecipe:
                raise IllTyped("recipes for whole texts, arrays or maps only", value) from None
            selfdescribing.check(whole)
            return made
        case Tensor():
            return form_of(type_).check(_tensor(value))
    return form_of(type_).check(value)


def _recipe(type_: Type, body: Any) -> dict[str, Any]:
    """The wire form of a recipe that people write without its digest; its value must be of the type."""
    whole = _made_recipe(body)
    form_of(type_).check(expanded(whole))
    return whole


def _made_recipe(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict) or type(body.get("count")) is not int:
        raise IllTyped("a recipe {generator, count, ...}", body)
    parameters = {key: part for key, part in body.items() if key not in ("generator", "count", "sha256")}
    try:
        return recipe(body.get("generator", ""), body["count"], **parameters)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IllTyped(f"a recipe ({error!s:.60})", body) from None


def _root(value: Any) -> dict[str, str]:
    """The name of a root, as `name` or {root: name}."""
    name = value["root"] if isinstance(value, dict) and value.keys() == {"root"} else value
    if not isinstance(name, str) or not ROOT_NAME.match(name):
        raise IllTyped("the name of a root, lower-case words joined by - or /", value)
    return {"root": name}


@cache
def scalar_form(type_: Scalar) -> Form:
    """The form of a scalar, compiled once."""
    return form_of(type_)


def inside(step: str | int, type_: Type, value: Any) -> Any:
    """The wire form of a part of a value; an error names the step that leads to the part."""
    try:
        return to_wire(type_, value)
    except IllTyped as error:
        raise error.inside(step) from None


def _scalar(name: str, value: Any) -> Any:
    if name in WIDE and type(value) is int:
        return str(value)
    if name in _PACK and type(value) in (int, float):
        try:
            return struct.pack(_PACK[name], value).hex()
        except OverflowError:
            raise IllTyped(name, value) from None
    return value


def _struct(struct_: Struct, value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise IllTyped("a map of fields", value)
    known = {member.name: member.type for member in struct_.fields}
    for key in value:
        if key not in known:
            raise IllTyped(f"one of the fields {', '.join(known)}", key, (key,))
    for member in struct_.fields:
        if member.name not in value and not member.optional:
            raise IllTyped("this field, which is missing", "nothing", (member.name,))
    return {key: inside(key, known[key], element) for key, element in value.items()}


def _value_recipe(value: Any) -> Any:
    """A long array, map or text of a `value`, written as a recipe; the rest is left to the check of the wire form."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
        if kind in ("array", "map", "text") and isinstance(content, dict) and content.keys() == {MARK}:
            return {kind: _made_recipe(content[MARK])}
    return value


def _tensor(value: Any) -> Any:
    match value:
        case {"dtype": str(dtype), "shape": list(), "data": list(data)} if dtype in TENSOR_DTYPES:
            try:
                little = np.array(data, dtype=np.dtype(dtype).newbyteorder("<"))
            except (OverflowError, TypeError, ValueError):
                raise IllTyped(f"{dtype} numbers in a flat list", data, ("data",)) from None
            return {**value, "data": base64.b64encode(little.tobytes()).decode()}
    return value


class Unusable(Exception):
    """A case cannot be put together; carries the problem with its place."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class YamlPlace:
    """The place of a value in a YAML source."""

    source: Source
    path: ValuePath

    def __truediv__(self, step: str | int) -> YamlPlace:
        return YamlPlace(self.source, (*self.path, step))

    @property
    def position(self) -> Position:
        """Its file, line and column."""
        return self.source.at(self.path)

    def problem(self, code: str, message: str, hint: str = "") -> Unusable:
        """A problem at this place, ready to be raised."""
        return Unusable(Problem(self.position, code, message, hint))

    def typed(self, type_: Type, path: str, message: str, code: str = "C008", key: bool = False) -> Type:
        """The type at a dotted path, which is the value or the `key` here; raises Unusable if there is none."""
        try:
            return type_at(type_, path)
        except UnknownPath as error:
            raise (self.key_problem if key else self.problem)(code, message, error.hint) from None

    def key_problem(self, code: str, message: str, hint: str = "") -> Unusable:
        """A problem with the key that leads here; for an item of a list, the key of the list."""
        last = max((k for k, step in enumerate(self.path, 1) if isinstance(step, str)), default=0)
        return Unusable(Problem(self.source.key_at(self.path[:last]), code, message, hint))


class Draft:
    """Inputs under construction: a base, then values set and unset by dotted path, later ones over earlier ones."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._tree: dict[str, Any] = {}
        self._origins: list[tuple[tuple[str, ...], YamlPlace]] = []

    def base(self, name: str, named_at: YamlPlace) -> None:
        """Start from a named base of the contract."""
        if name not in self.contract.bases:
            known = sorted(self.contract.bases)
            hint = nearest(name, known, f"bases of {self.contract.operator}: {', '.join(known) or 'none'}")
            raise named_at.problem("C007", f"unknown base {name!r}", hint)
        self._tree = copy.deepcopy(dict(self.contract.bases[name]))
        self._origins = [((), YamlPlace(self.contract.source, ("bases", name)))]

    def set(self, path: str, value: Any, place: YamlPlace) -> None:
        """Put a value at a dotted path, making the structs and maps above it where they are absent."""
        steps = self._steps(path, place)
        holder: Any = self._tree
        for depth, step in enumerate(steps[:-1]):
            if isinstance(holder, list):
                holder = holder[self._index(holder, step, place)]
            else:
                holder = holder.setdefault(step, {})
            if not isinstance(holder, dict | list):
                raise place.key_problem("C008", f"{'.'.join(steps[: depth + 1])} has no parts", "set it as a whole")
        value = value if isinstance(value, Reference) else copy.deepcopy(value)
        if isinstance(holder, list):
            holder[self._index(holder, steps[-1], place)] = value
        else:
            holder[steps[-1]] = value
        self._origins.append((steps, place))

    def unset(self, path: str, place: YamlPlace) -> None:
        """Remove the value at a dotted path."""
        steps = self._steps(path, place)
        holder: Any = self._tree
        for step in steps[:-1]:
            holder = holder.get(step) if isinstance(holder, dict) else None
        if not isinstance(holder, dict) or steps[-1] not in holder:
            raise place.problem("C008", f"nothing is set at {path!r}", "remove the line, or name what is set")
        del holder[steps[-1]]

    def apply(self, body: Mapping[str, Any], place: YamlPlace) -> None:
        """Apply the `set` and `unset` of a group, case or step."""
        for path, value in body.get("set", {}).items():
            self.set(path, value, place / "set" / path)
        unset: Sequence[str] = body.get("unset", ())
        for k, path in enumerate(unset):
            self.unset(path, place / "unset" / k)

    def wire(self, place: YamlPlace) -> dict[str, Any]:
        """The inputs in JSON wire form, checked against the types; missing values are reported at `place`."""
        try:
            return dict(to_wire(self.contract.inputs, self._tree))
        except IllTyped as error:
            raise self._ill_typed(error, place) from None

    def _steps(self, path: str, place: YamlPlace) -> tuple[str, ...]:
        message = f"unknown path {path!r} among the inputs of {self.contract.operator}"
        place.typed(self.contract.inputs, path, message, key=True)
        return tuple(path.split("."))

    def _index(self, holder: list[Any], step: str, place: YamlPlace) -> int:
        if int(step) >= len(holder):
            raise place.key_problem("C008", f"index {step} of a list of {len(holder)}", "set the list as a whole")
        return int(step)

    def _limits(self, steps: tuple[str, ...]) -> str:
        """The type at a path, as text, with its bounds if it is an integer."""
        try:
            type_ = type_at(self.contract.inputs, ".".join(steps))
        except UnknownPath:
            return ""
        if not isinstance(type_, Scalar) or type_.name not in INTEGER_RANGES:
            return ""
        return f"{type_}, {whole_number(type_.name)}"

    def _ill_typed(self, error: IllTyped, place: YamlPlace) -> Unusable:
        steps = tuple(map(str, error.path))
        for origin, origin_place in reversed(self._origins):
            if steps[: len(origin)] == origin:
                place = YamlPlace(origin_place.source, (*origin_place.path, *error.path[len(origin) :]))
                break
        hint = "write it as the contract's `inputs` declare it"
        limits, wanted = self._limits(steps), error.expected
        if error.found == "nothing":
            hint = "the contract's `inputs` declare it: give it a value in the base, or under `set`"
            if place.path[:1] == ("examples",):
                hint = f"give it values: `examples: {{{'.'.join(steps)}: [...]}}`"
            elif steps[-1] in members_of(self.contract.inputs, HANDLE):
                hint = "no step before it opens a handle; begin with the operation that `opens` one"
        elif limits:
            hint, wanted = f"it is declared as {limits}", limits.split(",")[0]
            low, high = INTEGER_RANGES[wanted]
            if re.fullmatch(r"\d[\d_]*(\.0+)?", str(error.found)) and low <= (meant := int(float(error.found))) <= high:
                hint += f": write {meant}"
        elif type(error.found) in (int, float, bool) and ("hex" in error.expected or "string" in error.expected):
            kind = "a truth value" if isinstance(error.found, bool) else "a number"
            hint = f"put it in quotes; without them YAML reads {kind}"
        if said := look_alike(str(error.found)):
            hint = f"{said}: write {typed(str(error.found))}"
        expected = f"expected {wanted}"
        if error.found != "nothing":
            expected += f", found {error.found!r:.80}"
        return place.problem("C009", f"ill-typed input {show_path(error.path)}: {expected}", hint)


MARKER_KEYS: Final = frozenset({"count", "sha256", "head", "tail"})


def pin_of(body: Mapping[str, Any], place: YamlPlace, contract: Contract) -> Pin:
    """The pin in `body`; raises Unusable."""
    if "failure" in body:
        code = body["failure"]
        raisable = contract.codes
        if code not in raisable:
            known = ", ".join(sorted(raisable)) or "no code"
            hint = nearest(code, sorted(raisable), f"`requires` and `refuses` declare: {known}")
            raise (place / "failure").problem("C008", f"the operator never fails with {code!r}", hint)
        return Pin({}, code, place.position)
    values = {}
    for path, value in body["result"].items():
        here = place / "result" / path
        message = f"unknown path {path!r} among the outputs of {contract.operator}"
        type_ = here.typed(contract.outputs, path, message, key=True)
        try:
            values[path] = pinned_value(type_, value)
        except IllTyped as error:
            raise here.problem("C009", f"ill-typed pin {path}: {error}", f"it is of type {type_}") from None
    return Pin(values, "", place.position)


def pinned_value(type_: Type, value: Any) -> Any:
    """A pinned value in wire form; a long list may be pinned by count, sha256, head and tail."""
    if isinstance(type_, ListOf) and isinstance(value, dict) and value and value.keys() <= MARKER_KEYS:
        return {key: to_wire(type_, part) if key in ("head", "tail") else part for key, part in value.items()}
    return to_wire(type_, value)
