"""Laws of the file queue: rows come once and in order, across restarts, with files read ahead and a full queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from conformance.backend.driver import RESTART, Call
from conformance.trial.law import Asking, Law, LawTalk, Tools, law_root, must, must_equal

PROVIDER: Final = "Pipeline.Provider"
CONSUMER: Final = "Pipeline.Consumer"
FIELD: Final = "row"
SEED: Final = 1337
_INTEGERS: Final = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
DTYPES: Final = ("bool", *_INTEGERS, "float16", "float32", "float64")
_MODULUS: Final = 127
_SPLITS: Final = ("train", "val")


def metadata(batch_size: int, schema: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """What meta.pkl says of batches of this size and these fields."""
    required = {"dataset_name": "rows", "training_type": "CLASSIFICATION", "split_info": {"train": {}, "val": {}}}
    return {**required, "batch_size": batch_size, "batch_schema": list(schema), **more}


def provider_config(meta: Mapping[str, Any], batches_per_file: int, backlog: int, codec: str = "npz") -> dict[str, Any]:
    """The configuration of a provider with this metadata."""
    sizes = {"batch_size": meta["batch_size"], "batches_per_file": batches_per_file, "max_backlog_files": backlog}
    fixed = {"sleep_seconds": 1.0, "seed": SEED, "verbose": False, "sampler": "counting"}
    return {**sizes, **fixed, "codec": codec, "meta": dict(meta)}


def consumer_config(size: int, cache_files: int, codec: str = "npz") -> dict[str, Any]:
    """The configuration of a consumer."""
    marks = {"high_watermark": 1, "low_watermark": 0}
    return {"prefer_queue": True, "cache_files": cache_files, **marks, "codec": codec, "batch_size": size}


@dataclass(frozen=True, slots=True)
class Folder:
    """A root, and the calls of a provider and a consumer in it."""

    tools: Tools
    root: Path

    def opening(self, machine: str, config: Mapping[str, Any]) -> Call:
        """The call that opens a machine here."""
        return self.tools.call(f"{machine}.Open", {"root": str(self.root), "config": dict(config)})

    def open(self, machine: str, config: Mapping[str, Any]) -> Asking[str]:
        """Open a machine here; its handle."""
        (opened,) = yield from self.tools.ask([self.opening(machine, config)])
        return str(opened["handle"])

    def close(self, machine: str, handle: str) -> Asking[None]:
        """Close a machine."""
        yield from self.tools.ask([self.tools.call(f"{machine}.Close", {"handle": handle})])

    def say(self, machine: str, method: str, handle: str, **inputs: Any) -> Asking[Any]:
        """The answer of a method, or the code of its refusal."""
        return (yield from self.tools.ask_either(self.tools.call(f"{machine}.{method}", {"handle": handle, **inputs})))

    def files(self) -> list[str]:
        """The paths of all files, without what tells the codec."""
        return sorted(
            path.relative_to(self.root).with_suffix("").as_posix() for path in self.root.rglob("*") if path.is_file()
        )


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

    def batches(self, seq: int) -> list[list[int]]:
        """The batches of a file of the split train; the short last one is filled up from its own beginning."""
        rows = self.rows(seq)
        slices = [rows[at : at + self.size] for at in range(0, len(rows), self.size)]
        return [[part[k % len(part)] for k in range(self.size)] for part in slices]

    def rows(self, seq: int) -> list[int]:
        """The rows of a file of the split train, as the contract counts them."""
        seed = ((SEED * 1000003) ^ crc32(b"train") ^ seq) % 2**64
        return [(seed + crc32(FIELD.encode()) + k) % _MODULUS for k in range(self.batch_size * self.batches_per_file)]

    def open_provider(self) -> Asking[str]:
        """A new provider; its handle."""
        meta = metadata(self.batch_size, [{"name": FIELD, "dtype": "uint8", "shape": []}])
        config = provider_config(meta, self.batches_per_file, self.backlog)
        return (yield from Folder(self.tools, self.root).open(PROVIDER, config))

    def open_consumer(self) -> Asking[str]:
        """A new consumer; its handle."""
        config = consumer_config(self.size, self.cache_files)
        return (yield from Folder(self.tools, self.root).open(CONSUMER, config))

    def produce(self, handle: str, now_ms: int, split: str = "train") -> Asking[bool]:
        """Whether a turn of the loop made a file, which must be where the answer says."""
        before = self.visible(split)
        inputs = {"handle": handle, "split": split, "now_ms": now_ms}
        call, turn = yield from self.tools.ask_one(f"{PROVIDER}.Produce", inputs)
        made = [f"queue/{split}/{name}" for name in self.visible(split) if name not in before]
        must_equal(made, [turn["path"]] if turn["produced"] else [], "the files of a turn", call)
        return bool(turn["produced"])

    def fill(self, times_ms: Sequence[int]) -> Asking[None]:
        """A new provider makes one file of the split train at each of these times."""
        provider = yield from self.open_provider()
        for now_ms in times_ms:
            yield from self.produce(provider, now_ms)

    def get(self, handle: str) -> Call:
        """The call for a batch of the split train that does not wait."""
        return self.tools.call(f"{CONSUMER}.GetBatch", {"handle": handle, "split": "train", "timeout_ms": 0})

    def batch(self, handle: str) -> Asking[list[int]]:
        """The rows of the next batch."""
        (answer,) = yield from self.tools.ask([self.get(handle)])
        return [int(row) for row in np.asarray(answer["fields"][0]["tensor"])]

    def cached(self, handle: str) -> Asking[int]:
        """How many files the consumer says it has in memory."""
        _, stats = yield from self.tools.ask_one(f"{CONSUMER}.Stats", {"handle": handle})
        return int(stats["splits"]["train"]["files_held"])

    def visible(self, split: str = "train") -> list[str]:
        """The names of the split's visible files, in the order of the queue."""
        folder = self.root / "queue" / split
        names = [path.name for path in folder.iterdir() if path.name[0] != "."] if folder.is_dir() else []
        return sorted(names, key=lambda name: [int(part) for part in name.partition(".")[0].split("-")[:2]])


def _every_row_once(tools: Tools, files: int, cache_files: int, **sizes: int) -> LawTalk:
    with law_root() as root:
        queue = Queue(tools, root, backlog=files, cache_files=cache_files, **sizes)
        yield from queue.fill(range(files))
        consumer = yield from queue.open_consumer()
        for seq in range(files):
            batches = queue.batches(seq)
            for k, expected in enumerate(batches, start=1):
                batch = yield from queue.batch(consumer)
                must_equal(expected, batch, f"batch {k} of file {seq}", queue.get(consumer))
                left, found = files - seq - (k == len(batches)), queue.visible()
                where = f"after batch {k} of {len(batches)} of file {seq}"
                must(len(found) == left, f"{where} the queue has the files {found}, not {left} files")
                cached = yield from queue.cached(consumer)
                must(cached <= cache_files, f"{where} {cached} files are in memory, {cache_files} may be")
        yield from tools.ask_refused([queue.get(consumer)])


def _restarts(tools: Tools, files: int, after: int, **sizes: int) -> LawTalk:
    with law_root() as root:
        queue = Queue(tools, root, backlog=files, **sizes)
        yield from queue.fill(range(files))
        seq = 0
        for _ in range(files):
            yield RESTART
            consumer = yield from queue.open_consumer()
            at = 0
            for _ in range(after):
                if seq == files:
                    break
                batch = yield from queue.batch(consumer)
                what = f"restarted after every {after} batches: batch {at + 1} of file {seq}"
                batches = queue.batches(seq)
                must_equal(batches[at], batch, what, queue.get(consumer))
                seq, at = (seq + 1, 0) if at + 1 == len(batches) else (seq, at + 1)
            found = queue.visible()
            must(len(found) == files - seq, f"{files - seq} files must be left: {found}")


def _backpressure(tools: Tools, backlog: int, turns: int, takes: int) -> LawTalk:
    """Both splits are filled, only train is read."""
    with law_root() as root:
        queue = Queue(tools, root, batch_size=2, batches_per_file=2, backlog=backlog, size=2)
        provider = yield from queue.open_provider()
        consumer = yield from queue.open_consumer()
        made = dict.fromkeys(_SPLITS, 0)
        taken: list[int] = []
        for now_ms in range(turns):
            for split in _SPLITS:
                waiting = len(queue.visible(split))
                produced = yield from queue.produce(provider, now_ms, split)
                what = f"turn {now_ms} of {split} with {waiting} of {backlog} files"
                must(produced == (waiting < backlog), f"{what} made {'a' if produced else 'no'} file")
                made[split] += produced
            for _ in range(takes):
                if queue.visible():
                    taken += yield from queue.batch(consumer)
        must(made["val"] == backlog, f"{made['val']} files wait in val, which is not read; {backlog} may")
        rows = [row for seq in range(made["train"]) for row in queue.rows(seq)]
        must_equal(rows[: len(taken)], taken, "the rows that were taken")


def _order(tools: Tools, cache_files: int, size: int) -> LawTalk:
    """Files are renamed to come earlier while others are read ahead."""
    with law_root() as root:
        queue = Queue(tools, root, 2, 2, backlog=9, size=size, cache_files=cache_files)
        yield from queue.fill((100, 200, 300, 400, 500))
        folder = root / "queue/train"
        consumer = yield from queue.open_consumer()
        found: list[list[int]] = []
        for earlier, to in ((400, "99-000003-2.npz"), (500, "0150-4-2.npz")):
            found.append((yield from queue.batch(consumer)))
            next(folder.glob(f"{earlier}-*")).rename(folder / to)
        while queue.visible():
            found.append((yield from queue.batch(consumer)))
        order = [0, 3, 4, 1, 2]  # the consumer finishes the file in hand, then takes the two that were renamed
        expected = [batch for seq in order for batch in queue.batches(seq)]
        must_equal(expected, found, f"batches of files {order} with {cache_files} files in memory")


LAWS: Final = (
    Law(
        "queue-every-row-once",
        _every_row_once,
        {"files": [3], "batch_size": [3], "batches_per_file": [3], "size": [2, 4], "cache_files": [2]},
    ),
    Law(
        "queue-restart",
        _restarts,
        {"files": [3], "batch_size": [4], "batches_per_file": [2], "size": [3], "after": [2, 4]},
        restarts=lambda arguments: True,
    ),
    Law("queue-backpressure", _backpressure, {"backlog": [1, 2, 3], "turns": [9], "takes": [1, 2]}),
    Law("queue-order", _order, {"cache_files": [1, 3], "size": [2, 3]}),
)
