"""A column's stored values as the values of its semantic type."""

from collections.abc import Sequence

from impl.reference.batch.load.iso_time import parse_time
from impl.reference.batch.load.refusal import refusal
from impl.reference.batch.load.source import Kind, Stored

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1


def check_kind(values: Sequence[Stored], kind: Kind, column: str) -> None:
    """Refuse values that do not fit the declared type, which a table that is not STRICT may hold."""
    for value in values:
        if value is not None and not fits(value, kind):
            raise refusal("CONTRACT_VIOLATION", f"{column}: {value!r} does not fit its declared type ({kind})")


def fits(value: Stored, kind: Kind) -> bool:
    """Return whether a value fits its column's declared type."""
    match kind:
        case "integer" | "boolean" | "microseconds":
            return isinstance(value, int)
        case "real" | "numeric":
            return isinstance(value, int | float)
        case "text" | "enum":
            return isinstance(value, str)
        case "temporal":
            return isinstance(value, int | float | str)
    return True


def identifiers(values: Sequence[Stored]) -> list[int]:
    """Return integers as they are; where there is anything else, each value's number by first occurrence."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, int) and MIN_INT64 <= value <= MAX_INT64 for value in present):
        return [value if isinstance(value, int) else 0 for value in values]
    numbers: dict[Stored, int] = {}
    for value in present:
        numbers.setdefault(value, len(numbers))
    return [0 if value is None else numbers[value] for value in values]


def numbers(values: Sequence[Stored], column: str) -> list[float]:
    """Return numbers in binary64, 0 at a NULL."""
    if any(isinstance(value, str | bytes) for value in values):
        raise refusal("CONTRACT_VIOLATION", f"{column}: a value is no number")
    return [float(value or 0) for value in values]


def times(values: Sequence[Stored], column: str) -> list[int]:
    """Return microseconds UTC, 0 at a NULL: texts in ISO 8601, or integers that are microseconds already."""
    found = [parse_time(value) if isinstance(value, str) else value for value in values]
    for value, time in zip(values, found, strict=True):
        if value is not None and not (isinstance(time, int) and MIN_INT64 <= time <= MAX_INT64):
            raise refusal("CONTRACT_VIOLATION", f"{column}: {value!r} is no time")
    return [time if isinstance(time, int) else 0 for time in found]


def flags(values: Sequence[Stored], column: str) -> list[bool]:
    """Return booleans stored as 0 and 1, false at a NULL."""
    if any(value is not None and not (isinstance(value, int) and value in (0, 1)) for value in values):
        raise refusal("CONTRACT_VIOLATION", f"{column}: a value is neither 0 nor 1")
    return [value == 1 for value in values]


def categories_of(values: Sequence[Stored], column: str) -> list[str]:
    """Return the distinct categories in the order of their UTF-8 bytes; an integer counts as its decimal digits."""
    if any(isinstance(value, float | bytes) for value in values):
        raise refusal("CONTRACT_VIOLATION", f"{column}: a category is neither a text nor an integer")
    return sorted({str(value) for value in values if value is not None}, key=lambda name: name.encode("utf-8"))


def texts(values: Sequence[Stored], column: str) -> list[str | None]:
    """Return texts, None at a NULL."""
    if any(value is not None and not isinstance(value, str) for value in values):
        raise refusal("CONTRACT_VIOLATION", f"{column}: a value is no text")
    return [value if isinstance(value, str) else None for value in values]
