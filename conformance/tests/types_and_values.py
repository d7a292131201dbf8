"""Random types, and random native values of a type, for property tests."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from hypothesis import strategies as st

from conformance.contract.types import (
    FIXED_BYTES,
    FLOAT_BYTES,
    INTEGER_RANGES,
    SCALARS,
    TENSOR_DTYPES,
    Enum,
    Field,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Tensor,
    Type,
    Value,
)

names = st.text("abcdefgh_", min_size=1, max_size=6)
texts = st.text(max_size=12)  # without surrogates, by default
_PACK = {2: ">e", 4: ">f", 8: ">d"}


def _structs(types: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    fields = st.builds(Field, name=names, type=types, optional=st.booleans())
    return st.lists(fields, max_size=4, unique_by=lambda field: field.name).map(lambda found: Struct(tuple(found)))


types: st.SearchStrategy[Type] = st.recursive(
    st.one_of(
        st.sampled_from(sorted(SCALARS)).map(Scalar),
        st.lists(texts, min_size=1, max_size=3, unique=True).map(lambda values: Enum(tuple(values))),
        st.sampled_from([None, *sorted(TENSOR_DTYPES)]).map(Tensor),
        st.just(Value()),
    ),
    lambda inner: st.one_of(inner.map(ListOf), inner.map(MapOf), _structs(inner)),
    max_leaves=6,
)


def self_describing() -> st.SearchStrategy[Any]:
    """Native values of the type `value`."""
    return st.recursive(
        st.one_of(
            st.none(), st.booleans(), st.integers(-(2**64), 2**64 - 1), st.floats(), texts, st.binary(max_size=9)
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(texts, inner, max_size=4),
            st.lists(st.tuples(st.integers(0, 9), inner), min_size=1, max_size=3).map(tuple),
        ),
        max_leaves=8,
    )


def scalars(name: str) -> st.SearchStrategy[Any]:
    """Native values of a scalar."""
    if name == "bool":
        return st.booleans()
    if name == "string":
        return texts
    if name in INTEGER_RANGES:
        return st.integers(*INTEGER_RANGES[name])
    if name in FLOAT_BYTES:
        width = FLOAT_BYTES[name]
        return st.binary(min_size=width, max_size=width).map(lambda bits: struct.unpack(_PACK[width], bits)[0])
    size = FIXED_BYTES.get(name)
    return st.binary(min_size=size or 0, max_size=40 if size is None else size)


@st.composite
def tensors(draw: st.DrawFn, dtype: str | None) -> np.ndarray[Any, Any]:
    """Arrays of a dtype, of any where it is None."""
    name = dtype or draw(st.sampled_from(sorted(TENSOR_DTYPES)))
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    count = int(np.prod(shape))
    if name == "bool":
        return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool).reshape(shape)
    size = count * np.dtype(name).itemsize
    return np.frombuffer(draw(st.binary(min_size=size, max_size=size)), name).reshape(shape)


def values(type_: Type) -> st.SearchStrategy[Any]:
    """Native values of a type."""
    match type_:
        case Scalar(name):
            return scalars(name)
        case Enum(words):
            return st.sampled_from(words)
        case ListOf(item):
            return st.lists(values(item), max_size=5)
        case MapOf(item):
            return st.dictionaries(texts, values(item), max_size=4)
        case Tensor(dtype):
            return tensors(dtype)
        case Value():
            return self_describing()
        case Struct():
            required = {field.name: values(field.type) for field in type_.fields if not field.optional}
            optional = {field.name: values(field.type) for field in type_.fields if field.optional}
            return st.fixed_dictionaries(required, optional=optional)


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[Type, Any]:
    """A type and a native value of it."""
    type_ = draw(types)
    return type_, draw(values(type_))
