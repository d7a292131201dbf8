"""The base class of every provider: a dataset says what a batch is, this writes the files."""

from __future__ import annotations

import errno
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from os import PathLike
from pathlib import Path
from random import Random
from shutil import rmtree
from sys import float_info
from typing import Any, Final
from zlib import crc32

from impl.reference.checkpoint import disk
from impl.reference.pipeline.codecs import codec_named, library
from impl.reference.pipeline.metadata import NAME as META_NAME
from impl.reference.pipeline.metadata import (
    FieldSpec,
    another_configuration,
    check_meta,
    invalid,
    is_same,
    is_size,
    read_meta,
    schema_in,
    shown,
    without_tuples,
    write_meta,
)
from impl.reference.pipeline.queue_folder import (
    QUEUE,
    BatchFile,
    Metadata,
    QueueFolder,
    final_name,
    is_split,
    root_of,
    temporary_name,
)
from impl.reference.pipeline.refusal import Refusal
from impl.reference.pipeline.tensors import NotATensor, concatenate, is_whole, tensor_of
from impl.types import Tensor

MODULUS: Final = 2**64
_MULTIPLIER: Final = 1000003


def file_seed(seed: int, split: str, seq: int) -> int:
    """Return the uint64 seed of a file (requirement Q13; ruling QA02); hash() would differ from process to process."""
    return ((seed * _MULTIPLIER) ^ crc32(split.encode("utf-8")) ^ seq) % MODULUS


class FileRandom(Random):
    """Draw the random numbers of one file; `file_seed` seeds any other generator (ruling QA03).

    `batch_index` is the number of the batch that is being sampled, from 0.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.file_seed = seed
        self.batch_index = 0

    def below(self, limit: int) -> int:
        """Draw an integer from 0 to limit - 1 from one double, which no version of Python draws otherwise."""
        return int(self.random() * limit)

    def generator(self) -> Any:
        """Return a `torch.Generator` with the file's seed; two calls give two equal ones."""
        return library("torch").Generator().manual_seed(self.file_seed)


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """Hold the constructor's numbers; everything but `sleep_seconds` is a count (seed 001, DataProvider Base API)."""

    batch_size: int
    block_size: int | None
    target_size: int | None
    batches_per_file: int
    max_backlog_files: int
    sleep_seconds: float
    seed: int

    def __post_init__(self) -> None:
        """Refuse a number that no provider can work with: CONFIG_INVALID (requirement Q18)."""
        for name in ("batch_size", "batches_per_file", "max_backlog_files"):
            if not is_size(getattr(self, name)):
                raise _invalid(name, getattr(self, name))
        for name in ("block_size", "target_size"):
            if getattr(self, name) is not None and not is_size(getattr(self, name)):
                raise _invalid(name, getattr(self, name))
        if type(self.sleep_seconds) not in (int, float) or not 0 < self.sleep_seconds <= float_info.max:
            raise _invalid("sleep_seconds", self.sleep_seconds)
        if type(self.seed) is not int or not 0 <= self.seed < MODULUS:
            raise _invalid("seed", self.seed)


def _invalid(name: str, number: object) -> Refusal:
    return Refusal("CONFIG_INVALID", f"{name} cannot be {shown(number)}")


log: Final = logging.getLogger("tallystick.pipeline.provider")

# No clock sleeps for ever, and it makes no difference whether it is woken once a day.
_LONGEST_SLEEP: Final = 86400.0
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

Sleep = Callable[[float], None]


class DataProviderBase(ABC):
    """Fill a queue with batch files, at most `max_backlog_files` in each split (seed 001, DataProvider Base API).

    A dataset overrides `build_meta` and `sample_batch`. One provider at a time works on a root. `now_ms` and `sleep`
    are the clock; a test gives its own.
    """

    def __init__(
        self,
        data_dir: str | PathLike[str],
        batch_size: int,
        block_size: int | None = None,
        target_size: int | None = None,
        batches_per_file: int = 100,
        max_backlog_files: int = 2,
        sleep_seconds: float = 2.0,
        seed: int = 1337,
        verbose: bool = False,
        *,
        codec: str = "pt",
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        sleep: Sleep = time.sleep,
    ) -> None:
        self.config = ProviderConfig(
            batch_size, block_size, target_size, batches_per_file, max_backlog_files, sleep_seconds, seed
        )
        self.root = root_of(data_dir)
        self.verbose = verbose
        self._codec = codec_named(codec)
        self._now_ms = now_ms
        self._sleep = sleep
        self._schema: tuple[FieldSpec, ...] = ()
        self._next_seq: dict[str, int] = {}
        self._last_ms: dict[str, int] = {}
        self._full: set[str] = set()
        self._stopped = False
        self.produced = 0

    @abstractmethod
    def build_meta(self) -> dict[str, Any]:
        """Return the metadata; batch_size, block_size and target_size are added from the constructor where missing."""

    @abstractmethod
    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        """Return one batch: an array of shape [batch_size, ...] for each field of batch_schema, of its dtype."""

    def on_start(self) -> None:  # noqa: B027 (a hook: most datasets need none)
        """Do what has to be done once before the first file."""

    def on_stop(self) -> None:  # noqa: B027
        """Do what has to be done once after the last file."""

    def run(self, splits: Sequence[str] = ("train", "val"), until: Callable[[], bool] = lambda: False) -> None:
        """Produce until `stop` is called or `until` answers true, asked before every turn.

        Sleeps only when no split wanted a file, so that a full split holds up no other (requirement Q12). A full disk
        is waited for like a full queue; every other error of the disk ends the run.
        """
        self.open(splits)
        self.on_start()
        idle = 0
        try:
            for split in cycle(splits):
                if self._stopped or until():
                    return
                idle = 0 if self._turn_or_wait(split) else idle + 1
                if idle == len(splits):
                    self._sleep(min(self.config.sleep_seconds, _LONGEST_SLEEP))
                    idle = 0
        finally:
            self.on_stop()

    def stop(self) -> None:
        """Let `run` end after the turn it is in."""
        self._stopped = True

    def open(self, splits: Iterable[str] = ("train", "val")) -> None:
        """Make the folders, clear away what a killed provider left, write or judge meta.pkl, and find the next seq."""
        splits = list(splits)
        if not splits or not all(is_split(split) for split in splits):
            raise Refusal("CONFIG_INVALID", f"{splits!r} are not splits")
        meta = self.complete_meta(self.build_meta())
        existing = self.load_meta_if_exists()
        if existing is not None and not is_same(existing, meta):
            raise invalid(another_configuration(existing, meta))
        self.ensure_dirs(splits)
        if existing is None:
            self.write_meta(meta)
        self._schema = schema_in(meta)
        for split in splits:
            folder = self._folder(split)
            for temporary in folder.temporaries():
                disk.remove_leftover(temporary)
            visible = folder.visible()
            self._next_seq[split] = 1 + max((name.seq for name in visible), default=-1)
            self._last_ms[split] = max((name.timestamp for name in visible), default=0)

    def turn(self, split: str, now_ms: int) -> Path | None:
        """Take one turn of the loop: write one file and return its path, or None where the backlog is full."""
        if split not in self._next_seq:
            raise Refusal("CONFIG_INVALID", f"{split!r} is no split of this provider")
        self._folder(split).require_room(f"{split} gets no more files")
        if self.backlog_size(split) >= self.config.max_backlog_files:
            if self.verbose or split not in self._full:
                log.info("%s: %d files wait, as many as may", split, self.config.max_backlog_files)
            self._full.add(split)
            return None
        self._full.discard(split)
        return self.produce_one_file(split, self._next_seq[split], max(now_ms, self._last_ms[split]))

    def produce_one_file(self, split: str, seq: int, produced_at: int | None = None) -> Path:
        """Sample batches_per_file batches, write them under a temporary name and rename; return the path.

        The name has the time `produced_at`, or else the latest that was used.

        COUNTER_OVERFLOW where seq or the time has no 64 bits; CONFIG_INVALID where the split's folder is gone or a
        folder has the name of the file; SCHEMA_MISMATCH where a batch is not what batch_schema says. Where the disk
        refuses, the temporary file is removed, and the same seq is tried the next time.
        """
        if seq >= MODULUS:
            raise Refusal("COUNTER_OVERFLOW", f"{split} has used the last seq")
        produced_at = self._last_ms[split] if produced_at is None else produced_at
        # No time may come before that of a visible file (ruling QA06), which may be too long for any name.
        if produced_at >= MODULUS:
            raise Refusal("COUNTER_OVERFLOW", f"{split} has a file of a time that no clock reaches")
        folder = self._folder(split).path
        if not folder.is_dir():
            raise Refusal("CONFIG_INVALID", f"{folder} is no folder any more")
        num_batches = self.config.batches_per_file
        final = folder / final_name(produced_at, seq, num_batches, self._codec.ending)
        if disk.is_folder(final):
            raise Refusal("CONFIG_INVALID", f"{final} is a folder, and in the way of the next file")
        metadata = Metadata(self.config.batch_size, num_batches, seq, split, produced_at, self._schema)
        rng = FileRandom(file_seed(self.config.seed, split, seq))
        content = self._codec.encode(BatchFile(metadata, self._sample(split, rng)))
        temporary = folder / temporary_name(produced_at, seq, self._codec.ending)
        self._publish(temporary, final, content)
        # The file is visible now: this seq and time are used, even if the disk reports an error next.
        self._next_seq[split] = seq + 1
        self._last_ms[split] = produced_at
        self.produced += 1
        disk.sync_folder(folder)
        log.info("produced %s/%s, %d bytes", split, final.name, len(content))
        return final

    def backlog_size(self, split: str) -> int:
        """Count the files that wait for the consumer; temporary ones are not there yet."""
        return self._folder(split).backlog()

    def ensure_dirs(self, splits: Iterable[str] = ("train", "val")) -> None:
        """Make the root and the folder of each split."""
        for split in splits:
            self._folder(split).make()

    def write_meta(self, meta: Mapping[str, Any]) -> None:
        """Judge the metadata and write meta.pkl, whole or not at all."""
        self.validate_meta(meta)
        write_meta(self.root, meta)

    def load_meta_if_exists(self) -> Any:
        """Return what meta.pkl holds, None where there is none; META_INVALID for a damaged one, or for no map."""
        try:
            meta = read_meta(self.root)
        except Refusal as refusal:
            if refusal.code != "META_MISSING":
                raise
            return None
        if not isinstance(meta, dict):
            raise invalid(f"{META_NAME} holds no map")
        return meta

    def validate_meta(self, meta: object) -> None:
        """Raise META_INVALID where a key is missing or ill typed, or differs from the constructor (requirement Q16)."""
        checked = check_meta(meta, is_own=True)
        for name in ("batch_size", "block_size", "target_size"):
            given = getattr(self.config, name)
            if given is not None and checked.get(name) != given:
                raise invalid(f"the metadata's {name} is {checked.get(name)!r}, the constructor's {given}")

    def complete_meta(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Add the constructor's sizes where they are missing, and judge the whole; META_INVALID."""
        completed: Any = without_tuples(dict(meta) if isinstance(meta, Mapping) else meta)
        for name in ("batch_size", "block_size", "target_size"):
            given = getattr(self.config, name)
            if given is not None and isinstance(completed, dict):
                completed.setdefault(name, given)
        self.validate_meta(completed)
        return dict(completed)

    def purge(self) -> None:
        """Delete everything below `queue`, and meta.pkl with it, so that the dataset is made anew (requirement Q19).

        Where `queue` is a link to a folder, that folder is emptied and the link stays; links in it are not followed.
        """
        # The metadata goes last: without it a consumer refuses to start over a queue that is half gone.
        queue = self.root / QUEUE
        if disk.is_folder(queue):
            rmtree(queue)
        for name in disk.names(queue) if queue.is_dir() else []:
            disk.remove_leftover(queue / name)
        disk.remove(self.root / META_NAME)

    def _turn_or_wait(self, split: str) -> bool:
        try:
            return self.turn(split, self._now_ms()) is not None
        except OSError as error:
            if error.errno not in _FULL:
                raise
            log.warning("%s: the disk is full", split)
            return False

    def _sample(self, split: str, rng: FileRandom) -> dict[str, Tensor]:
        batches = []
        for index in range(self.config.batches_per_file):
            rng.batch_index = index
            batches.append(self._batch(self.sample_batch(split, rng)))
        return {field.name: concatenate([batch[field.name] for batch in batches]) for field in self._schema}

    def _batch(self, sampled: Mapping[str, Any]) -> dict[str, Tensor]:
        if sampled.keys() != {field.name for field in self._schema}:
            fields = ", ".join(field.name for field in self._schema)
            given = ", ".join(sorted(map(str, sampled))) or "nothing"
            raise Refusal("SCHEMA_MISMATCH", f"sample_batch must give {fields}, as batch_schema says: got {given}")
        return {field.name: self._rows(field, sampled[field.name]) for field in self._schema}

    def _rows(self, field: FieldSpec, array: Any) -> Tensor:
        try:
            tensor = tensor_of(array)
        except NotATensor as reason:
            raise Refusal("SCHEMA_MISMATCH", f"{field.name}: {reason}") from None
        shape = (self.config.batch_size, *field.shape)
        if tensor.dtype != field.dtype or tensor.shape != shape:
            said = f"{field.name} must have the dtype {field.dtype} and the shape {shape}"
            raise Refusal("SCHEMA_MISMATCH", f"{said}: got {tensor.dtype} and {tensor.shape}")
        if not is_whole(tensor):
            raise Refusal("SCHEMA_MISMATCH", f"{field.name} has {len(tensor.data)} bytes, not those of its shape")
        return tensor

    def _publish(self, temporary: Path, final: Path, content: bytes) -> None:
        try:
            disk.remove_leftover(temporary)
            with disk.new_file(temporary) as file:
                disk.write(file, content)
                disk.sync(file)
            temporary.replace(final)
        except OSError:
            with suppress(OSError):
                disk.remove(temporary)
            raise

    def _folder(self, split: str) -> QueueFolder:
        return QueueFolder(self.root, split)


DataProvider = DataProviderBase
