"""The forms of a type, compiled once: JSON wire, native Python and CBOR, each way."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.cbor import TYPED_ARRAYS, Tagged
from conformance.codec.scalar import WIDE, Convert, Form, IllTyped, enum_form, scalar_form, text
from conformance.contract.lazy import np
from conformance.contract.types import (
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

MAX_DIMENSIONS: Final = 32  # the most that NumPy before 2.0 supports
_MAX_BYTES: Final = 1 << 62  # largest size of a shape, its empty sides counted as 1; NumPy has no larger array


def tensor_form(dtype: str | None) -> Form:
    """The form of a tensor; with a `dtype` of None, each value has its own."""

    def size_of(value: Any) -> int:
        if type(value) is not dict or value.keys() != {"dtype", "shape", "data"}:
            raise IllTyped("a tensor {dtype, shape, data}", value)
        name, shape = value["dtype"], value["shape"]
        if type(name) is not str or name not in TENSOR_DTYPES or dtype not in (None, name):
            raise IllTyped(dtype or "a tensor dtype", name, ("dtype",))
        if type(shape) is not list or len(shape) > MAX_DIMENSIONS:
            raise IllTyped(f"a list of at most {MAX_DIMENSIONS} sizes", shape, ("shape",))
        if any(type(side) is not int or side < 0 for side in shape):
            raise IllTyped("a list of sizes", shape, ("shape",))
        itemsize = np.dtype(name).itemsize
        if math.prod(side or 1 for side in shape) * itemsize > _MAX_BYTES:
            raise IllTyped("a shape that an array can have", shape, ("shape",))
        return math.prod(shape) * itemsize

    def raw_of(wire: Any) -> bytes:
        data = wire["data"]
        try:
            raw = binascii.a2b_base64(data, strict_mode=True)
        except (TypeError, ValueError):
            raise IllTyped("standard base64 with padding", data, ("data",)) from None
        # Only the end can differ from the canonical text: by unused bits, or by too much padding.
        end = binascii.b2a_base64(raw[len(raw) // 3 * 3 :], newline=False).decode()
        if len(data) != len(raw) // 3 * 4 + len(end) or not data.endswith(end):
            raise IllTyped("canonical base64", data, ("data",))
        return raw

    def fitting(value: Any, raw: Any, size: int) -> bytes:
        if type(raw) is not bytes or len(raw) != size:
            raise IllTyped(f"{size} bytes of data", raw, ("data",))
        if value["dtype"] == "bool" and raw.strip(b"\0\1"):
            raise IllTyped("bools of one byte, 0 or 1", "another byte", ("data",))
        return raw

    def check(wire: Any) -> Any:
        size = size_of(wire)
        fitting(wire, raw_of(wire), size)
        return wire

    def to_native(wire: Any) -> Any:
        return array_of(wire["dtype"], wire["shape"], raw_of(wire))

    def from_native(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype.name not in TENSOR_DTYPES:
            raise IllTyped("a numpy array", value)
        return check({**parts_of(value), "data": base64.b64encode(raw_bytes(value)).decode()})

    def from_cbor(item: Any) -> Any:
        size = size_of(item)
        raw = fitting(item, item["data"], size)
        return {**item, "data": base64.b64encode(raw).decode()}

    return Form(check, to_native, from_native, lambda wire: {**wire, "data": raw_of(wire)}, from_cbor)


def array_of(dtype: str, shape: list[int], raw: bytes) -> np.ndarray[Any, Any]:
    """The array of a tensor's parts, in the machine's own byte order and writable."""
    return np.frombuffer(raw, np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(shape)


def parts_of(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """A tensor's dtype and shape."""
    return {"dtype": array.dtype.name, "shape": list(array.shape)}


def raw_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """A tensor's data: little-endian, C order."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(order="C")


__all__ = ["Form", "form_of", "typed_array"]

_DECIMALS: Final = re.compile(r"(?:(?:0|-?[1-9][0-9]{0,19}),)*\Z")
_CHECK, _FROM_CBOR = 0, 4  # the columns of a form that leave volatile fields out


def form_of(type_: Type) -> Form:
    """The form of a type."""
    match type_:
        case Scalar(name):
            return scalar_form(name)
        case Enum(values):
            return enum_form(values)
        case ListOf(item):
            return _list(item)
        case MapOf(item):
            return _map(form_of(item))
        case Struct():
            return _struct(type_)
        case Tensor(dtype):
            return tensor_form(dtype)
        case Value():
            return Form(
                selfdescribing.check,
                selfdescribing.to_native,
                selfdescribing.from_native,
                selfdescribing.to_native,
                selfdescribing.from_item,
            )


def _list(item: Type) -> Form:
    inner = form_of(item)
    narrow = isinstance(item, Scalar) and item.name in ("uint32", "uint64")
    wide = isinstance(item, Scalar) and item.name in WIDE
    are_integers = _integers_of(item.name) if isinstance(item, Scalar) and item.name in INTEGER_RANGES else None
    check_each, from_native_each, from_cbor_each = map(_list_of, (inner.check, inner.from_native, inner.from_cbor))

    def check_wide(values: Any) -> Any:
        # One pass in C over the joined text; only a list that fails is walked, to find the place of the mistake.
        try:
            joined = ",".join(values) if type(values) is list and values else "-"
        except TypeError:
            joined = "-"
        plain = "-" not in joined and joined.count(",") == len(values) - 1 and _DECIMALS.match(joined + ",")
        return values if plain and max(map(len, values)) <= 18 else check_each(values)

    def check_narrow(values: Any) -> Any:
        assert are_integers is not None
        return list(values) if are_integers(values) else check_each(values)

    def from_native(values: Any) -> Any:
        values = values.tolist() if isinstance(values, np.ndarray) else values
        if are_integers is not None and are_integers(values):
            return list(map(str if wide else int, values))
        return from_native_each(values)

    def to_cbor(values: list[Any]) -> Any:
        if narrow:
            return np.array([int(value) for value in values], dtype=np.uint64 if wide else np.uint32)
        return [inner.to_cbor(value) for value in values]

    def from_cbor(item: Any) -> Any:
        if narrow and isinstance(item, Tagged):
            numbers = typed_array(item)
            if wide:
                return list(map(str, numbers.tolist()))
            item = numbers.tolist()
        return from_cbor_each(item)

    return Form(
        check_wide if wide else check_narrow if are_integers is not None else check_each,
        (lambda values: list(map(int, values))) if wide else lambda values: [inner.to_native(v) for v in values],
        from_native,
        to_cbor,
        from_cbor,
    )


def _integers_of(name: str) -> Callable[[Any], bool]:
    """Whether a value is a list of integers of a type and nothing else: three passes in C."""
    low, high = INTEGER_RANGES[name]

    def are_integers(values: Any) -> bool:
        return type(values) is list and {*map(type, values)} == {int} and low <= min(values) and max(values) <= high

    return are_integers


def _list_of(convert: Convert) -> Convert:
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


def typed_array(item: Tagged) -> np.ndarray[Any, Any]:
    """The numbers of an RFC 8746 typed array; raises IllTyped for any other item."""
    name = TYPED_ARRAYS.get(item.tag)
    if name is None or not isinstance(item.item, bytes) or len(item.item) % np.dtype(name).itemsize:
        raise IllTyped("a typed array (tag 70 or 71) or a plain array", f"tag {item.tag}")
    return np.frombuffer(item.item, dtype=np.dtype(name))


def _map(inner: Form) -> Form:
    def each(convert: Convert) -> Convert:
        def apply(values: Any) -> dict[str, Any]:
            if type(values) is not dict:
                raise IllTyped("an object", values)
            done = {}
            for key, value in values.items():
                text(key)
                try:
                    done[key] = convert(value)
                except IllTyped as error:
                    raise error.inside(key) from None
            return done

        return apply

    return Form(*map(each, _conversions(inner)))


def _conversions(form: Form) -> tuple[Convert, ...]:
    return (form.check, form.to_native, form.from_native, form.to_cbor, form.from_cbor)


def _struct(struct_: Struct) -> Form:
    columns = {member.name: _conversions(form_of(member.type)) for member in struct_.fields}
    volatile = frozenset(member.name for member in struct_.fields if member.volatile)
    required = tuple(member.name for member in struct_.fields if not member.optional)

    def each(column: int, left_out: frozenset[str]) -> Convert:
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
                    if name in left_out:  # a record has no values that differ from run to run
                        raise IllTyped(error.expected, f"a {type(error.found).__name__}", (name, *error.path)) from None
                    raise error.inside(name) from None
                if name not in left_out:
                    done[name] = converted
            for name in required:
                if name not in values:
                    raise IllTyped("this field, which is missing", "nothing", (name,))
            return done

        return apply

    return Form(*(each(column, volatile if column in (_CHECK, _FROM_CBOR) else frozenset()) for column in range(5)))
