"""Tensors as arrays, and the array types of the batch operators."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from impl.types import Tensor

Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int8]
Words: TypeAlias = NDArray[np.uint32]
Singles: TypeAlias = NDArray[np.float32]
AnyArray: TypeAlias = NDArray[Any]


def array_of(tensor: Tensor) -> AnyArray:
    """Return a tensor's elements without copying them where the machine is little-endian."""
    return np.frombuffer(tensor.data, np.dtype(tensor.dtype).newbyteorder("<")).reshape(tensor.shape)


def tensor_of(array: AnyArray) -> Tensor:
    """Return an array as a tensor."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return Tensor(array.dtype.name, array.shape, little.tobytes())


def spread(counts: Indices) -> tuple[Indices, Indices]:
    """Return, for runs of these lengths laid end to end, the run of each element and its place in the run."""
    run = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    return run, np.arange(len(run)) - first[run]


def first_of_run(keys: AnyArray) -> Flags:
    """Return where a run of equal neighbours begins."""
    first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def first_places(keys: AnyArray) -> Indices:
    """Return the place of the first occurrence of each key, by ascending key."""
    order = np.argsort(keys, kind="stable")
    return order[first_of_run(keys[order])]
