"""A column's stored values as the values of its semantic type."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from hashlib import shake_256
from math import fsum, isfinite, sqrt
from typing import Final, Protocol

from impl.reference.batch.load.source import Kind, Stored, refusal

FORM: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[ T]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d{2}:[0-5]\d)?)?",
    re.ASCII,
)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


def parse_time(text: str) -> int | None:
    """Return the microseconds of a date or of a date and time, None where the text is none or there is no such day.

    A time without an offset is UTC. Seconds may be missing; a fraction has one to six digits.
    """
    match = FORM.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = match.groups("")
    try:
        on = date(int(year), int(month), int(day))
        at = time(int(hour or 0), int(minute or 0), int(second or 0), int(fraction.ljust(6, "0")))
        moment = datetime.combine(on, at, zone_of(offset))
    except ValueError:
        return None
    return (moment - EPOCH) // MICROSECOND


def zone_of(offset: str) -> timezone:
    """Return the zone of an offset; ValueError for a day or more."""
    if offset in ("", "Z"):
        return UTC
    shift = timedelta(hours=int(offset[1:3]), minutes=int(offset[4:6]))
    return timezone(-shift if offset[0] == "-" else shift)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Hold the mean and the standard deviation of the values that are not NULL; both 0 if there are none."""

    mean: float
    deviation: float


def statistics_of(values: Sequence[float], column: str) -> Statistics:
    """Return mean = fsum(x) / n and deviation = sqrt(fsum((x - mean)^2) / n), in binary64.

    NON_FINITE where a value or a result is not finite.
    """
    if not all(isfinite(value) for value in values):
        raise refusal("NON_FINITE", f"{column}: a value is not finite")
    count = len(values)
    if count == 0:
        return Statistics(0.0, 0.0)
    try:
        mean = fsum(values) / count
        deviation = sqrt(fsum((value - mean) * (value - mean) for value in values) / count)
    except OverflowError:
        raise refusal("NON_FINITE", f"{column}: the sum of its values is not finite") from None
    if not (isfinite(mean) and isfinite(deviation)):
        raise refusal("NON_FINITE", f"{column}: its deviation is not finite")
    return Statistics(mean, deviation)


DOMAIN: Final = b"tallystick.text_embedding_v1\0"
DIMENSION: Final = 256


class Embedder(Protocol):
    """Turn texts into vectors; the same text must always give the same bytes."""

    dimension: int

    def embed(self, texts: Sequence[str]) -> bytes:
        """Return the float16 numbers of each text, one after the other, little-endian."""


class HashEmbedder:
    """Embed a text by its hash: deterministic and without meaning, for tests and first use.

    Number k is (u >> 5) / 1024 - 1, u being the k-th little-endian 16-bit word of SHAKE-256 over the domain and the
    text's UTF-8 bytes: eleven bits, exact in float16, in [-1, 1).
    """

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> bytes:
        """Return the float16 numbers of each text, one after the other, little-endian."""
        return b"".join(self._vector(text) for text in texts)

    def _vector(self, text: str) -> bytes:
        digest = shake_256(DOMAIN + text.encode("utf-8")).digest(2 * self.dimension)
        words = struct.unpack(f"<{self.dimension}H", digest)
        return struct.pack(f"<{self.dimension}e", *((word >> 5) / 1024 - 1 for word in words))


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
    """Return integers as they are; if any value is no integer, each value's number by first occurrence."""
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
    return [0.0 if value is None else float(value) for value in values]


def times(values: Sequence[Stored], unit: str | None, column: str) -> list[int]:
    """Return microseconds UTC, 0 at a NULL: texts in ISO 8601, or integers that count a unit since 1970."""
    found = [time_of(value, unit) for value in values]
    for value, micros in zip(values, found, strict=True):
        if value is not None and not (isinstance(micros, int) and MIN_INT64 <= micros <= MAX_INT64):
            raise refusal("CONTRACT_VIOLATION", f"{column}: {value!r} is no time")
    return [time if isinstance(time, int) else 0 for time in found]


def time_of(value: Stored, unit: str | None) -> int | None:
    """Return the microseconds of a stored time, None where it is none: a text has no unit, an integer must have one."""
    if isinstance(value, str):
        return parse_time(value) if unit is None else None
    if not isinstance(value, int) or unit is None:
        return None
    if unit == "year":
        return parse_time(f"{value:04}-01-01") if 1 <= value <= 9999 else None
    return value // 1000 if unit == "ns" else value * MICROSECONDS[unit]


# What an integer may count: these since 1970-01-01 00:00 UTC, or nanoseconds, of which whole microseconds are kept, or
# years of the calendar, each of which is its first moment.
MICROSECONDS: Final = {"day": 86_400_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
UNITS: Final = ("year", *MICROSECONDS, "ns")


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
