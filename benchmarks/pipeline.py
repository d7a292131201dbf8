"""Measure a consumer's get_batch against copying the same rows: `python benchmarks/pipeline.py`.

Files are written by a provider and read once. Then batches are taken from a warm file, and the same rows are copied out
of arrays in memory, by turns in the same process. The promise: get_batch costs at most 20 us more than 1.2 copies. With
torch installed, the codec pt is measured as well. Each figure is that of the best of several rounds.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from impl.reference.pipeline.consumer import DatasetConsumer
from impl.reference.pipeline.provider import DataProviderBase, FileRandom

ROUNDS, BATCHES = 30, 5
ALLOWED_SECONDS, ALLOWED_COPIES = 20e-6, 1.2
SHAPES = {"8 x 16": (8, 16), "32 x 256": (32, 256), "64 x 1,024": (64, 1024)}


class Spans(DataProviderBase):
    """Random x and y of one size."""

    def build_meta(self) -> dict[str, Any]:
        shape = [self.config.block_size]
        fields = [{"name": name, "dtype": "int64", "shape": shape} for name in ("x", "y")]
        split_info: dict[str, Any] = {"train": {}, "val": {}}
        return {
            "dataset_name": "spans",
            "training_type": "SEQUENCE_SCORING",
            "batch_schema": fields,
            "split_info": split_info,
        }

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        made = np.random.default_rng(rng.file_seed)
        shape = (self.config.batch_size, self.config.block_size or 0)
        return {name: made.integers(0, 1000, shape) for name in ("x", "y")}


def seconds_of(*actions: Callable[[], object]) -> list[float]:
    """Return the seconds that each action takes in its best round of BATCHES; every round asks all of them by turns."""
    best = [float("inf")] * len(actions)
    for _ in range(ROUNDS):
        for k, action in enumerate(actions):
            since = time.perf_counter()
            for _ in range(BATCHES):
                action()
            best[k] = min(best[k], (time.perf_counter() - since) / BATCHES)
    return best


def measure(codec: str, batch_size: int, block_size: int) -> tuple[float, float, float]:
    """Return the seconds of a warm get_batch, of copying its rows, and of loading the file with the first one."""
    with tempfile.TemporaryDirectory() as folder:
        provider = Spans(folder, batch_size, block_size, batches_per_file=ROUNDS * BATCHES + 2, codec=codec)
        provider.open(["train"])
        provider.turn("train", 1)
        consumer = DatasetConsumer(folder, codec=codec)
        since = time.perf_counter()
        consumer.get_batch("train")
        load = time.perf_counter() - since
        # As many rows as the file has, and memory like that of the file, so that the copies are as cold as the batches:
        # memory that was never written to is one page of zeros, and NumPy's own is of huge pages.
        rows = (ROUNDS * BATCHES + 2) * batch_size
        content = [bytearray(b"\7" * (8 * rows * block_size)) for _ in "xy"]
        held: list[Any] = [np.frombuffer(part, np.int64).reshape(rows, block_size) for part in content]
        if codec == "pt":
            from torch import from_numpy

            held = [from_numpy(array) for array in held]
        at = 0

        def copy() -> None:
            nonlocal at
            # A batch has all its fields at once, so the copies live as long as each other.
            parts = [array[at : at + batch_size] for array in held]
            _ = [part.clone() if codec == "pt" else part.copy() for part in parts]
            at += batch_size

        taken, copied = seconds_of(lambda: consumer.get_batch("train"), copy)
        return taken, copied, load


def main() -> int:
    """Print the figures; with --check 1 where the promise is broken."""
    kept = True
    print(f"{'codec':<6}{'batch':<12}{'get_batch':>12}{'copy':>12}{'x copy':>9}{'over 1.2 copies':>18}{'loading':>15}")
    for codec in ["npz", *(["pt"] if find_spec("torch") else [])]:
        for name, shape in SHAPES.items():
            taken, copied, load = measure(codec, *shape)
            over = taken - ALLOWED_COPIES * copied
            kept &= over <= ALLOWED_SECONDS
            print(
                f"{codec:<6}{name:<12}{taken * 1e6:>9.1f} us{copied * 1e6:>9.1f} us{taken / copied:>9.2f}"
                f"{over * 1e6:>15.1f} us{load * 1e3:>12.1f} ms"
            )
    print(f"get_batch costs at most 20 us and 1.2 copies of its rows: {'kept' if kept else 'NOT KEPT'}")
    return 0 if kept or "--check" not in sys.argv[1:] else 1


if __name__ == "__main__":
    sys.exit(main())
