"""Compile an annotation into a pair of functions that read and write its values in one form."""

import dataclasses
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, Protocol, Union, get_args, get_origin, get_type_hints

from impl.types import ArrayOf, Binary, FixedBytes, Integer, SelfDescribing, Tensor

Convert = Callable[[Any], Any]


class Codec(NamedTuple):
    """Hold the two directions; None represents "leave the value as it is"."""

    read: Convert | None = None
    write: Convert | None = None


class Form(Protocol):
    """Say how scalars, integer lists, values and tensors look in one form."""

    plain: Codec

    def integer(self, mark: Integer) -> Codec:
        """Return the codec of an integer."""

    def integers(self, mark: Integer) -> Codec:
        """Return the codec of a list of integers."""

    def byte_string(self) -> Codec:
        """Return the codec of a byte string."""

    def binary(self, mark: Binary) -> Codec:
        """Return the codec of an IEEE-754 number."""

    def value(self) -> Codec:
        """Return the codec of the self-describing type."""

    def tensor(self) -> Codec:
        """Return the codec of a tensor."""


def compile_codec(annotation: Any, form: Form) -> Codec:
    """Return the codec of any annotation named in `impl.types`; TypeError for any other."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _marked(annotation, form)
    if annotation is bool or annotation is str or origin is Literal:
        return form.plain
    if annotation is bytes:
        return form.byte_string()
    if annotation is Tensor:
        return form.tensor()
    if origin is list:
        return _list(get_args(annotation)[0], form)
    if origin is dict:
        return _map(get_args(annotation)[1], form)
    if dataclasses.is_dataclass(annotation):
        return _struct(typing.cast("type[Any]", annotation), form)
    raise TypeError(f"no wire form for the annotation {annotation!r}")


def compile_parameters(operator: Callable[..., Any], form: Form) -> Convert:
    """Return a function from a params object to the operator's keyword arguments."""
    hints = get_type_hints(operator, include_extras=True)
    hints.pop("return", None)
    return _fields_reader([(name, *_optional(hint)) for name, hint in hints.items()], form)


def compile_result(operator: Callable[..., Any], form: Form) -> Convert:
    """Return a function from the operator's result to a result object."""
    hint = get_type_hints(operator, include_extras=True)["return"]
    write = compile_codec(hint, form).write
    if write is None:
        raise TypeError(f"the result of {operator!r} is not a dataclass")
    return write


def _marked(annotation: Any, form: Form) -> Codec:
    for mark in get_args(annotation)[1:]:
        match mark:
            case Integer():
                return form.integer(mark)
            case FixedBytes():
                return form.byte_string()
            case Binary():
                return form.binary(mark)
            case SelfDescribing():
                return form.value()
            case ArrayOf():
                return form.integers(mark.element)
    raise TypeError(f"no wire form for the annotation {annotation!r}")


def _list(element: Any, form: Form) -> Codec:
    for mark in get_args(element)[1:] if get_origin(element) is Annotated else ():
        if isinstance(mark, Integer):
            return form.integers(mark)
    inner = compile_codec(element, form)
    return Codec(_each(inner.read), _each(inner.write))


def _each(convert: Convert | None) -> Convert:
    if convert is None:
        return list
    return lambda items: [convert(item) for item in items]


def _map(element: Any, form: Form) -> Codec:
    inner = compile_codec(element, form)
    return Codec(_each_value(inner.read), _each_value(inner.write))


def _each_value(convert: Convert | None) -> Convert:
    if convert is None:
        return dict
    return lambda items: {key: convert(item) for key, item in items.items()}


def _optional(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, types.UnionType):
        inner = [choice for choice in get_args(hint) if choice is not type(None)]
        if len(inner) != 1:
            raise TypeError(f"no wire form for the union {hint!r}")
        return inner[0], True
    return hint, False


def _fields_reader(fields: list[tuple[str, Any, bool]], form: Form) -> Convert:
    plan = [(name, compile_codec(hint, form).read, optional) for name, hint, optional in fields]

    def read(source: Any) -> dict[str, Any]:
        arguments = {}
        for name, convert, optional in plan:
            if optional and name not in source:
                continue
            item = source[name]
            arguments[name] = item if convert is None else convert(item)
        return arguments

    return read


def _struct(struct: type[Any], form: Form) -> Codec:
    hints = get_type_hints(struct, include_extras=True)
    fields = [(field.name, *_optional(hints[field.name])) for field in dataclasses.fields(struct)]
    arguments = _fields_reader(fields, form)
    plan = [(name, compile_codec(hint, form).write, optional) for name, hint, optional in fields]

    def write(source: Any) -> dict[str, Any]:
        record = {}
        for name, convert, optional in plan:
            item = getattr(source, name)
            if optional and item is None:
                continue
            record[name] = item if convert is None else convert(item)
        return record

    return Codec(lambda source: struct(**arguments(source)), write)
