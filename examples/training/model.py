"""A small network on two half-moons; what its samples give is added up as integers, so that no order matters."""

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Sums = npt.NDArray[np.int64]

POINTS = 200
HIDDEN = 8
UNIT = 2.0**-40  # what an integer of a sum counts: 2^23 fits above it, and a gradient here is below 10
RATE = 0.3
MOMENTUM = 0.7


def point(sample: int) -> tuple[Floats, float]:
    """Return a point of the plane and its class, 0 or 1: the upper half-moon or the lower one."""
    angle = math.pi * (sample // 2 * 37 % 100) / 99
    shake = 0.2 * math.sin(97.0 * sample)
    if sample % 2:
        return np.array([1 - math.cos(angle) + shake, 0.5 - math.sin(angle) - shake]), 1.0
    return np.array([math.cos(angle) + shake, math.sin(angle) - shake]), 0.0


def first_weights() -> Floats:
    """Return the weights that a run begins with, shape (4 * HIDDEN + 1,)."""
    return np.array([0.7 * math.sin(1.0 + 3.0 * place) for place in range(4 * HIDDEN + 1)])


def loss_and_gradient(weights: Floats, sample: int) -> tuple[float, Floats]:
    """Return the logistic loss of one sample and its gradient.

    One sample at a time: the shapes, and so the roundings, are the same however many samples a rank has.
    """
    inner, bias, outer = np.split(weights, [2 * HIDDEN, 3 * HIDDEN])
    x, y = point(sample)
    hidden = np.tanh(inner[::2] * x[0] + inner[1::2] * x[1] + bias)
    z = float((outer[:-1] * hidden).sum() + outer[-1])
    loss = max(z, 0.0) - z * y + math.log1p(math.exp(-abs(z)))
    slope = 1 / (1 + math.exp(-z)) - y
    back = slope * outer[:-1] * (1 - hidden * hidden)
    return loss, np.concatenate([np.outer(back, x).ravel(), back, slope * hidden, [slope]])


def sums_of(weights: Floats, samples: Iterable[int]) -> Sums:
    """Return the loss and the gradient of some samples, added up in units of 2^-40, shape (4 * HIDDEN + 2,).

    The sum of floats depends on their order, and so on the number of ranks. The sum of integers does not.
    """
    total = np.zeros(4 * HIDDEN + 2, np.int64)
    for sample in samples:
        loss, gradient = loss_and_gradient(weights, sample)
        total += np.rint(np.array([loss, *gradient]) / UNIT).astype(np.int64)
    return total


def updated(weights: Floats, velocity: Floats, sums: Sums, count: int) -> tuple[float, Floats, Floats]:
    """Return the mean loss of a batch of `count` samples, and weights and velocity after a step of momentum."""
    means = sums * UNIT / count
    velocity = MOMENTUM * velocity - RATE * means[1:]
    return float(means[0]), weights + velocity, velocity
