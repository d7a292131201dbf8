"""Roots, files and clocks for tests of the file queue."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from impl.reference.pipeline.codecs import NpzCodec
from impl.reference.pipeline.consumer import Clock, DatasetConsumer
from impl.reference.pipeline.machines import CountingProvider
from impl.reference.pipeline.metadata import FieldSpec, write_meta
from impl.reference.pipeline.queue_folder import BatchFile, Metadata
from impl.reference.pipeline.tensors import packed

ROW: list[dict[str, Any]] = [{"name": "row", "dtype": "int64", "shape": []}]
XY: list[dict[str, Any]] = [
    {"name": "x", "dtype": "uint16", "shape": [3], "role": "input"},
    {"name": "y", "dtype": "int64", "shape": [], "role": "target"},
]


def meta_of(schema: Sequence[Mapping[str, Any]] = ROW, **changes: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "dataset_name": "rows",
        "training_type": "CLASSIFICATION",
        "batch_size": 2,
        "batch_schema": [dict(field) for field in schema],
        "split_info": {"train": {}, "val": {}},
    }
    return {**meta, **changes}


class Time:
    """A clock that only sleeping moves; after some seconds something happens."""

    def __init__(self, after: float = math.inf, happens: Callable[[], None] = lambda: None) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.clock = Clock(now=lambda: self.seconds, sleep=self.sleep)
        self._after, self._happens = after, happens

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        if self.seconds >= self._after:
            self._happens()


def provider_of(root: Path, *, meta: Mapping[str, Any] | None = None, **config: Any) -> CountingProvider:
    sizes = {"batch_size": 2, "batches_per_file": 2, "max_backlog_files": 4, "codec": "npz", **config}
    return CountingProvider(str(root), meta_of(XY) if meta is None else meta, **sizes)


def consumer_of(root: Path, **config: Any) -> DatasetConsumer:
    return DatasetConsumer(root, **config)


def queue_of(root: Path, batch_size: int = 2, **files: Any) -> Path:
    """Make a queue of files with one field, `row`; a keyword is a file's name with _ for - and its list of rows."""
    folder = root / "queue" / "train"
    folder.mkdir(parents=True, exist_ok=True)
    (root / "queue" / "val").mkdir(exist_ok=True)
    write_meta(root, meta_of(batch_size=batch_size))
    for name, rows in files.items():
        put_rows(folder, name.removeprefix("f").replace("_", "-"), rows)
    return folder


def put_rows(folder: Path, name: str, rows: Sequence[int]) -> None:
    metadata = Metadata(1, len(rows), 0, "train", 0, (FieldSpec("row", "int64", ()),))
    tensors = {"row": packed("int64", [len(rows)], rows)}
    (folder / f"{name}.npz").write_bytes(NpzCodec().encode(BatchFile(metadata, tensors)))


def put_hole(folder: Path, name: str, size: int, has_end: bool) -> None:
    """Put a file that is a hole of this size, with or without a whole file of one row behind it."""
    put_rows(folder, name, [5])
    path = folder / f"{name}.npz"
    whole = path.read_bytes()
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(whole if has_end else b"")


def rows_of(batch: Any) -> list[int]:
    return [int(row) for row in batch["row"]]


def take(consumer: DatasetConsumer, count: int, split: str = "train") -> list[list[int]]:
    return [rows_of(consumer.get_batch(split, timeout=0)) for _ in range(count)]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
