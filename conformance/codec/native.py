"""Native values inside messages: the arguments and results of a Python backend, on either wire.

Reading trusts the harness, whose requests are well typed. Writing checks no types: a value that is not of its declared
type is sent in a form that the type does not have, so that the harness refuses it with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.cbor import Float, Tagged
from conformance.codec.form import array_of, form_of, parts_of, raw_bytes, typed_array
from conformance.codec.scalar import Convert, IllTyped
from conformance.contract.lazy import np
from conformance.contract.types import FLOAT_BYTES, TENSOR_DTYPES, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value

_BIGNUM, _WTF_8 = 2, 273  # tags that no type of the wire accepts
_ARRAYS: Final[Mapping[Type, str]] = {Scalar("uint32"): "uint32", Scalar("uint64"): "uint64"}


class NoWireForm(Exception):
    """A value that no message can have; the text says which."""


@dataclass(frozen=True, slots=True)
class NativeForm:
    """The conversions between native values of one type and messages of one wire."""

    read: Convert
    write: Convert  # raises NoWireForm


def native_form(type_: Type, wire: str, arrays: bool) -> NativeForm:
    """The native form of a type on the wire called `wire`; `arrays` gives lists of uint32 and uint64 as ndarrays."""
    cbor = wire == "cbor"
    return NativeForm(_reader(type_, cbor, arrays), _writer(type_, cbor))


# -- reading


def _reader(type_: Type, cbor: bool, arrays: bool) -> Convert:
    match type_:
        case Struct(fields):
            return _members({field.name: _reader(field.type, cbor, arrays) for field in fields}.__getitem__)
        case MapOf(item):
            inner = _reader(item, cbor, arrays)
            return _members(lambda _: inner)
        case ListOf(item):
            return _list_reader(item, cbor, arrays)
        case Tensor() if cbor:
            return lambda item: array_of(item["dtype"], item["shape"], item["data"])
        case Scalar(name) if cbor:
            return (lambda item: item.number) if name in FLOAT_BYTES else lambda item: item
        case Value() if cbor:
            return lambda item: selfdescribing.to_native(selfdescribing.from_native(item))
    return form_of(type_).to_native


def _members(reader: Callable[[str], Convert]) -> Convert:
    return lambda values: {name: reader(name)(value) for name, value in values.items()}


def _list_reader(item: Type, cbor: bool, arrays: bool) -> Convert:
    inner = _reader(item, cbor, arrays)
    if item not in _ARRAYS:
        return lambda values: [inner(value) for value in values]

    def read(values: Any) -> Any:
        if isinstance(values, Tagged):
            numbers = typed_array(values)
            return numbers.astype(_ARRAYS[item]) if arrays else numbers.tolist()
        plain = list(map(int, values))
        return np.array(plain, _ARRAYS[item]) if arrays else plain

    return read


# -- writing


def _writer(type_: Type, cbor: bool) -> Convert:
    match type_:
        case Struct(fields):
            return _members_writer({field.name: _writer(field.type, cbor) for field in fields}, None, cbor)
        case MapOf(item):
            return _members_writer({}, _writer(item, cbor), cbor)
        case ListOf(item):
            return _list_writer(item, cbor)
        case Tensor() if cbor:
            return _tensor_item
        case Scalar(name) if cbor and name in FLOAT_BYTES:
            return _float_writer(name)
    return as_item if cbor else _leaf_writer(type_)


def _members_writer(writers: Mapping[str, Convert], other: Convert | None, cbor: bool) -> Convert:
    stranger = as_item if cbor else _as_it_is
    other = other or stranger

    def write(values: Any) -> Any:
        if type(values) is not dict:
            # Inside a list the self-describing form cannot be mistaken for an object of the type.
            return as_item(values) if cbor else [_as_it_is(values)]
        for name in values:
            if type(name) is not str:
                raise NoWireForm(f"the key {name!r:.80}, which is not text")
        return {name: writers.get(name, other)(value) for name, value in values.items()}

    return write


def _list_writer(item: Type, cbor: bool) -> Convert:
    inner = _writer(item, cbor)

    def write(values: Any) -> Any:
        if isinstance(values, np.ndarray):
            if cbor and item in _ARRAYS and values.ndim == 1 and values.dtype == _ARRAYS[item]:
                return values
            values = values.tolist()
        if not isinstance(values, list | tuple):
            return as_item(values) if cbor else _as_it_is(values)
        return [inner(value) for value in values]

    def write_wide(values: Any) -> Any:
        # One call in C for a list of plain integers, such as indices; the harness checks their range.
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
            values = values.tolist()
        plain = isinstance(values, list) and set(map(type, values)) <= {int}
        return list(map(str, values)) if plain else write(values)

    return write_wide if item == Scalar("uint64") and not cbor else write


def _leaf_writer(type_: Type) -> Convert:
    from_native = form_of(type_).from_native

    def write(value: Any) -> Any:
        try:
            return from_native(_plain(value) if isinstance(value, np.generic) else value)
        except (IllTyped, TypeError, ValueError):
            return _as_it_is(value)

    return write


def _float_writer(name: str) -> Convert:
    width, form = FLOAT_BYTES[name], form_of(Scalar(name))

    def write(value: Any) -> Any:
        try:
            return Float(width, bytes.fromhex(form.from_native(_plain(value))))
        except IllTyped:
            return as_item(value)

    return write


def _tensor_item(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.name not in TENSOR_DTYPES:
        return as_item(value)
    return {**parts_of(value), "data": raw_bytes(value)}


def _as_it_is(value: Any) -> Any:
    """A value in the self-describing JSON form, which no other type uses."""
    try:
        return selfdescribing.from_native(_plain(value))
    except IllTyped as error:
        if isinstance(error.found, str):  # a lone surrogate: its escape reaches the harness, which refuses it
            return {"text": error.found}
        raise _unsendable(error.found) from None


def as_item(value: Any) -> Any:
    """A value as a CBOR item, tagged if no type has such a value; raises NoWireForm."""
    value = _plain(value)
    match value:
        case None | bool() | float() | bytes() | bytearray() | Float():
            return value
        case int():
            return value if -(2**64) <= value < 2**64 else Tagged(_BIGNUM, str(value).encode())
        case str():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                return Tagged(_WTF_8, value.encode("utf-8", "surrogatepass"))
            return value
        case list():
            return [as_item(member) for member in value]
        case dict() | tuple():
            pairs = value.items() if isinstance(value, dict) else value
            return tuple((as_item(key), as_item(member)) for key, member in pairs)
    raise _unsendable(value)


def _plain(value: Any) -> Any:
    """A value without NumPy, and with tuples only where they are pairs."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, tuple):
        members = [_plain(member) for member in value]
        pairs = all(isinstance(member, tuple) and len(member) == 2 for member in value)
        return tuple((_plain(key), _plain(member)) for key, member in value) if pairs else members
    return value


def _unsendable(value: Any) -> NoWireForm:
    return NoWireForm(f"a {type(value).__name__}, {value!r:.80}")
