"""Laws of the file queue: every row once and in order, whoever restarts, whatever is read ahead, however full it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from conformance.backend.driver import RESTART, Call
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.law import (
    Asking,
    Instance,
    Law,
    LawTalk,
    Tools,
    axes,
    grid,
    law_roots,
    must,
    must_equal,
    slug,
)

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


_SPLITS: Final = ("train", "val")
_ORDER: Final = [
    0,
    3,
    4,
    1,
    2,
]  # the first file is in hand and is finished first; then the two that came to stand before


def deliveries(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {files, batch_size, batches_per_file: the provider's, size: the consumer's, cache_files}`."""
    defaults = {
        "files": [3],
        "batch_size": [3],
        "batches_per_file": [3],
        "size": [2, 4],
        "cache_files": [2],
    }
    for point in grid(axes(use, defaults)):
        yield Instance(slug(point), partial(_every_row_once, tools, **point))


def _every_row_once(tools: Tools, files: int, cache_files: int, **sizes: int) -> LawTalk:
    with law_roots() as rooms:
        queue = Queue(tools, rooms.path("a"), backlog=files, cache_files=cache_files, **sizes)
        provider = yield from queue.open_provider()
        for now_ms in range(files):
            yield from queue.produce(provider, "train", now_ms)
        consumer = yield from queue.open_consumer()
        for seq in range(files):
            batches = batches_of(rows_of("train", seq, queue.rows_per_file), queue.size)
            for k, expected in enumerate(batches, start=1):
                batch = yield from queue.batch(consumer, "train")
                must_equal(expected, batch, f"batch {k} of file {seq}", queue.get(consumer, "train"))
                left = files - seq - (k == len(batches))
                came = f"behind batch {k} of {len(batches)} of file {seq}"
                must(
                    len(queue.visible("train")) == left, f"{came} there are not {left} files: {queue.visible('train')}"
                )
                held = yield from queue.held(consumer, "train")
                must(held <= cache_files, f"{came} {held} files are in memory, {cache_files} may be")
        yield from tools.ask_refused([queue.get(consumer, "train")])


def restarts(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {files, batch_size, batches_per_file, size, after: batches between two restarts}`."""
    defaults = {"files": [3], "batch_size": [4], "batches_per_file": [2], "size": [3], "after": [2, 4]}
    for point in grid(axes(use, defaults)):
        yield Instance(slug(point), partial(_restarts, tools, **point), alone=True)


def _restarts(tools: Tools, files: int, after: int, **sizes: int) -> LawTalk:
    with law_roots() as rooms:
        queue = Queue(tools, rooms.path("a"), backlog=files, **sizes)
        provider = yield from queue.open_provider()
        for now_ms in range(files):
            yield from queue.produce(provider, "train", now_ms)
        whole = [batches_of(rows_of("train", seq, queue.rows_per_file), queue.size) for seq in range(files)]
        seq = at = 0
        for _ in range(files):
            yield RESTART
            consumer = yield from queue.open_consumer()
            at = 0
            for _ in range(after):
                if seq == files:
                    break
                batch = yield from queue.batch(consumer, "train")
                what = f"restarted after every {after} batches: batch {at + 1} of file {seq}"
                must_equal(whole[seq][at], batch, what, queue.get(consumer, "train"))
                seq, at = (seq + 1, 0) if at + 1 == len(whole[seq]) else (seq, at + 1)
            must(
                len(queue.visible("train")) == files - seq,
                f"{files - seq} files must be left: {queue.visible('train')}",
            )


def floods(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {backlog, turns, takes: batches taken after every turn}`; both splits are filled, one is emptied."""
    for point in grid(axes(use, {"backlog": [1, 2, 3], "turns": [9], "takes": [1, 2]})):
        yield Instance(slug(point), partial(_never_above, tools, **point))


def _never_above(tools: Tools, backlog: int, turns: int, takes: int) -> LawTalk:
    with law_roots() as rooms:
        queue = Queue(tools, rooms.path("a"), batch_size=2, batches_per_file=2, backlog=backlog, size=2)
        provider = yield from queue.open_provider()
        consumer = yield from queue.open_consumer()
        made = dict.fromkeys(_SPLITS, 0)
        taken: list[list[int]] = []
        for now_ms in range(turns):
            for split in _SPLITS:
                waiting = len(queue.visible(split))
                produced = yield from queue.produce(provider, split, now_ms)
                wanted = waiting < backlog
                what = f"turn {now_ms} of {split} with {waiting} of {backlog} files"
                must(produced == wanted, f"{what} made {'a' if produced else 'no'} file")
                made[split] += produced
            for _ in range(takes):
                if queue.visible("train"):
                    batch = yield from queue.batch(consumer, "train")
                    taken.append(batch)
        must(made["val"] == backlog, f"{made['val']} files wait for nobody in val, {backlog} may")
        rows = [row for seq in range(made["train"]) for row in rows_of("train", seq, 4)]
        must_equal(rows[: 2 * len(taken)], [row for batch in taken for row in batch], "the rows that were taken")


def caches(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cache_files, size}`: files are renamed to come earlier while others are read ahead."""
    for point in grid(axes(use, {"cache_files": [1, 3], "size": [2, 3]})):
        yield Instance(slug(point), partial(_order_is_kept, tools, **point))


def _order_is_kept(tools: Tools, cache_files: int, size: int) -> LawTalk:
    with law_roots() as rooms:
        queue = Queue(tools, rooms.path("a"), 2, 2, backlog=9, size=size, cache_files=cache_files)
        provider = yield from queue.open_provider()
        for now_ms in (100, 200, 300, 400, 500):
            yield from queue.produce(provider, "train", now_ms)
        folder = queue.root / "queue/train"
        consumer = yield from queue.open_consumer()
        found: list[list[int]] = []
        for earlier, to in ((400, "99-000003-2.npz"), (500, "0150-4-2.npz")):
            batch = yield from queue.batch(consumer, "train")
            found.append(batch)
            next(folder.glob(f"{earlier}-*")).rename(folder / to)
        while queue.visible("train"):
            batch = yield from queue.batch(consumer, "train")
            found.append(batch)
        expected = [batch for seq in _ORDER for batch in batches_of(rows_of("train", seq, 4), size)]
        must_equal(expected, found, f"batches of files {_ORDER} with {cache_files} files in memory")


LAWS: Final[tuple[Any, ...]] = (
    Law(
        "queue-every-row-once",
        "Every row is handed out once and in order; its file goes with its last batch.",
        METHODS,
        deliveries,
    ),
    Law("queue-restart", "A consumer that restarts begins the current file again, and no other.", METHODS, restarts),
    Law("queue-backpressure", "A file is made exactly where fewer than max_backlog_files wait.", METHODS, floods),
    Law("queue-order", "Files are taken in the order of their names, whatever is read ahead.", METHODS, caches),
)
