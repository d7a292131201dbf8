"""The mean and the deviation of a column, whatever the order of its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isfinite, sqrt

from impl.reference.batch.load.refusal import refusal


@dataclass(frozen=True, slots=True)
class Statistics:
    """Hold the mean and the standard deviation of the values that are not NULL; both 0 where there are none."""

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
