"""Values as people write them in YAML become the JSON wire form of their type.

Integers, floats and booleans are YAML numbers and words, byte strings as hex, a tensor's data as a flat list in
C order; inside a `value`, null as the word null (this YAML has no null) and a map from text as `fields`. What is in
wire form already stays as it is.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.form import Form, form_of
from conformance.codec.scalar import WIDE, IllTyped
from conformance.contract.lazy import np
from conformance.contract.types import TENSOR_DTYPES, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.contract.value import wire_value
from conformance.vectors.compact import MARK, expanded, recipe
from conformance.vectors.leaf import reference

ROOT_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_PACK: Final[Mapping[str, str]] = {"float16": ">e", "float32": ">f", "float64": ">d"}


@dataclass(frozen=True, slots=True)
class Reference:
    """Represents what an earlier step answered: `step.output.path`; with a `format`, for that with a damaged field."""

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
            selfdescribing.check(expanded(made))
            return made
        case Tensor():
            return form_of(type_).check(_tensor(value))
    return form_of(type_).check(value)


def _recipe(type_: Type, body: Any) -> dict[str, Any]:
    """A recipe as people write it, without its digest; the value that it makes must be of the type."""
    whole = _made(body)
    form_of(type_).check(expanded(whole))
    return whole


def _made(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict) or type(body.get("count")) is not int:
        raise IllTyped("a recipe {generator, count, ...}", body)
    parameters = {key: part for key, part in body.items() if key not in ("generator", "count", "sha256")}
    try:
        return recipe(body.get("generator", ""), body["count"], **parameters)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IllTyped(f"a recipe ({error!r:.60})", body) from None


def _root(value: Any) -> dict[str, str]:
    """The name of a root, as `name` or {root: name}."""
    name = value["root"] if isinstance(value, dict) and value.keys() == {"root"} else value
    if not isinstance(name, str) or not ROOT_NAME.match(name):
        raise IllTyped("the name of a root, lower-case words joined by -", value)
    return {"root": name}


@cache
def scalar_form(type_: Scalar) -> Form:
    """The form of a scalar, compiled once."""
    return form_of(type_)


def inside(step: str | int, type_: Type, value: Any) -> Any:
    """The wire form of a part; an error names the step that leads to it."""
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
    """A long array or text of a `value`, written as a recipe; anything else is left to the check of the wire form."""
    match value:
        case {"array": {"generated": dict(body)}, **rest} if not rest:
            return {"array": _made(body)}
        case {"text": {"generated": dict(body)}, **rest} if not rest:
            return {"text": _made(body)}
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
