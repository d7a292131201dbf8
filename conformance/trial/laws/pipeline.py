"""Laws of the file queue: every row once and in order, whoever restarts, whatever is read ahead, however full it is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from conformance.backend.drive import RESTART
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.grid import axes, grid, slug
from conformance.trial.laws.law import Instance, Law, LawTalk, Tools
from conformance.trial.laws.pipeline_run import METHODS, Queue, batches_of, rows_of
from conformance.trial.laws.relation import must, must_equal
from conformance.trial.laws.roots import law_roots

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
