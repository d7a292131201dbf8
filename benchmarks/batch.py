"""Measure the vectorized batch builder against copying its tensors: `python benchmarks/batch.py`.

A shop of 10^6 rows is written as a SQLite file and opened in one pass. Then batches of 32 seeds and 1,024 positions are
built at a past time. Each step's figure is the best of several rounds, also given as a ratio to the yardstick, which is
copying the batch's tensors in the same process. With `--check` the exit status is 1 where a promise is broken.
"""

import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.batch.shop import DECLARATION, Size, write_shop
from impl.library.batch import open_database
from impl.vectorized.batch import Builder, Limits, flatten
from impl.vectorized.batch.adjacency import edges_of, orders
from impl.vectorized.batch.builder import TrainingBatch
from impl.vectorized.batch.collect import lay_end_to_end
from impl.vectorized.batch.linearize import linearize

SIZE = Size(customers=100_000, products=10_000, orders=300_000, items=500_000, reviews=90_000)
SEEDS, LENGTH, ROUNDS = 32, 1024, 15
MUST, TARGET = 100, 40
GROWTH = 1.5  # of the memory for a cell, from the shortest sequence to the longest
NOW = 1_690_000_000_000_000  # microseconds: in the middle of the shop's orders
Result = TypeVar("Result")


class Best:
    """Keep the best time of each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, step: str, action: Callable[[], Result]) -> Result:
        """Return what the action returns, and keep its time."""
        since = time.perf_counter()
        result = action()
        self.seconds[step] = min(self.seconds.get(step, float("inf")), time.perf_counter() - since)
        return result


def opened(folder: Path) -> Builder:
    """Write the shop, open it in one pass and show the progress."""
    file = folder / "shop.db"
    since = time.perf_counter()
    write_shop(file, SIZE)
    print(f"wrote {SIZE.rows():,} rows in {time.perf_counter() - since:.1f} s")
    since = time.perf_counter()
    database = open_database(file, DECLARATION, progress=lambda table, rows: show(f"{table}: {rows:,} rows"))
    show(f"opened in {time.perf_counter() - since:.1f} s, one pass")
    print()
    since = time.perf_counter()
    builder = Builder(flatten(database))
    print(f"flattened in {time.perf_counter() - since:.1f} s")
    return builder


def show(text: str) -> None:
    """Print over the last line."""
    print(f"\r{text:<60}", end="", flush=True)


def measure(builder: Builder, limits: Limits) -> tuple[Best, TrainingBatch]:
    """Build batches of random seeds, whole and step by step."""
    chance, best = np.random.default_rng(7), Best()
    flat, target = builder.flat, builder.target("orders", "total")
    for _ in range(ROUNDS):
        seeds: list[int] = chance.integers(0, SIZE.orders, SEEDS).tolist()
        times = [NOW] * SEEDS
        walks = best.timed("collect rows", lambda: builder.collect(target, seeds, times, limits))  # noqa: B023
        rows = lay_end_to_end(walks)
        cells = best.timed("linearize cells", lambda: linearize(flat.cells, rows, LENGTH))  # noqa: B023
        edges = best.timed("find keys", lambda: edges_of(flat.keys.parents, rows))  # noqa: B023
        best.timed("fk_adj", lambda: edges.matrix())  # noqa: B023
        best.timed(
            "permutations",
            lambda: orders(cells.column_ids, cells.seq_row_ids, cells.is_padding, edges),  # noqa: B023
        )
        best.timed("texts", lambda: builder.texts(cells))  # noqa: B023
        batch = best.timed("whole batch", lambda: builder.batch(target, seeds, times, limits))  # noqa: B023
        tensors = [getattr(batch, field.name) for field in fields(batch)]
        best.timed("copy", lambda: [tensor.copy() for tensor in tensors])  # noqa: B023
    return best, batch


def peak_memory(builder: Builder, length: int) -> int:
    """Return the bytes that one batch needs at its peak."""
    target = builder.target("orders", "total")
    tracemalloc.start()
    builder.batch(target, list(range(SEEDS)), [None] * SEEDS, Limits(length))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> int:
    """Measure and print every figure; with --check 1 where a limit is missed."""
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        builder = opened(Path(folder))
    for name, limits in (("all children", Limits(LENGTH)), ("16 children, 4 hops", Limits(LENGTH, 4, None, 16))):
        best, batch = measure(builder, limits)
        copy = best.seconds.pop("copy")
        size = sum(getattr(batch, field.name).nbytes for field in fields(batch))
        print(f"\n{name}: B = {SEEDS}, S = {LENGTH}, R = {batch.fk_adj.shape[1]}, {size / 1e6:.1f} MB of tensors, "
              f"{batch.is_padding.mean():.0%} padding; yardstick: copying them {copy * 1e3:.2f} ms")  # fmt: skip
        for step, seconds in best.seconds.items():
            print(f"  {step:<18}{seconds * 1e3:>9.2f} ms{seconds / copy:>9.1f} x copy")
        ratio = best.seconds["whole batch"] / copy
        verdict = "met" if ratio <= TARGET else "missed"
        kept &= ratio <= MUST
        print(f"  limit {MUST} x: {'met' if ratio <= MUST else 'MISSED'}; target {TARGET} x: {verdict}")
    lengths = (256, 512, 1024, 2048)
    peaks = [peak_memory(builder, length) for length in lengths]
    per_cell = ", ".join(f"S = {n}: {peak / (SEEDS * n):.0f}" for n, peak in zip(lengths, peaks, strict=True))
    grows = peaks[-1] * lengths[0] / (peaks[0] * lengths[-1])
    kept &= grows <= GROWTH
    met = "met" if grows <= GROWTH else "MISSED"
    print(f"\npeak memory of a batch in bytes per cell: {per_cell}; at most {GROWTH} x that of S = {lengths[0]}: {met}")
    return 0 if kept or "--check" not in sys.argv[1:] else 1


if __name__ == "__main__":
    sys.exit(main())
