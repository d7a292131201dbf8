"""Timestamps as fifteen numbers, and the tables that they are computed with."""

import json
import struct
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.reference.batch.timestamps import Moment, cyclic_tables, moment_of
from impl.tests.batch.batch_database import agreed, column, database, flat, table
from impl.tests.batch.make_cyclic_tables import FILE, PERIODS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TERMS = 40
# 50 digits after the point; the tables need no more than 13.
TWO_PI = Fraction("6.28318530717958647692528676655900576839433879875021")


def sine(x: Fraction) -> Fraction:
    """The sine of x, to far more digits than binary32 has, as a Taylor series in exact fractions."""
    total, term = Fraction(0), x
    for n in range(1, TERMS):
        total += term
        term = Fraction(round(term * x * x / (2 * n * (2 * n + 1)) * 10**60), 10**60) * -1
    return total


def exact(k: int, period: int, quarter: int) -> Fraction:
    """sin(2 pi (k / period + quarter / 4)) by the symmetries of the first eighth."""
    turn = (Fraction(k, period) + Fraction(quarter, 4)) % 1
    if turn > Fraction(1, 2):
        return -exact_half(turn - Fraction(1, 2))
    return exact_half(turn)


def exact_half(turn: Fraction) -> Fraction:
    near = min(turn, Fraction(1, 2) - turn)
    known = {Fraction(0): Fraction(0), Fraction(1, 4): Fraction(1), Fraction(1, 12): Fraction(1, 2)}
    return known[near] if near in known else sine(near * TWO_PI)


def nearest_binary32(number: Fraction) -> str:
    """The nearest binary32 number in hex, by comparing with both neighbours; there is no tie among irrationals."""
    guess = struct.unpack(">I", struct.pack(">f", float(number)))[0]
    candidates = [guess + step for step in (-1, 0, 1) if 0 <= guess + step <= 0xFFFFFFFF]

    def distance(bits: int) -> Fraction:
        value = struct.unpack(">f", struct.pack(">I", bits))[0]
        return abs(Fraction(value) - number) if abs(value) <= 2 else Fraction(9)

    return f"{min(candidates, key=distance):08x}"


@pytest.mark.parametrize(("place", "field"), list(enumerate(PERIODS)))
def test_the_tables_are_correctly_rounded(place: int, field: str) -> None:
    held = json.loads(FILE.read_text("utf-8"))["tables"][place]
    assert (held["field"], held["period"]) == (field, PERIODS[field])
    for quarter, part in enumerate(("sin", "cos")):
        numbers = [exact(k, PERIODS[field], quarter) for k in range(PERIODS[field])]
        assert held[part] == ["00000000" if number == 0 else nearest_binary32(number) for number in numbers]


def test_exact_zeros_are_positive() -> None:
    zeros = [value for one in cyclic_tables() for part in (one.sin, one.cos) for value in part if value == 0]
    assert len(zeros) == 4 + 4 + 4 + 1 + 1 + 4 + 2
    assert all(struct.pack(">f", zero) == bytes(4) for zero in zeros)


@given(st.integers(-62_135_596_800 * 10**6, 253_402_300_799 * 10**6 + 999_999))
def test_the_fields_are_those_of_the_calendar(microseconds: int) -> None:
    date = EPOCH + timedelta(microseconds=microseconds)
    assert moment_of(microseconds) == Moment(
        date.second, date.minute, date.hour, date.weekday(), date.day - 1, date.month - 1, date.timetuple().tm_yday - 1
    )


def test_the_last_day_of_year_0_which_is_a_leap_year() -> None:
    """`datetime` has no such year."""
    assert moment_of(-62_135_596_800_000_001) == Moment(59, 59, 23, 6, 30, 11, 365)


def encoded(microseconds: int, **scale: float) -> list[float]:
    held: Any = database(table("t", [column("when", "timestamp", [microseconds], **scale)]))
    cells = agreed("Batch.LinearizeCells", {"database": held, "row_ids": [[0]], "sequence_length": 1})
    return flat(cells["timestamp_values"])


def test_the_fifteen_numbers_stand_in_their_order() -> None:
    # 1970-01-04 18:15:30, a Sunday: every pair differs from the others.
    numbers = encoded(((3 * 24 + 18) * 3600 + 15 * 60 + 30) * 10**6, mean=0.0, deviation=1e12)
    fields = (30, 15, 18, 6, 3, 0, 3)
    expected: list[float] = []
    for field, one in zip(fields, cyclic_tables(), strict=True):
        expected += [one.sin[field], one.cos[field]]
    assert numbers[:14] == expected
    assert numbers[14] == struct.unpack("<f", struct.pack("<f", 0.32493))[0]


@pytest.mark.parametrize("microseconds", [-(2**63), -(2**63) + 1, 2**63 - 1, 2**53 + 1, -1])
def test_any_int64_is_a_time_that_both_backends_read_alike(microseconds: int) -> None:
    assert len(encoded(microseconds, mean=1.0, deviation=2.0**40)) == 15
