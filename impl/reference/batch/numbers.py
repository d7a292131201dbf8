"""Numbers as the tensors hold them."""

import struct
from math import isfinite


def to_float32(number: float) -> float:
    """Return the nearest binary32 number, ties to even; infinite where it is out of range."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def z_score(value: float, mean: float, deviation: float) -> float:
    """Return f32((f64(value) - mean) / deviation), 0 where the deviation is 0.

    Each operation is one of IEEE binary64 and only the last result is rounded to binary32 (seed 004 §2; completion of
    requirement B16).
    """
    if deviation == 0:
        return 0.0
    return to_float32((float(value) - mean) / deviation)


def is_finite_score(value: float, mean: float, deviation: float) -> bool:
    """Return whether a value has a finite z-score."""
    return isfinite(z_score(value, mean, deviation))
