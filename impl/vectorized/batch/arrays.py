"""Numbers and times as the model reads them: z-scores and cyclic pairs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

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


HOME: Final = Path(__file__).resolve().parents[3]
FOLDERS: Final = ("spec", "conformance/_data/spec")  # of a checkout, of an installed copy
DAY: Final = 86_400_000_000  # microseconds
WIDTH: Final = 15


def scores(values: AnyArray, mean: AnyArray | float, deviation: AnyArray | float) -> Singles:
    """Return f32((f64(values) - mean) / deviation), 0 where the deviation is 0; infinite where out of range."""
    with np.errstate(all="ignore"):
        scaled = (values.astype(np.float64) - mean) / deviation
        return np.where(np.equal(deviation, 0), 0, scaled).astype(np.float32)


@cache
def pairs() -> tuple[Singles, ...]:
    """Return for each of the seven fields its (sin, cos) pairs, shape (period, 2)."""
    files = [HOME / folder / "batch" / "tables" / "cyclic.json" for folder in FOLDERS]
    text = next(file for file in files if file.is_file()).read_text("utf-8")
    tables = []
    for table in json.loads(text)["tables"]:
        words = [bytes.fromhex("".join(table[part])) for part in ("sin", "cos")]
        tables.append(np.stack([np.frombuffer(part, ">f4") for part in words], axis=1).astype(np.float32))
    return tuple(tables)


def cyclic(microseconds: Indices) -> Singles:
    """Return the seven pairs of each time in microseconds UTC, shape (n, 14)."""
    days, rest = np.divmod(microseconds, DAY)
    seconds = rest // 1_000_000
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    years = dates.astype("datetime64[Y]")
    fields = (
        seconds % 60,
        seconds // 60 % 60,
        seconds // 3600,
        (days + 3) % 7,
        (dates - months.astype("datetime64[D]")).astype(np.int64),
        (months - years.astype("datetime64[M]")).astype(np.int64),
        (dates - years.astype("datetime64[D]")).astype(np.int64),
    )
    out = np.empty((len(microseconds), 14), np.float32)
    for place, (table, field) in enumerate(zip(pairs(), fields, strict=True)):
        out[:, 2 * place : 2 * place + 2] = table[field]
    return out
