"""A provider and a consumer on one root, as laws of the file queue drive them, and what every file must hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from conformance.backend.drive import Call
from conformance.trial.laws.law import Asking, Tools
from conformance.trial.laws.relation import must_equal

PROVIDER: Final = "Pipeline.Provider"
CONSUMER: Final = "Pipeline.Consumer"
METHODS: Final = (
    f"{PROVIDER}.Open",
    f"{PROVIDER}.Produce",
    f"{CONSUMER}.Open",
    f"{CONSUMER}.GetBatch",
    f"{CONSUMER}.Stats",
)
FIELD: Final = "row"
SEED: Final = 1337
_MODULUS: Final = 127


def rows_of(split: str, seq: int, count: int) -> list[int]:
    """The rows of a file, as the contract counts them."""
    seed = ((SEED * 1000003) ^ crc32(split.encode()) ^ seq) % 2**64
    return [(seed + crc32(FIELD.encode()) + k) % _MODULUS for k in range(count)]


def batches_of(rows: list[int], size: int) -> list[list[int]]:
    """The batches of a file: the short last one is repeated in a circle."""
    slices = [rows[at : at + size] for at in range(0, len(rows), size)]
    return [[part[k % len(part)] for k in range(size)] for part in slices]


@dataclass(frozen=True, slots=True)
class Queue:
    """One root: the provider's sizes and the consumer's."""

    tools: Tools
    root: Path
    batch_size: int
    batches_per_file: int
    backlog: int
    size: int
    cache_files: int = 1

    @property
    def rows_per_file(self) -> int:
        """The rows of every file."""
        return self.batch_size * self.batches_per_file

    def open_provider(self) -> Asking[str]:
        """A new provider; its handle."""
        field = {"name": FIELD, "dtype": "uint8", "shape": []}
        meta = {
            "dataset_name": "rows",
            "training_type": "CLASSIFICATION",
            "batch_size": self.batch_size,
            "batch_schema": [field],
            "split_info": {"train": {}, "val": {}},
        }
        config = {
            "batch_size": self.batch_size,
            "batches_per_file": self.batches_per_file,
            "max_backlog_files": self.backlog,
            "sleep_seconds": 1.0,
            "seed": SEED,
            "verbose": False,
            "codec": "npz",
            "sampler": "counting",
            "meta": meta,
        }
        (opened,) = yield from self.tools.ask([self.call(f"{PROVIDER}.Open", root=str(self.root), config=config)])
        return str(opened["handle"])

    def produce(self, handle: str, split: str, now_ms: int) -> Asking[bool]:
        """Whether a turn of the loop made a file; the file stands where the answer says."""
        call = self.call(f"{PROVIDER}.Produce", handle=handle, split=split, now_ms=now_ms)
        before = self.visible(split)
        (turn,) = yield from self.tools.ask([call])
        made = [f"queue/{split}/{name}" for name in self.visible(split) if name not in before]
        must_equal(made, [turn["path"]] if turn["produced"] else [], "the files of a turn", call)
        return bool(turn["produced"])

    def open_consumer(self) -> Asking[str]:
        """A new consumer; its handle."""
        config = {
            "prefer_queue": True,
            "cache_files": self.cache_files,
            "high_watermark": 1,
            "low_watermark": 0,
            "codec": "npz",
            "batch_size": self.size,
        }
        (opened,) = yield from self.tools.ask([self.call(f"{CONSUMER}.Open", root=str(self.root), config=config)])
        return str(opened["handle"])

    def get(self, handle: str, split: str) -> Call:
        """The call for a batch that does not wait."""
        return self.call(f"{CONSUMER}.GetBatch", handle=handle, split=split, timeout_ms=0)

    def batch(self, handle: str, split: str) -> Asking[list[int]]:
        """The rows of the next batch."""
        (answer,) = yield from self.tools.ask([self.get(handle, split)])
        return [int(row) for row in np.asarray(answer["fields"][0]["tensor"])]

    def held(self, handle: str, split: str) -> Asking[int]:
        """The files that the consumer says it has in memory."""
        (stats,) = yield from self.tools.ask([self.call(f"{CONSUMER}.Stats", handle=handle)])
        return int(stats["splits"][split]["files_held"])

    def visible(self, split: str) -> list[str]:
        """The names of the split's visible files, in the order of the queue."""
        folder = self.root / "queue" / split
        names = [path.name for path in folder.iterdir() if path.name[0] != "."] if folder.is_dir() else []
        return sorted(names, key=lambda name: [int(part) for part in name.partition(".")[0].split("-")[:2]])

    def call(self, method: str, **inputs: Any) -> Call:
        """A call with these inputs."""
        return self.tools.call(method, inputs)
