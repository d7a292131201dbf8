"""Timestamps as fifteen numbers, and the tables that they are computed with."""

import json
import struct
from fractions import Fraction
from pathlib import Path

import pytest

from impl.reference.batch.timestamps import cyclic_tables

FILE = Path(__file__).parents[3] / "spec" / "batch" / "tables" / "cyclic.json"
PERIODS = {"second": 60, "minute": 60, "hour": 24, "weekday": 7, "day_of_month": 31, "month": 12, "day_of_year": 366}
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
