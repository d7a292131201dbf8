"""The consumer: it waits for batch files, hands out their batches and deletes what it has handed out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from threading import Lock
from typing import Any, Final, Literal, TypeVar

from impl.reference.checkpoint import disk
from impl.reference.pipeline.codecs import codec_named, has_cuda, has_torch, numpy_array, on_device, torch_rows
from impl.reference.pipeline.metadata import (
    SPLITS,
    FieldSpec,
    check_meta,
    is_size,
    read_meta,
    schema_in,
    shown,
    unknown_keys,
)
from impl.reference.pipeline.queue_folder import QUEUE, QueueFolder, is_split, root_of
from impl.reference.pipeline.refusal import QueueTimeout, Refusal
from impl.reference.pipeline.samples import SplitReader
from impl.reference.pipeline.sources import Kind, LegacySource, QueueSource, Rows, Source, Warnings, legacy_names
from impl.types import uint64

FIRST_PAUSE: Final = 0.010
LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Clock:
    """Tell a time that never goes back, in seconds, and sleep."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def pauses() -> Iterator[float]:
    """Yield the pauses in seconds: 10 ms, doubled up to one second (ruling QA24)."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_PAUSE)


def attempts(clock: Clock, timeout: float | None) -> Iterator[None]:
    """Yield at once and after every pause, last when the timeout is over; None waits for ever, 0 is one look."""
    deadline = None if timeout is None else clock.now() + timeout
    yield
    for pause in pauses():
        left = pause if deadline is None else deadline - clock.now()
        if left <= 0:
            return
        clock.sleep(min(pause, left))
        yield


log: Final = logging.getLogger("tallystick.pipeline.consumer")
SYSTEM_CLOCK: Final = Clock()
# A thousand years in seconds: who says more waits for ever.
_LONGEST_WAIT: Final = 1000 * 366 * 86400

Mode = Literal["queue", "legacy"]
Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class SplitStats:
    """Hold the counters of one split; a file is `held` while it is in memory, the one in hand included."""

    batches: uint64
    files_loaded: uint64
    files_finished: uint64
    files_quarantined: uint64
    files_held: uint64
    files_undeleted: uint64
    backlog: uint64
    above_high: bool
    below_low: bool
    current_file: str | None
    current_batch: uint64
    current_row: uint64


@dataclass(frozen=True, slots=True)
class ConsumerStats:
    """Hold what a consumer did and its position."""

    mode: Mode
    batch_size: uint64
    warnings: list[Kind]
    splits: dict[str, SplitStats]


class DatasetConsumer:
    """Hand out batches of the files that a provider leaves below a root (seed 001, DatasetConsumer API).

    CONFIG_INVALID, META_MISSING and META_INVALID are raised here, before anything is handed out. One consumer at a
    time works on a split; its methods may be called by several threads. Files of every codec are read; `codec` names
    the one that is expected, and any other is warned of.
    """

    def __init__(
        self,
        data_dir: str | PathLike[str],
        device_type: str | None = None,
        prefer_queue: bool = True,
        cache_files: int = 1,
        high_watermark: int = 2,
        low_watermark: int = 0,
        *,
        batch_size: int | None = None,
        codec: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._root = root_of(data_dir)
        self._device_type = device_type
        self._codec = codec
        if codec is not None:
            codec_named(codec)
        self._cache_files = _size("cache_files", cache_files)
        self._high_watermark, self._low_watermark = high_watermark, low_watermark
        self._clock = clock
        self._warnings = Warnings()
        self._opening = Lock()
        self._meta = check_meta(read_meta(self._root))
        self._schema = schema_in(self._meta)
        if ignored := unknown_keys(self._meta["batch_schema"]):
            self._warnings.say("KEY_IGNORED", f"meta.pkl has {', '.join(ignored)}, which is ignored")
        self._batch_size: int = self._meta["batch_size"]
        if batch_size is not None:
            self.set_batch_size(batch_size)
        self._mode: Mode = "queue" if self._has_queue(prefer_queue) else "legacy"
        self._readers = {split: self._new_reader(split) for split in SPLITS}

    @property
    def meta(self) -> Mapping[str, Any]:
        """The metadata, optional keys as they are (requirement Q24)."""
        return self._meta

    def schema(self, split: str) -> list[FieldSpec]:
        """Return the fields of a split's batches, in order; CONFIG_INVALID."""
        require_split(split)
        return list(self._schema)

    def get_batch(self, split: str, device: str | None = None, timeout: float | None = None) -> Any:
        """Return the next batch: (X, Y) where the schema is exactly x and y, else a dict by field name.

        Torch tensors where a device is named, here or to the constructor, and of `.pt` files where torch is installed;
        NumPy arrays otherwise (ruling QA30). `timeout` in seconds; None waits for ever, 0 is one look. QUEUE_TIMEOUT
        (a TimeoutError), SCHEMA_MISMATCH, LEGACY_INVALID, QUARANTINE_FULL, CONFIG_INVALID.
        """
        reader = self._reader(split)
        return self.next_batch(split, timeout, lambda rows: self._as_arrays(rows, device, reader.is_of(".pt")))

    def next_batch(self, split: str, timeout: float | None, deliver: Callable[[list[Rows]], Batch]) -> Batch:
        """Return what `deliver` makes of the next batch's rows; the last thing done is to delete a finished file."""
        reader = self._reader(split)
        for _ in attempts(self._clock, _limit(timeout)):
            with reader.lock:
                rows = reader.look(self._batch_size)
                if rows is not None:
                    batch = deliver(rows)
                    reader.advance()
                    return batch
        raise QueueTimeout(f"no batch file for {split} arrived in {timeout} seconds")

    def wait_for_data(self, split: str, timeout: float | None = None) -> bool:
        """Tell whether a next batch exists, after at most `timeout` seconds; SCHEMA_MISMATCH, QUARANTINE_FULL."""
        reader = self._reader(split)
        return any(reader.ready() for _ in attempts(self._clock, _limit(timeout)))

    def reset_state(self, split: str | None = None) -> None:
        """Go back to the first row of the file in hand, of one split or of all."""
        for reader in self._readers.values() if split is None else [self._reader(split)]:
            reader.reset()

    def set_batch_size(self, new_bs: int) -> None:
        """Cut batches of another size from the next row on (ruling QA25); CONFIG_INVALID."""
        self._batch_size = _size("batch_size", new_bs)
        if self._batch_size != self._meta["batch_size"]:
            said = f"batches of {new_bs} rows are cut from files for batches of {self._meta['batch_size']}"
            self._warnings.say("BATCH_SIZE_MISMATCH", said)

    def stats(self) -> dict[str, Any]:
        """Return the counters and the current file, batch and row of every split."""
        return asdict(self.statistics())

    def statistics(self) -> ConsumerStats:
        """Return the counters as a value."""
        with self._opening:
            readers = dict(self._readers)
        splits = {split: self._split_stats(reader) for split, reader in readers.items()}
        return ConsumerStats(self._mode, self._batch_size, self._warnings.said(), splits)

    def is_pair(self) -> bool:
        """Tell whether batches are pairs (ruling QA27)."""
        return {field.name for field in self._schema} == {"x", "y"}

    def _has_queue(self, prefer_queue: bool) -> bool:
        if not prefer_queue:
            return False
        legacy = any(legacy_names(self._root, split) for split in SPLITS)
        return disk.exists(self._root / QUEUE) or not legacy

    def _reader(self, split: str) -> SplitReader:
        with self._opening:
            if split not in self._readers:
                require_split(split)
                self._readers[split] = self._new_reader(split)
            return self._readers[split]

    def _new_reader(self, split: str) -> SplitReader:
        source: Source
        if self._mode == "legacy":
            source = LegacySource(
                self._root, split, self._codec, self._schema, self._cache_files, self._warnings
            )
        else:
            folder = QueueFolder(self._root, split)
            source = QueueSource(folder, self._codec, self._schema, self._cache_files, self._warnings)
        return SplitReader(source)

    def _split_stats(self, reader: SplitReader) -> SplitStats:
        with reader.lock:
            return self._counted(reader)

    def _counted(self, reader: SplitReader) -> SplitStats:
        counters, position = reader.source.counters, reader.position()
        backlog = reader.source.backlog()
        return SplitStats(
            batches=reader.batches,
            files_loaded=counters.files_loaded,
            files_finished=counters.files_finished,
            files_quarantined=counters.files_quarantined,
            files_held=reader.held(),
            files_undeleted=reader.source.undeleted(),
            backlog=backlog,
            above_high=backlog > self._high_watermark,
            below_low=backlog <= self._low_watermark,
            current_file=None if position is None else disk.shown_name(position.file),
            current_batch=0 if position is None else position.batch,
            current_row=0 if position is None else position.row,
        )

    def _as_arrays(self, rows: Sequence[Rows], device: str | None, is_pt: bool) -> Any:
        target = device or self._device_type
        if target is not None and not has_torch():
            raise Refusal("CONFIG_INVALID", f"the device {target} needs torch, which is not installed")
        if target is None and not (is_pt and has_torch()):
            arrays = {r.field.name: numpy_array(r.field.dtype, (r.count, *r.field.shape), r.data) for r in rows}
        else:
            target = target or "cuda"
            if target.startswith("cuda") and not has_cuda():
                target = "cpu"
            tensors = ((r.field.name, torch_rows(r.field.dtype, (r.count, *r.field.shape), r.data)) for r in rows)
            arrays = {name: on_device(tensor, target) for name, tensor in tensors}
        return (arrays["x"], arrays["y"]) if self.is_pair() else arrays


def _limit(timeout: float | None) -> float | None:
    if timeout is None or timeout > _LONGEST_WAIT:
        return None
    if timeout != timeout:
        raise Refusal("CONFIG_INVALID", "a timeout cannot be nan")
    return timeout


def _size(name: str, number: int) -> int:
    if not is_size(number):
        raise Refusal("CONFIG_INVALID", f"{name} cannot be {shown(number)}")
    return number


def require_split(split: str) -> None:
    """Refuse a name that is no split; CONFIG_INVALID."""
    if not is_split(split):
        raise Refusal("CONFIG_INVALID", f"{split!r} is no split")
