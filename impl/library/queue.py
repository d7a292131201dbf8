"""The file queue for people: Python and NumPy numbers, and one class of failure."""

from __future__ import annotations

import os
import time
from abc import ABC
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, SupportsIndex

from impl.arguments import Judge, shown
from impl.failure import ContractFailure
from impl.reference.pipeline import command_line, consumer, metadata, provider
from impl.reference.pipeline.consumer import SYSTEM_CLOCK, Clock
from impl.reference.pipeline.metadata import FieldSpec
from impl.reference.pipeline.provider import FileRandom
from impl.reference.pipeline.queue_folder import is_split
from impl.reference.pipeline.refusal import QueueTimeout as TooLate
from impl.reference.pipeline.refusal import Refusal

CODECS: Final = ("pt", "npz")
_PROVIDER: Final = "Pipeline.Provider"
_CONSUMER: Final = "Pipeline.Consumer"
_SPLITS: Final = "'train', 'val', or one of them with '_rank' and a number"


class QueueTimeout(ContractFailure, TimeoutError):
    """No batch file arrived in time; a TimeoutError, too."""


@contextmanager
def _refusing(operator: str) -> Iterator[None]:
    """Make the library's failure of what the queue refuses inside."""
    try:
        yield
    except Refusal as refusal:
        kind = QueueTimeout if isinstance(refusal, TooLate) else ContractFailure
        raise _judge(operator).failure(str(refusal), kind, refusal.code) from None


def _judge(operator: str) -> Judge:
    return Judge(operator, "CONFIG_INVALID")


def _split(operator: str, split: object) -> str:
    judge = _judge(operator)
    if not is_split(judge.text("split", split)):
        raise judge.failure(f"split must be {_SPLITS}: got {shown(split)}")
    return str(split)


def _splits(operator: str, splits: Iterable[str]) -> list[str]:
    judge = _judge(operator)
    if isinstance(splits, str):
        raise judge.failure(f"splits must be a list of splits: got {shown(splits)}; write [{shown(splits)}]")
    found = [_split(operator, split) for split in splits]
    if not found:
        raise judge.failure("splits must be one split or more: got none")
    return found


class DataProvider(provider.DataProviderBase, ABC):
    """Fill a queue with batch files, at most `max_backlog_files` in each split; a dataset is a subclass.

    A subclass says what a batch is: `build_meta()` returns the metadata, `sample_batch(split, rng)` one array of shape
    [batch_size, ...] for each field of its batch_schema, of exactly its dtype. `batch_size`, `block_size`,
    `target_size`, `batches_per_file` and `max_backlog_files` are counts from 1 up, `sleep_seconds` are seconds, `seed`
    is an integer from 0 to 2^64 - 1; `codec` is pt, which needs no torch, or npz. One provider at a time works on a
    folder.

    Raises ContractFailure: CONFIG_INVALID, META_INVALID, SCHEMA_MISMATCH, COUNTER_OVERFLOW, QUARANTINE_FULL; OSError of
    the disk.
    Source: seed 001 §DataProvider Base API; contract `Pipeline.Provider`.

    >>> import numpy, tallystick, tempfile
    >>> class Counting(tallystick.DataProvider):
    ...     def build_meta(self):
    ...         schema = [{"name": "x", "dtype": "int64", "shape": [2], "role": "input"}]
    ...         return {"dataset_name": "counting", "training_type": "LM", "vocab_size": 9, "block_size": 2,
    ...                 "target_size": 2, "batch_schema": schema, "split_info": {"train": {}, "val": {}}}
    ...     def sample_batch(self, split, rng):
    ...         return {"x": numpy.arange(4).reshape(2, 2) + rng.batch_index}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counting = Counting(folder, batch_size=2, batches_per_file=1)
    ...     counting.run(["train"], until=lambda: counting.produced == 1)
    ...     tallystick.DatasetConsumer(folder).get_batch("train", timeout=5.0)["x"].tolist()
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        data_dir: str | os.PathLike[str],
        batch_size: SupportsIndex,
        block_size: SupportsIndex | None = None,
        target_size: SupportsIndex | None = None,
        batches_per_file: SupportsIndex = 100,
        max_backlog_files: SupportsIndex = 2,
        sleep_seconds: float = 2.0,
        seed: SupportsIndex = 1337,
        verbose: bool = False,
        *,
        codec: str = "pt",
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        judge = _judge(f"{_PROVIDER}.Open")
        with _refusing(f"{_PROVIDER}.Open"):
            super().__init__(
                judge.path("data_dir", data_dir),
                judge.integer("batch_size", batch_size, 1),
                judge.optional("block_size", block_size, 1),
                judge.optional("target_size", target_size, 1),
                judge.integer("batches_per_file", batches_per_file, 1),
                judge.integer("max_backlog_files", max_backlog_files, 1),
                judge.number("sleep_seconds", sleep_seconds, above=0),
                judge.integer("seed", seed),
                judge.truth("verbose", verbose),
                codec=judge.choice("codec", codec, CODECS),
                now_ms=now_ms,
                sleep=sleep,
            )

    def run(self, splits: Sequence[str] = ("train", "val"), until: Callable[[], bool] = lambda: False) -> None:
        """Produce until `stop` is called or `until` answers true; sleeps only when no split wants a file."""
        with _refusing(f"{_PROVIDER}.Produce"):
            super().run(_splits(f"{_PROVIDER}.Produce", splits), until)

    def open(self, splits: Iterable[str] = ("train", "val")) -> None:
        """Make the folders, clear away what a killed provider left, write or judge meta.pkl, and find the next seq."""
        with _refusing(f"{_PROVIDER}.Open"):
            super().open(_splits(f"{_PROVIDER}.Open", splits))

    def turn(self, split: str, now_ms: SupportsIndex) -> Path | None:
        """Write one file and return its path, or None where as many files wait as may; `now_ms` is the time in UTC."""
        judge = _judge(f"{_PROVIDER}.Produce")
        with _refusing(f"{_PROVIDER}.Produce"):
            return super().turn(_split(f"{_PROVIDER}.Produce", split), judge.integer("now_ms", now_ms))


class DatasetConsumer(consumer.DatasetConsumer):
    """Hand out the batches of the files that a provider leaves in a folder, each once and in order.

    `cache_files` is how many files are held in memory, from 1 up; the watermarks are numbers of files that `stats`
    compares the backlog with. `batch_size` cuts batches of another number of rows. Files of both codecs are read; where
    `codec` names one, the other is warned of. Batches are torch tensors where `device_type` or get_batch names a
    device, and of .pt files where torch is installed; otherwise NumPy arrays: from [batch_size, ...], as the schema
    says, and (X, Y) where its fields are exactly x and y. One consumer at a time works on a split; several threads may
    share it.

    Raises ContractFailure: CONFIG_INVALID, META_MISSING, META_INVALID; later QUEUE_TIMEOUT (a TimeoutError, too),
    SCHEMA_MISMATCH, LEGACY_INVALID, QUARANTINE_FULL. Source: seed 001 §DatasetConsumer API; contract
    `Pipeline.Consumer`.

    >>> import tallystick, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         tallystick.DatasetConsumer(folder)
    ...     except tallystick.ContractFailure as failure:
    ...         failure.code
    'META_MISSING'
    """

    def __init__(
        self,
        data_dir: str | os.PathLike[str],
        device_type: str | None = None,
        prefer_queue: bool = True,
        cache_files: SupportsIndex = 1,
        high_watermark: SupportsIndex = 2,
        low_watermark: SupportsIndex = 0,
        *,
        batch_size: SupportsIndex | None = None,
        codec: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        judge = _judge(f"{_CONSUMER}.Open")
        with _refusing(f"{_CONSUMER}.Open"):
            super().__init__(
                judge.path("data_dir", data_dir),
                None if device_type is None else judge.text("device_type", device_type),
                judge.truth("prefer_queue", prefer_queue),
                judge.integer("cache_files", cache_files, 1),
                judge.integer("high_watermark", high_watermark),
                judge.integer("low_watermark", low_watermark),
                batch_size=judge.optional("batch_size", batch_size, 1),
                codec=None if codec is None else judge.choice("codec", codec, CODECS),
                clock=judge.instance("clock", clock, Clock, "a Clock"),
            )

    def schema(self, split: str) -> list[FieldSpec]:
        """Return the fields of a split's batches, in order."""
        with _refusing(f"{_CONSUMER}.Schema"):
            return super().schema(_split(f"{_CONSUMER}.Schema", split))

    def get_batch(self, split: str, device: str | None = None, timeout: float | None = None) -> Any:
        """Return the next batch: (X, Y) where the schema is exactly x and y, else a dict by field name.

        `timeout` in seconds; None waits for ever, 0 is one look. A finished file is deleted just before this returns.
        """
        operator = f"{_CONSUMER}.GetBatch"
        if device is not None:
            _judge(operator).text("device", device)
        with _refusing(operator):
            return super().get_batch(_split(operator, split), device, _timeout(operator, timeout))

    def wait_for_data(self, split: str, timeout: float | None = None) -> bool:
        """Tell whether a next batch exists, after at most `timeout` seconds."""
        operator = f"{_CONSUMER}.WaitForData"
        with _refusing(operator):
            return super().wait_for_data(_split(operator, split), _timeout(operator, timeout))

    def reset_state(self, split: str | None = None) -> None:
        """Go back to the first row of the file in hand, of one split or of all."""
        operator = f"{_CONSUMER}.ResetState"
        with _refusing(operator):
            super().reset_state(None if split is None else _split(operator, split))

    def set_batch_size(self, new_bs: SupportsIndex) -> None:
        """Cut batches of another number of rows from the next row on."""
        operator = f"{_CONSUMER}.SetBatchSize"
        with _refusing(operator):
            super().set_batch_size(_judge(operator).integer("batch_size", new_bs, 1))


def _timeout(operator: str, timeout: float | None) -> float | None:
    if timeout is None or timeout == float("inf"):
        return None
    # Less than nothing is one look, as 0 is.
    return max(0.0, _judge(operator).number("timeout", timeout, above=float("-inf")))


def prepare(
    make: Callable[[Namespace], provider.DataProviderBase],
    parser: ArgumentParser,
    arguments: Sequence[str] | None = None,
) -> int:
    """Run the provider that `make` builds from the flags until its files are written or Ctrl-C; 0, else exit 2.

    `parser` is that of `provider_parser`. Source: seed 001 §DataProvider Base API.
    """
    try:
        return command_line.prepare(make, parser, arguments)
    except ContractFailure as failure:
        parser.exit(2, f"{failure.code}: {failure.sentence}\n")


def check_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata of a dataset as plain values; META_INVALID where a key is missing or ill typed (seed 001)."""
    with _refusing(f"{_PROVIDER}.Open"):
        return dict(metadata.check_meta(meta))


def write_meta(data_dir: str | os.PathLike[str], meta: Mapping[str, Any]) -> None:
    """Write meta.pkl into an existing folder, whole or not at all; META_INVALID, OSError of the disk (seed 001)."""
    with _refusing(f"{_PROVIDER}.Open"):
        metadata.write_meta(Path(_judge(f"{_PROVIDER}.Open").folder("data_dir", data_dir)), meta)


__all__ = [
    "Clock",
    "DataProvider",
    "DatasetConsumer",
    "FieldSpec",
    "FileRandom",
    "QueueTimeout",
    "check_meta",
    "prepare",
    "write_meta",
]
