"""The forms of a type: JSON wire, native Python and CBOR, each way, compiled once per type.

`Form.check` holds a JSON wire value to its type; `from_cbor` does the same for a decoded CBOR item and answers the
JSON wire form. Both refuse every form but the one canonical form and leave volatile fields out of what they answer.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from conformance.codec import selfdescribing
from conformance.codec.illtyped import IllTyped
from conformance.codec.item import TYPED_ARRAYS, Float, Tagged
from conformance.contract.types import (
    FIXED_BYTES,
    FLOAT_BYTES,
    INTEGER_RANGES,
    TENSOR_DTYPES,
    Enum,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Tensor,
    Type,
    Value,
)

Convert = Callable[[Any], Any]
_WIDE: Final = frozenset({"uint64", "int64"})
_PACK: Final = {2: ">e", 4: ">f", 8: ">d"}
_DECIMALS = re.compile(r"(?:(?:0|-?[1-9][0-9]{0,19}),)*\Z")
_HEX = re.compile(r"(?:[0-9a-f]{2})*\Z")


@dataclass(frozen=True, slots=True)
class Form:
    """The conversions of one type; each raises IllTyped with the path of what does not fit."""

    check: Convert  # JSON wire -> JSON wire without volatile fields
    to_native: Convert  # JSON wire -> native
    from_native: Convert  # native -> JSON wire
    to_cbor: Convert  # JSON wire -> CBOR message item
    from_cbor: Convert  # CBOR message item -> JSON wire without volatile fields


def form_of(type_: Type) -> Form:
    """The form of a type."""
    match type_:
        case Scalar(name):
            return _scalar(name)
        case Enum(values):
            return _enum(values)
        case ListOf(item):
            return _list(item)
        case MapOf(item):
            return _map(form_of(item))
        case Struct():
            return _struct(type_)
        case Tensor(dtype):
            return _tensor(dtype)
        case Value():
            return Form(
                selfdescribing.check,
                selfdescribing.to_native,
                selfdescribing.from_native,
                lambda wire: selfdescribing.to_native(wire),
                lambda item: selfdescribing.from_native(item),
            )


def _scalar(name: str) -> Form:
    if name == "bool":
        check = _typed(bool, "true or false")
        return Form(check, _same, check, _same, check)
    if name == "string":
        return Form(_string, _same, _string, _same, _string)
    if name in INTEGER_RANGES:
        return _wide_integer(name) if name in _WIDE else _narrow_integer(name)
    if name in FLOAT_BYTES:
        return _float(FLOAT_BYTES[name], name)
    return _bytes(FIXED_BYTES.get(name), name)


def _same(value: Any) -> Any:
    return value


def _typed(kind: type, expected: str) -> Convert:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise IllTyped(expected, value)
        return value

    return check


def _string(value: Any) -> Any:
    if type(value) is not str:
        raise IllTyped("a string", value)
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise IllTyped("a string of Unicode scalar values", value)
    return value


def _wide_integer(name: str) -> Form:
    low, high = INTEGER_RANGES[name]
    expected = f"{name} as a decimal string"

    def check(wire: Any) -> Any:
        if type(wire) is not str or len(wire) > 20 or not wire.isascii():
            raise IllTyped(expected, wire)
        digits = wire[1:] if wire[:1] == "-" and low < 0 else wire
        if not digits.isdigit() or (digits[0] == "0" and wire != "0") or not low <= int(wire) <= high:
            raise IllTyped(expected, wire)
        return wire

    def from_native(value: Any) -> str:
        return str(_integer(value, low, high, name))

    return Form(check, int, from_native, int, from_native)


def _narrow_integer(name: str) -> Form:
    low, high = INTEGER_RANGES[name]

    def check(value: Any) -> int:
        return _integer(value, low, high, f"{name} as a number")

    return Form(check, _same, check, _same, check)


def _integer(value: Any, low: int, high: int, expected: str) -> int:
    if type(value) is not int or not low <= value <= high:
        raise IllTyped(expected, value)
    return value


def _float(width: int, name: str) -> Form:
    digits = 2 * width
    expected = f"{name} as {digits} hex digits"

    def check(wire: Any) -> Any:
        if type(wire) is not str or len(wire) != digits or not _HEX.match(wire):
            raise IllTyped(expected, wire)
        return wire

    def from_native(value: Any) -> str:
        if type(value) is not float:
            raise IllTyped(name, value)
        return struct.pack(_PACK[width], value).hex()

    def from_cbor(item: Any) -> str:
        if not isinstance(item, Float) or item.width != width:
            raise IllTyped(f"{name} in {width} bytes", item)
        return item.bits.hex()

    return Form(
        check,
        lambda wire: float(struct.unpack(_PACK[width], bytes.fromhex(wire))[0]),
        from_native,
        lambda wire: Float(width, bytes.fromhex(wire)),
        from_cbor,
    )


def _bytes(length: int | None, name: str) -> Form:
    expected = f"{name} as lower-case hex" if length is None else f"{name} as {2 * length} lower-case hex digits"

    def check(wire: Any) -> Any:
        if type(wire) is not str or not _HEX.match(wire) or length not in (None, len(wire) // 2):
            raise IllTyped(expected, wire)
        return wire

    def from_native(value: Any) -> str:
        if not isinstance(value, bytes | bytearray) or length not in (None, len(value)):
            raise IllTyped(name, value)
        return value.hex()

    return Form(check, bytes.fromhex, from_native, bytes.fromhex, from_native)


def _enum(values: tuple[str, ...]) -> Form:
    def check(value: Any) -> Any:
        if type(value) is not str or value not in values:
            raise IllTyped("one of " + ", ".join(values), value)
        return value

    return Form(check, _same, check, _same, check)


def _list(item: Type) -> Form:
    inner = form_of(item)
    narrow = isinstance(item, Scalar) and item.name in ("uint32", "uint64")
    wide = isinstance(item, Scalar) and item.name in _WIDE

    def each(convert: Convert) -> Convert:
        def apply(values: Any) -> list[Any]:
            if type(values) is not list:
                raise IllTyped("a list", values)
            done = []
            for index, value in enumerate(values):
                try:
                    done.append(convert(value))
                except IllTyped as error:
                    raise error.inside(index) from None
            return done

        return apply

    def check_wide(values: Any) -> Any:
        # One pass in C over the joined text; only a list that fails it is walked for the place of the mistake.
        try:
            joined = ",".join(values) if type(values) is list else ""
        except TypeError:
            return each(inner.check)(values)
        if type(values) is not list or joined.count(",") != max(len(values) - 1, 0):
            return each(inner.check)(values)
        if (values and not _DECIMALS.match(joined + ",")) or any(len(value) > 18 for value in values):
            return each(inner.check)(values)
        return each(inner.check)(values) if "-" in joined else values

    def from_native(values: Any) -> Any:
        return each(inner.from_native)(values.tolist() if isinstance(values, np.ndarray) else values)

    def to_cbor(values: list[Any]) -> Any:
        if narrow:
            return np.array([int(value) for value in values], dtype=np.uint64 if wide else np.uint32)
        return [inner.to_cbor(value) for value in values]

    def from_cbor(item: Any) -> Any:
        if narrow and isinstance(item, Tagged):
            item = typed_array(item).tolist()
        return each(inner.from_cbor)(item)

    return Form(
        check_wide if wide else each(inner.check),
        (lambda values: list(map(int, values))) if wide else lambda values: [inner.to_native(v) for v in values],
        from_native,
        to_cbor,
        from_cbor,
    )


def typed_array(item: Tagged) -> np.ndarray[Any, Any]:
    """The numbers of an RFC 8746 typed array; raises IllTyped where it is none."""
    dtype = TYPED_ARRAYS.get(item.tag)
    if dtype is None or not isinstance(item.item, bytes) or len(item.item) % dtype.itemsize:
        raise IllTyped("a typed array (tag 70 or 71) or a plain array", f"tag {item.tag}")
    return np.frombuffer(item.item, dtype=dtype)


def _map(inner: Form) -> Form:
    def each(convert: Convert) -> Convert:
        def apply(values: Any) -> dict[str, Any]:
            if type(values) is not dict:
                raise IllTyped("an object", values)
            done = {}
            for key, value in values.items():
                _string(key)
                try:
                    done[key] = convert(value)
                except IllTyped as error:
                    raise error.inside(key) from None
            return done

        return apply

    check, to_native, from_native, to_cbor, from_cbor = (each(convert) for convert in _conversions(inner))
    return Form(check, to_native, from_native, to_cbor, from_cbor)


def _conversions(form: Form) -> tuple[Convert, ...]:
    return (form.check, form.to_native, form.from_native, form.to_cbor, form.from_cbor)


def _struct(struct_: Struct) -> Form:
    forms = {member.name: form_of(member.type) for member in struct_.fields}
    columns = {name: _conversions(form) for name, form in forms.items()}
    volatile = frozenset(member.name for member in struct_.fields if member.volatile)
    required = tuple(member.name for member in struct_.fields if not member.optional)

    def each(column: int, drop_volatile: bool) -> Convert:
        converts = {name: column_[column] for name, column_ in columns.items()}

        def apply(values: Any) -> dict[str, Any]:
            if type(values) is not dict:
                raise IllTyped("an object", values)
            done = {}
            for name, value in values.items():
                convert = converts.get(name)
                if convert is None:
                    raise IllTyped("no such field", value, (name,))
                try:
                    converted = convert(value)
                except IllTyped as error:
                    raise error.inside(name) from None
                if not (drop_volatile and name in volatile):
                    done[name] = converted
            for name in required:
                if name not in values:
                    raise IllTyped("this field, which is missing", "nothing", (name,))
            return done

        return apply

    return Form(*(each(column, drop_volatile=column in (0, 4)) for column in range(5)))


def _tensor(dtype: str | None) -> Form:
    def shape_of(value: Any) -> tuple[str, list[int], int]:
        if type(value) is not dict or value.keys() != {"dtype", "shape", "data"}:
            raise IllTyped("a tensor {dtype, shape, data}", value)
        name, shape = value["dtype"], value["shape"]
        if name not in TENSOR_DTYPES or dtype not in (None, name):
            raise IllTyped(dtype or "a tensor dtype", name, ("dtype",))
        if type(shape) is not list or any(type(side) is not int or side < 0 for side in shape):
            raise IllTyped("a list of sizes", shape, ("shape",))
        return name, shape, int(np.prod(shape, dtype=object)) * np.dtype(name).itemsize

    def raw_of(wire: Any) -> bytes:
        try:
            raw = base64.b64decode(wire["data"], validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise IllTyped("standard base64 with padding", wire["data"], ("data",)) from None
        if base64.b64encode(raw).decode() != wire["data"]:
            raise IllTyped("canonical base64", wire["data"], ("data",))
        return raw

    def fitting(value: Any, raw: Any) -> Any:
        name, _, size = shape_of(value)
        if type(raw) is not bytes or len(raw) != size:
            raise IllTyped(f"{size} bytes of data", raw, ("data",))
        if name == "bool" and raw.strip(b"\0\1"):
            raise IllTyped("bools of one byte, 0 or 1", "another byte", ("data",))
        return raw

    def check(wire: Any) -> Any:
        shape_of(wire)
        fitting(wire, raw_of(wire))
        return wire

    def to_native(wire: Any) -> Any:
        little = np.dtype(wire["dtype"]).newbyteorder("<")
        flat = np.frombuffer(raw_of(wire), dtype=little).astype(wire["dtype"])
        return flat.reshape(wire["shape"])

    def from_native(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype.name not in TENSOR_DTYPES:
            raise IllTyped("a numpy array", value)
        little = value.astype(value.dtype.newbyteorder("<"), copy=False)
        data = base64.b64encode(np.ascontiguousarray(little).tobytes()).decode()
        return check({"dtype": value.dtype.name, "shape": list(value.shape), "data": data})

    def from_cbor(item: Any) -> Any:
        shape_of(item)
        raw = fitting(item, item["data"])
        return {**item, "data": base64.b64encode(raw).decode()}

    return Form(check, to_native, from_native, lambda wire: {**wire, "data": raw_of(wire)}, from_cbor)
