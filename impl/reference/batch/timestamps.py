"""Timestamps as fifteen numbers: seven cyclic pairs and a z-score."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from impl.reference.batch.tensors import z_score

ROOT: Final = Path(__file__).resolve().parents[3]
# In a checkout the tables are in spec/, in an installed copy beside the harness.
PLACES: Final = (
    ROOT / "spec" / "batch" / "tables" / "cyclic.json",
    ROOT / "conformance" / "_data" / "spec" / "batch" / "tables" / "cyclic.json",
)


@dataclass(frozen=True, slots=True)
class CyclicTable:
    """Hold sin and cos of 2 pi k / period for k = 0 to period - 1, correctly rounded to binary32."""

    field: str
    sin: tuple[float, ...]
    cos: tuple[float, ...]


@cache
def cyclic_tables() -> tuple[CyclicTable, ...]:
    """Return the seven tables in the order of the timestamp's pairs (seed 004 §2)."""
    file = next(place for place in PLACES if place.is_file())
    tables = json.loads(file.read_text("utf-8"))["tables"]
    return tuple(CyclicTable(table["field"], _floats(table["sin"]), _floats(table["cos"])) for table in tables)


def _floats(words: list[str]) -> tuple[float, ...]:
    return tuple(struct.unpack(">f", bytes.fromhex(word))[0] for word in words)


WIDTH: Final = 15
MICROSECONDS_PER_SECOND: Final = 1_000_000
DAYS_PER_ERA: Final = 146_097  # 400 years of the Gregorian calendar
DAYS_TO_EPOCH: Final = 719_162  # from 0001-01-01 to 1970-01-01


@dataclass(frozen=True, slots=True)
class Moment:
    """Hold the seven cyclic fields of a timestamp, each counted from zero; Monday is 0."""

    second: int
    minute: int
    hour: int
    weekday: int
    day_of_month: int
    month: int
    day_of_year: int


def moment_of(microseconds: int) -> Moment:
    """Return the fields of a time in microseconds UTC, in the proleptic Gregorian calendar with floor division."""
    seconds = microseconds // MICROSECONDS_PER_SECOND
    days, second_of_day = divmod(seconds, 86_400)
    year, day_of_year = year_of(days)
    month, day_of_month = month_of(year, day_of_year)
    return Moment(
        second=second_of_day % 60,
        minute=second_of_day // 60 % 60,
        hour=second_of_day // 3600,
        weekday=(days + 3) % 7,
        day_of_month=day_of_month,
        month=month,
        day_of_year=day_of_year,
    )


def year_of(days: int) -> tuple[int, int]:
    """Return the year of a day, counted from 1970-01-01, and the day's number in it, from zero."""
    era, day = divmod(days + DAYS_TO_EPOCH, DAYS_PER_ERA)
    # The last century of an era, and the last year of four, is one day longer than the others.
    century = min(day // 36_524, 3)
    day -= century * 36_524
    four_years, day = divmod(day, 1_461)
    single = min(day // 365, 3)
    day -= single * 365
    return 1 + era * 400 + century * 100 + four_years * 4 + single, day


def month_of(year: int, day_of_year: int) -> tuple[int, int]:
    """Return the month and the day of the month, both from zero."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    month = 0
    while day_of_year >= lengths[month]:
        day_of_year -= lengths[month]
        month += 1
    return month, day_of_year


def encode_timestamp(microseconds: int, mean: float, deviation: float) -> tuple[float, ...]:
    """Return the seven (sin, cos) pairs and the z-scored epoch microseconds, binary32 (seed 004 §2)."""
    moment = moment_of(microseconds)
    encoded: list[float] = []
    for table in cyclic_tables():
        k = getattr(moment, table.field)
        encoded += (table.sin[k], table.cos[k])
    encoded.append(z_score(microseconds, mean, deviation))
    return tuple(encoded)
