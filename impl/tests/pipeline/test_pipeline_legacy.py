"""The baseline's files: sorted, round and round, never deleted."""

import io
from pathlib import Path

import numpy as np

from impl.reference.pipeline.metadata import write_meta
from impl.tests.pipeline.pipeline_queue import ROW, consumer_of, meta_of, names_in, take


def legacy_of(root: Path, **files: list[int]) -> None:
    write_meta(root, meta_of(ROW))
    for name, rows in files.items():
        target = io.BytesIO()
        np.savez(target, row=np.array(rows, dtype=np.int64))
        (root / f"{name}.npz").write_bytes(target.getvalue())


def test_files_go_round_in_order_and_stay(tmp_path: Path) -> None:
    legacy_of(tmp_path, train_batches_0001=[4, 5], train_batches_0000=[1, 2, 3], val_batches_0000=[9])
    consumer = consumer_of(tmp_path)
    assert consumer.stats()["mode"] == "legacy"
    assert take(consumer, 5) == [[1, 2], [3, 3], [4, 5], [1, 2], [3, 3]]
    assert take(consumer, 1, "val") == [[9, 9]]
    assert names_in(tmp_path) == [
        "meta.pkl",
        *(f"{n}.npz" for n in ("train_batches_0000", "train_batches_0001", "val_batches_0000")),
    ]
