"""Batches computed ahead of the reader, which changes when they are computed and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Final, Literal, SupportsIndex

from impl.arguments import MAX_UINT32
from impl.vectorized.affine import Rows
from impl.vectorized.block_order import Placement
from impl.vectorized.next_batch import DEFAULT_BLOCK_SIZE, NextBatch, failure
from impl.vectorized.preimages import data_replay_t
from impl.vectorized.records import ARGUMENTS, STAGES, Batch, Cursor, DataSection, Dataset, Manifest, refusal

START: Final = Cursor(0, 0)
NO_HASH: Final = bytes(32)
_HASH_HINT: Final = "hashlib.sha256(b'...').digest() makes 32 bytes of any text"


@dataclass(frozen=True, slots=True, init=False)
class Sampler:
    """Give the batches of one rank; every answer depends on the cursor and these fields alone.

    `cardinality` and `global_batch_size` count samples of the whole dataset and of all ranks together; the batch size
    is a multiple of `world_size`. `seed_token` and `manifest_hash` are 32 bytes each and seed every epoch together with
    `dataset_key`. `block_size` counts samples: the order is random between blocks and within each. `stage_type` is
    train (shuffled), eval or infer (in order); `drop_last` leaves out a short last batch in training. `cursor` is the
    place where iterating begins.

    Iterating gives the rank's batches from the cursor to the end of its epoch, `len` counts them. A saved cursor
    continues with any world size that divides the batch size, and a seek costs what a first batch costs. Block orders
    and block maps are remembered: some 7 MB at most, and one block order however long.

    Raises ContractFailure for what is of a wrong type, size or range: CONTRACT_VIOLATION, CARDINALITY_MISMATCH,
    BATCH_SIZE_INCONSISTENT, INVALID_STAGE_TYPE, GLOBAL_POSITION_EXCEEDS_CARDINALITY, COUNTER_OVERFLOW. Source: seed 000
    §6; contract `UML_OS.Data.NextBatch_v2`.

    >>> import tallystick
    >>> sampler = tallystick.Sampler(cardinality=10, global_batch_size=4, seed_token=bytes(32))
    >>> [list(batch) for batch in sampler]
    [[7, 4, 1, 8], [5, 2, 9, 6], [3, 0]]
    >>> len(sampler), next(iter(sampler)).cursor_next
    (3, Cursor(epoch=0, global_index=4))
    """

    cardinality: int
    global_batch_size: int
    seed_token: bytes
    manifest_hash: bytes
    dataset_key: str
    rank: int
    world_size: int
    stage_type: str
    block_size: int
    drop_last: bool
    cursor: Cursor
    _manifest: Manifest = field(init=False, repr=False, compare=False)
    _operator: NextBatch = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        *,
        cardinality: SupportsIndex,
        global_batch_size: SupportsIndex,
        seed_token: bytes,
        manifest_hash: bytes = NO_HASH,
        dataset_key: str = "train",
        rank: SupportsIndex = 0,
        world_size: SupportsIndex = 1,
        stage_type: Literal["train", "eval", "infer"] | str = "train",
        block_size: SupportsIndex = DEFAULT_BLOCK_SIZE,
        drop_last: bool = False,
        cursor: Cursor = START,
    ) -> None:
        judge, sizes = ARGUMENTS, "BATCH_SIZE_INCONSISTENT"
        given = {
            "cardinality": judge.integer("cardinality", cardinality, 1, code="CARDINALITY_MISMATCH"),
            "global_batch_size": judge.integer("global_batch_size", global_batch_size, 1, code=sizes),
            "seed_token": judge.octets("seed_token", seed_token, 32, _HASH_HINT),
            "manifest_hash": judge.octets("manifest_hash", manifest_hash, 32, _HASH_HINT),
            "dataset_key": judge.text("dataset_key", dataset_key),
            "rank": judge.integer("rank", rank, 0, MAX_UINT32),
            "world_size": judge.integer("world_size", world_size, 1, MAX_UINT32),
            "stage_type": judge.choice("stage_type", stage_type, STAGES, code="INVALID_STAGE_TYPE"),
            "block_size": judge.integer("block_size", block_size, 1, code=sizes),
            "drop_last": judge.truth("drop_last", drop_last),
            "cursor": judge.instance("cursor", cursor, Cursor, "a Cursor"),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        dataset = Dataset(self.dataset_key, "", NO_HASH, self.cardinality)
        section = DataSection(self.block_size, self.drop_last)
        manifest = Manifest({self.dataset_key: dataset}, self.global_batch_size, section)
        object.__setattr__(self, "_manifest", manifest)
        object.__setattr__(self, "_operator", NextBatch(Placement(Rows())))
        # What the fields cannot be together is refused now and not in the first step of a training run.
        self._judge(dataset)

    def __reduce__(self) -> tuple[object, ...]:
        # What is remembered has locks; another process computes it again.
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        return partial(Sampler, **given), ()

    def __iter__(self) -> Iterator[Batch]:
        return self.batches()

    def __len__(self) -> int:
        left = self._limit - self.cursor.global_index
        # Behind the last whole batch there is an empty one, whose cursor leads to the next epoch.
        return max(1, -(-left // self.global_batch_size))

    def batch_at(self, cursor: Cursor | None = None, t: SupportsIndex = 0) -> Batch:
        """Return the batch at a cursor, without one at the sampler's own; its cursor_next is the one to save.

        `t` is the step that the trace record names. Raises ContractFailure where the contract refuses the cursor:
        GLOBAL_POSITION_EXCEEDS_CARDINALITY, COUNTER_OVERFLOW (seed 000 §6).
        """
        return self._operator.next_batch(
            manifest=self._manifest,
            dataset_key=self.dataset_key,
            world_size=self.world_size,
            rank=self.rank,
            stage_type=self.stage_type,
            cursor_in=self._from(cursor),
            kernel_replay_token=self.seed_token,
            manifest_hash=self.manifest_hash,
            t=ARGUMENTS.integer("t", t),
        )

    def cursor_after(self, cursor: Cursor) -> Cursor:
        """Return cursor_next without the indices, for a cursor that the contract accepts (seed 000 §6.10-13)."""
        after = cursor.global_index + self.global_batch_size
        return Cursor(cursor.epoch, after) if after < self._limit else Cursor(cursor.epoch + 1, 0)

    def batches(self, cursor: Cursor | None = None, epochs: SupportsIndex | None = 1) -> Iterator[Batch]:
        """Return the batches from a cursor on until `epochs` roll-overs have passed, for ever if None.

        Without a cursor they begin at the sampler's own. The first epoch counts from the position of the cursor.
        """
        return self._batches(self._from(cursor), ARGUMENTS.optional("epochs", epochs))

    def _judge(self, dataset: Dataset) -> None:
        refused = refusal(
            dataset_key=self.dataset_key,
            dataset=dataset,
            registry=None,
            world_size=self.world_size,
            rank=self.rank,
            global_batch_size=self.global_batch_size,
            block_size=self.block_size,
            drop_last=self.drop_last,
            stage_type=self.stage_type,
            declared_mode=None,
            emitted_mode="",
            cursor=self.cursor,
        )
        if refused is not None:
            at, key = self.cursor, self.dataset_key
            replay = data_replay_t(self.seed_token, key, at.epoch, at.global_index, self.world_size, self.rank)
            raise failure(*refused, 0, key, replay)

    def _batches(self, cursor: Cursor, epochs: int | None) -> Iterator[Batch]:
        last = None if epochs is None else cursor.epoch + epochs
        t = 0
        while last is None or cursor.epoch < last:
            batch = self.batch_at(cursor, t)
            yield batch
            cursor = batch.cursor_next
            t += 1

    def _from(self, cursor: Cursor | None) -> Cursor:
        if cursor is None:
            return self.cursor
        found: Cursor = ARGUMENTS.instance("cursor", cursor, Cursor, "a Cursor or None")
        return found

    @property
    def _limit(self) -> int:
        """The place at which an epoch ends."""
        if self.drop_last and self.stage_type == "train":
            return self.cardinality - self.cardinality % self.global_batch_size
        return self.cardinality


def prefetched(
    sampler: Sampler,
    executor: Executor,
    cursor: Cursor | None = None,
    epochs: SupportsIndex | None = 1,
    ahead: SupportsIndex = 2,
) -> Iterator[Batch]:
    """Return what `sampler.batches(cursor, epochs)` returns, with up to `ahead` more batches under way.

    The executor may be of threads or processes. The following cursors are known without the indices, so the batches
    under way do not wait for each other. Raises ContractFailure as the sampler does, and with CONTRACT_VIOLATION for
    arguments of a wrong type or range. Source: seed 000 §9 VIII.B.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import tallystick
    >>> sampler = tallystick.Sampler(cardinality=10, global_batch_size=4, seed_token=bytes(32))
    >>> with ThreadPoolExecutor(2) as executor:
    ...     [list(batch) for batch in tallystick.prefetched(sampler, executor, ahead=3)]
    [[7, 4, 1, 8], [5, 2, 9, 6], [3, 0]]
    """
    ARGUMENTS.instance("sampler", sampler, Sampler, "a Sampler")
    ARGUMENTS.instance("executor", executor, Executor, "an Executor of concurrent.futures")
    begin = sampler.cursor if cursor is None else ARGUMENTS.instance("cursor", cursor, Cursor, "a Cursor or None")
    return _prefetched(
        sampler, executor, begin, ARGUMENTS.optional("epochs", epochs), ARGUMENTS.integer("ahead", ahead)
    )


def _prefetched(
    sampler: Sampler, executor: Executor, cursor: Cursor, epochs: int | None, ahead: int
) -> Iterator[Batch]:
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
