"""Lists of stored values as the arrays of columns."""

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from typing import Any

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags
from impl.vectorized.batch.front.faults import refuse
from impl.vectorized.batch.front.schema import Field
from impl.vectorized.batch.front.times import microseconds
from impl.vectorized.batch.model import Column
from impl.vectorized.batch.records import SemanticType

NONE = type(None)
ALLOWED: Mapping[str, set[type]] = {
    "integer": {int},
    "boolean": {int},
    "microseconds": {int},
    "real": {int, float},
    "numeric": {int, float},
    "text": {str},
    "enum": {str},
    "temporal": {int, float, str},
    "any": {int, float, str, bytes},
}


def column_of(
    place: str, field: Field, kind: SemanticType, values: Sequence[Any], texts: dict[str, int], categories: int
) -> Column:
    """Return a column of its stored values; CONTRACT_VIOLATION or NON_FINITE where they do not fit.

    `texts` numbers every text of the column; the column's categories begin at `categories`.
    """
    nulls = np.array([value is None for value in values], np.bool_)
    held = set(map(type, values)) - {NONE}
    if kind == "ignored":
        return Column(field.name, kind, np.zeros(len(values), np.uint8), nulls)
    if not held <= ALLOWED[field.declared]:
        raise refuse("CONTRACT_VIOLATION", f"{place}: values do not fit the declared type {field.declared}")
    match kind:
        case "identifier":
            return Column(field.name, kind, _identifiers(values, held), nulls)
        case "numerical" if held <= {int, float}:
            numbers = np.array([0.0 if value is None else float(value) for value in values], np.float64)
            return Column(field.name, kind, numbers, nulls, *_moments(place, numbers[~nulls]))
        case "timestamp" if held <= {int, str}:
            times = _times(place, values)
            return Column(field.name, kind, times, nulls, *_moments(place, times[~nulls].astype(np.float64)))
        case "boolean" if {None, 0, 1}.issuperset(values) and held <= {int}:
            return Column(field.name, kind, np.array([value == 1 for value in values], np.bool_), nulls)
        case "categorical" if held <= {int, str}:
            named = [None if value is None else str(value) for value in values]
            names = sorted({name for name in named if name is not None}, key=str.encode)
            number: dict[str | None, int] = {name: i for i, name in enumerate(names)} | {None: 0}
            indices = np.array([number[name] for name in named], np.uint32)
            return Column(field.name, kind, indices, nulls, cat_emb_start=categories, categories=names)
        case "text" if held <= {str}:
            ids = np.array([0 if value is None else texts[value] for value in values], np.uint32)
            return Column(field.name, kind, ids, nulls)
    raise refuse("CONTRACT_VIOLATION", f"{place}: values are no {kind}")


def number_texts(columns: Sequence[Sequence[Any]], texts: dict[str, int]) -> None:
    """Number the texts of several columns, row by row, that have no number yet."""
    for row in zip(*columns, strict=True):
        for value in row:
            if type(value) is str and value not in texts:
                texts[value] = len(texts)


def _identifiers(values: Sequence[Any], held: set[type]) -> AnyArray:
    if held <= {int} and all(value is None or -(1 << 63) <= value < 1 << 63 for value in values):
        return np.array([value or 0 for value in values], np.int64)
    seen: dict[Any, int] = {}
    for value in values:
        if value is not None:
            seen.setdefault(value, len(seen))
    return np.array([0 if value is None else seen[value] for value in values], np.int64)


def _times(place: str, values: Sequence[Any]) -> AnyArray:
    read = {value: microseconds(value) if isinstance(value, str) else value for value in set(values) - {None}}
    for value, time in read.items():
        if time is None or not -(1 << 63) <= time < 1 << 63:
            raise refuse("CONTRACT_VIOLATION", f"{place}: {value!r} is no time")
    return np.array([0 if value is None else read[value] for value in values], np.int64)


def _moments(place: str, present: AnyArray) -> tuple[float, float]:
    """Return the mean and the deviation, from sums that are rounded once."""
    if not len(present):
        return 0.0, 0.0
    finite: Flags = np.isfinite(present)
    try:
        mean = fsum(present.tolist()) / len(present) if finite.all() else float("nan")
        with np.errstate(over="ignore"):
            apart = present - mean
            squares = apart * apart
        deviation = sqrt(fsum(squares.tolist()) / len(present))
    except OverflowError:
        deviation = mean = float("inf")
    if not np.isfinite([mean, deviation]).all():
        raise refuse("NON_FINITE", f"{place}: its values have no finite mean and deviation")
    return mean, deviation
