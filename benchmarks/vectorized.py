"""Measure the vectorized sampler against `np.arange` in the same process: `python benchmarks/vectorized.py`.

Absolute times move from machine to machine, so every figure is also given as a ratio to the yardstick, which is
`np.arange(n, dtype=np.uint64)` for the same number of indices. Each figure is the best of several rounds.
"""

import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from impl.vectorized import Cursor, Sampler
from impl.vectorized.affine import Rows
from impl.vectorized.block_order import Epoch, Placement
from impl.vectorized.next_batch import DEFAULT_BLOCK_SIZE

SMALL, LARGE = 10**8, 10**11
BATCHES = (1_024, 65_536)
ROUNDS = 7


def best(action: Callable[[], object], calls: int) -> float:
    """Return the seconds of one call in the best of several rounds."""
    fastest = float("inf")
    for _ in range(ROUNDS):
        since = time.perf_counter()
        for _ in range(calls):
            action()
        fastest = min(fastest, (time.perf_counter() - since) / calls)
    return fastest


def sampler(cardinality: int, batch: int) -> Sampler:
    """Return a sampler that remembers nothing yet."""
    return Sampler(cardinality=cardinality, global_batch_size=batch, seed_token=bytes(32))


def sequential(cardinality: int, batch: int, steps: int) -> float:
    """Return the seconds of one call of the whole operator, read in order over several blocks."""
    one = sampler(cardinality, batch)
    cursor = one.batch_at().cursor_next

    def step() -> None:
        nonlocal cursor
        cursor = one.batch_at(cursor).cursor_next

    return best(step, steps)


def arithmetic(cardinality: int, batch: int, steps: int) -> float:
    """Return the seconds of the same reading without guards, hashes and records."""
    placement, epoch, at = Placement(Rows()), Epoch(bytes(16), cardinality, DEFAULT_BLOCK_SIZE), 0
    placement.indices(epoch, 0, batch)

    def step() -> None:
        nonlocal at
        at += batch
        placement.indices(epoch, at, at + batch)

    return best(step, steps)


def first_batch(cardinality: int, batch: int, position: int) -> float:
    """Return the seconds until a sampler that remembers nothing gives the batch at a position."""
    return best(lambda: sampler(cardinality, batch).batch_at(Cursor(1, position)), 3)


def extra_memory(cardinality: int, batch: int) -> int:
    """Return the bytes held at the peak of a first batch and a hundred more, across two epochs."""
    tracemalloc.start()
    one = sampler(cardinality, batch)
    for cursor in (Cursor(0, 0), Cursor(1, cardinality // 2)):
        for _ in range(50):
            cursor = one.batch_at(cursor).cursor_next
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def line(figure: str, value: str, ratio: float | None, target: str, met: bool) -> bool:
    """Print one figure and return whether its target is met."""
    beside = "" if ratio is None else f"{ratio:,.2f} x arange"
    print(f"{figure:<44}{value:>14}{beside:>22}   target {target:<34}{'met' if met else 'MISSED'}")
    return met


def main() -> int:
    """Measure and print every figure; with --check 1 where a target is missed."""
    met: list[bool] = []
    yardstick = {n: best(lambda n=n: np.arange(n, dtype=np.uint64), 500) for n in BATCHES}  # type: ignore[misc]
    for n, seconds in yardstick.items():
        print(f"yardstick: np.arange({n:,}) {seconds * 1e6:.2f} us, {seconds / n * 1e9:.2f} ns per index")
    for cardinality, limit in ((SMALL, 0.002), (LARGE, 0.020)):
        for name, position in (("first batch", 0), ("seek to the middle", cardinality // 2)):
            seconds = first_batch(cardinality, 1_024, position)
            met.append(line(
                f"{name}, 1,024 of N = {cardinality:.0e}", f"{seconds * 1e3:.2f} ms", seconds / yardstick[1_024],
                f"under {limit * 1e3:.0f} ms", seconds < limit,
            ))  # fmt: skip
    for cardinality in (SMALL, LARGE):
        seconds = sequential(cardinality, 65_536, 100)
        ratio = seconds / yardstick[65_536]
        met.append(line(
            f"batch of 65,536, N = {cardinality:.0e}", f"{seconds / 65_536 * 1e9:.3f} ns/index", ratio,
            "at most 3 x arange", ratio <= 3,
        ))  # fmt: skip
        seconds = sequential(cardinality, 1_024, 3_000)
        beyond = seconds - arithmetic(cardinality, 1_024, 3_000)
        met.append(line(
            f"batch of 1,024, N = {cardinality:.0e}", f"{seconds * 1e6:.2f} us/call", seconds / yardstick[1_024],
            f"10 us beyond the indices ({beyond * 1e6:.2f})", beyond <= 10e-6,
        ))  # fmt: skip
    peak = extra_memory(LARGE, 65_536)
    met.append(line(f"extra memory, N = {LARGE:.0e}", f"{peak / 1e6:.2f} MB", None, "under 16 MB", peak < 16_000_000))
    return 0 if all(met) or "--check" not in sys.argv[1:] else 1


if __name__ == "__main__":
    sys.exit(main())
