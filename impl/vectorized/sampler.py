"""Batches computed ahead of the reader, which changes when they are computed and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Final

from impl.vectorized.affine import Rows
from impl.vectorized.block_order import Placement
from impl.vectorized.next_batch import DEFAULT_BLOCK_SIZE, NextBatch
from impl.vectorized.records import Batch, Cursor, DataSection, Dataset, Manifest

START: Final = Cursor(0, 0)
NO_HASH: Final = bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """Give the batches of one rank; every answer depends on the cursor and these fields alone.

    `cardinality` and `global_batch_size` count samples; `seed_token` and `manifest_hash` are 32 bytes each and seed
    every epoch together with the dataset key. A saved cursor continues with any world size that divides the batch
    size, and a seek costs what a first batch costs. Block orders and block maps are remembered: some 7 MB at most,
    and one block order however long.
    """

    cardinality: int
    global_batch_size: int
    seed_token: bytes
    manifest_hash: bytes = NO_HASH
    dataset_key: str = "train"
    rank: int = 0
    world_size: int = 1
    stage_type: str = "train"
    block_size: int = DEFAULT_BLOCK_SIZE
    drop_last: bool = False
    _manifest: Manifest = field(init=False, repr=False, compare=False)
    _operator: NextBatch = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build the manifest once."""
        dataset = Dataset(self.dataset_key, "", NO_HASH, self.cardinality)
        section = DataSection(self.block_size, self.drop_last)
        manifest = Manifest({self.dataset_key: dataset}, self.global_batch_size, section)
        object.__setattr__(self, "_manifest", manifest)
        object.__setattr__(self, "_operator", NextBatch(Placement(Rows())))

    def batch_at(self, cursor: Cursor = START, t: int = 0) -> Batch:
        """Return the batch at a cursor; its cursor_next is the one to save.

        Raises ContractFailure where the contract refuses the configuration or the cursor (seed 000 §6).
        """
        return self._operator.next_batch(
            manifest=self._manifest,
            dataset_key=self.dataset_key,
            world_size=self.world_size,
            rank=self.rank,
            stage_type=self.stage_type,
            cursor_in=cursor,
            kernel_replay_token=self.seed_token,
            manifest_hash=self.manifest_hash,
            t=t,
        )

    def cursor_after(self, cursor: Cursor) -> Cursor:
        """Return cursor_next without the indices, for a cursor that the contract accepts (seed 000 §6.10-13)."""
        limit = self.cardinality
        if self.drop_last and self.stage_type == "train":
            limit -= limit % self.global_batch_size
        after = cursor.global_index + self.global_batch_size
        return Cursor(cursor.epoch, after) if after < limit else Cursor(cursor.epoch + 1, 0)

    def batches(self, cursor: Cursor = START, epochs: int | None = 1) -> Iterator[Batch]:
        """Yield batches from a cursor on until `epochs` roll-overs have passed, for ever if None.

        The first epoch counts from the position of the cursor.
        """
        last = None if epochs is None else cursor.epoch + epochs
        t = 0
        while last is None or cursor.epoch < last:
            batch = self.batch_at(cursor, t)
            yield batch
            cursor = batch.cursor_next
            t += 1


def prefetched(
    sampler: Sampler, executor: Executor, cursor: Cursor = START, epochs: int | None = 1, ahead: int = 2
) -> Iterator[Batch]:
    """Yield what `sampler.batches(cursor, epochs)` yields, with up to `ahead` more batches under way.

    The following cursors are known without the indices, so the batches under way do not wait for each other
    (seed 000 §9 VIII.B).
    """
    last = None if epochs is None else cursor.epoch + epochs
    waiting: deque[Future[Batch]] = deque()
    t = 0
    while True:
        while len(waiting) <= ahead and (last is None or cursor.epoch < last):
            waiting.append(executor.submit(sampler.batch_at, cursor, t))
            cursor = sampler.cursor_after(cursor)
            t += 1
        if not waiting:
            return
        yield waiting.popleft().result()
