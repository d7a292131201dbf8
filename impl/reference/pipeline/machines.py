"""The machine `Pipeline.Consumer`: consumers by their handles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Generic, Literal, TypeVar
from zlib import crc32

from impl.failure import default_failure
from impl.reference.pipeline.consumer import ConsumerStats, DatasetConsumer
from impl.reference.pipeline.metadata import SPLITS, schema_in
from impl.reference.pipeline.provider import DataProviderBase, FileRandom
from impl.reference.pipeline.refusal import Refusal
from impl.reference.pipeline.sources import Rows
from impl.reference.pipeline.tensors import packed
from impl.types import Tensor, Value, float64, uint64

# A prime that every dtype can hold: no count is lost in a cast, float16 and int8 included.
MODULUS: Final = 127


def counts(seed: int, field: str, start: int, count: int) -> list[int]:
    """Return elements start.. of a field of a file: (file seed + crc32(name) + k) mod 127."""
    first = seed + crc32(field.encode("utf-8"))
    return [(first + k) % MODULUS for k in range(start, start + count)]


class CountingProvider(DataProviderBase):
    """Fill every field with counts, in C order over the file's tensor."""

    def __init__(self, data_dir: str, meta: Any, **config: Any) -> None:
        super().__init__(data_dir, **config)
        self._meta = meta

    def build_meta(self) -> dict[str, Any]:
        """Return the metadata that it was given."""
        meta: dict[str, Any] = self._meta
        return meta

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Tensor]:
        """Count on from where the file's last batch ended."""
        batch = {}
        for field in schema_in(self._meta):
            size = self.config.batch_size * prod(field.shape)
            numbers = counts(rng.file_seed, field.name, rng.batch_index * size, size)
            batch[field.name] = packed(field.dtype, (self.config.batch_size, *field.shape), numbers)
        return batch


Held = TypeVar("Held")


class Handles(Generic[Held]):
    """Give every opened object a handle of its own; a handle is never given twice."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._given = 0

    def keep(self, item: Held) -> str:
        """Return a new handle of an object."""
        self._given += 1
        handle = str(self._given)
        self._held[handle] = item
        return handle

    def find(self, handle: str, method: str) -> Held:
        """Return the object of a handle; CONTRACT_VIOLATION for one that is not open."""
        if handle not in self._held:
            raise default_failure("CONTRACT_VIOLATION", method)
        return self._held[handle]

    def close(self, handle: str, method: str) -> None:
        """Forget a handle; CONTRACT_VIOLATION for one that is not open."""
        self.find(handle, method)
        del self._held[handle]


def given(settings: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the settings that are not absent, by name."""
    return {name: value for name in names if (value := getattr(settings, name)) is not None}


@contextmanager
def refusals(method: str) -> Iterator[None]:
    """Answer a refusal with the failure record of a method."""
    try:
        yield
    except Refusal as refusal:
        raise default_failure(refusal.code, method) from refusal


OPEN: Final = "Pipeline.Provider.Open"
PRODUCE: Final = "Pipeline.Provider.Produce"
CLOSE: Final = "Pipeline.Provider.Close"
SIZES: Final = ("batch_size", "block_size", "target_size", "batches_per_file", "max_backlog_files")
PROVIDER: Final = (*SIZES, "sleep_seconds", "seed", "verbose", "codec")


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Hold the constructor's names; `meta` is what build_meta returns, `sampler` what sample_batch counts.

    What is absent has the constructor's default.
    """

    batch_size: uint64
    codec: Literal["pt", "npz"]
    meta: Value
    sampler: Literal["counting"]
    block_size: uint64 | None = None
    target_size: uint64 | None = None
    batches_per_file: uint64 | None = None
    max_backlog_files: uint64 | None = None
    sleep_seconds: float64 | None = None
    seed: uint64 | None = None
    verbose: bool | None = None
    splits: list[str] | None = None


@dataclass(frozen=True, slots=True)
class OpenedProvider:
    """Hold the handle of a new provider."""

    handle: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Hold what one turn of the loop did: `path` is relative to the root."""

    produced: bool
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ClosedProvider:
    """Say that a provider is closed."""


class ProviderMachine:
    """Hold the providers that are open."""

    def __init__(self) -> None:
        self._providers: Handles[CountingProvider] = Handles()

    def open(self, *, root: str, config: ProviderSettings) -> OpenedProvider:
        """Make the folders, write or judge meta.pkl and find each split's next seq; CONFIG_INVALID, META_INVALID."""
        with refusals(OPEN):
            provider = CountingProvider(root, native(config.meta), **given(config, PROVIDER))
            provider.open(SPLITS if config.splits is None else config.splits)
        return OpenedProvider(self._providers.keep(provider))

    def produce(self, *, handle: str, split: str, now_ms: uint64) -> Turn:
        """Write at most one file; CONFIG_INVALID for a split of no provider, COUNTER_OVERFLOW, CONTRACT_VIOLATION."""
        provider = self._providers.find(handle, PRODUCE)
        with refusals(PRODUCE):
            path = provider.turn(split, now_ms)
        if path is None:
            return Turn(produced=False)
        return Turn(produced=True, path=path.relative_to(provider.root).as_posix())

    def close(self, *, handle: str) -> ClosedProvider:
        """Forget a provider; its files stay."""
        self._providers.close(handle, CLOSE)
        return ClosedProvider()


def native(value: Value) -> object:
    """Return a value as metadata holds it: a map with keys that are no texts becomes a dict as well."""
    match value:
        case list():
            return [native(item) for item in value]
        case dict():
            return {key: native(item) for key, item in value.items()}
        case tuple():
            return _map_of(value)
    return value


def _map_of(pairs: tuple[tuple[object, object], ...]) -> object:
    try:
        return {native(key): native(item) for key, item in pairs}
    except TypeError:
        # A key that is a list or a map: no metadata, and refused as such.
        return object()


PREFIX: Final = "Pipeline.Consumer."
CONSUMER: Final = ("prefer_queue", "cache_files", "high_watermark", "low_watermark", "batch_size", "codec")


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Hold the constructor's names; what is absent has its default, `batch_size` the metadata's."""

    codec: Literal["pt", "npz"] | None = None
    prefer_queue: bool | None = None
    cache_files: uint64 | None = None
    high_watermark: uint64 | None = None
    low_watermark: uint64 | None = None
    batch_size: uint64 | None = None


@dataclass(frozen=True, slots=True)
class OpenedConsumer:
    """Hold the handle of a new consumer."""

    handle: str


@dataclass(frozen=True, slots=True)
class BatchField:
    """Hold one field of a batch."""

    name: str
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class DeliveredBatch:
    """Hold a batch, its fields in the order of the schema."""

    form: Literal["pair", "dict"]
    fields: list[BatchField]


@dataclass(frozen=True, slots=True)
class Readiness:
    """Say whether a next batch exists."""

    ready: bool


@dataclass(frozen=True, slots=True)
class SchemaField:
    """Describe one field of the schema."""

    name: str
    dtype: str
    shape: list[uint64]
    role: str | None = None


@dataclass(frozen=True, slots=True)
class DeclaredSchema:
    """Hold the schema of a split."""

    fields: list[SchemaField]


@dataclass(frozen=True, slots=True)
class Done:
    """Say that a method without an answer has run."""


class ConsumerMachine:
    """Hold the consumers that are open; CONTRACT_VIOLATION for a handle that is none of theirs."""

    def __init__(self) -> None:
        self._consumers: Handles[DatasetConsumer] = Handles()

    def open(self, *, root: str, config: ConsumerSettings) -> OpenedConsumer:
        """Read meta.pkl and choose queue or legacy mode; CONFIG_INVALID, META_MISSING, META_INVALID."""
        with refusals(PREFIX + "Open"):
            consumer = DatasetConsumer(root, "cpu", **given(config, CONSUMER))
        return OpenedConsumer(self._consumers.keep(consumer))

    def get_batch(self, *, handle: str, split: str, timeout_ms: uint64 | None = None) -> DeliveredBatch:
        """Hand out the next batch; CONFIG_INVALID, QUEUE_TIMEOUT, SCHEMA_MISMATCH, LEGACY_INVALID."""
        method = PREFIX + "GetBatch"
        consumer = self._consumers.find(handle, method)
        with refusals(method):
            fields = consumer.next_batch(split, seconds(timeout_ms), _fields)
        return DeliveredBatch(form="pair" if consumer.is_pair() else "dict", fields=fields)

    def wait_for_data(self, *, handle: str, split: str, timeout_ms: uint64 | None = None) -> Readiness:
        """Tell whether a next batch exists; CONFIG_INVALID, SCHEMA_MISMATCH."""
        method = PREFIX + "WaitForData"
        consumer = self._consumers.find(handle, method)
        with refusals(method):
            return Readiness(consumer.wait_for_data(split, seconds(timeout_ms)))

    def set_batch_size(self, *, handle: str, batch_size: uint64) -> Done:
        """Cut batches of another size from the next row on; CONFIG_INVALID."""
        method = PREFIX + "SetBatchSize"
        consumer = self._consumers.find(handle, method)
        with refusals(method):
            consumer.set_batch_size(batch_size)
        return Done()

    def reset_state(self, *, handle: str, split: str | None = None) -> Done:
        """Go back to the first row of the file in hand; CONFIG_INVALID."""
        method = PREFIX + "ResetState"
        consumer = self._consumers.find(handle, method)
        with refusals(method):
            consumer.reset_state(split)
        return Done()

    def stats(self, *, handle: str) -> ConsumerStats:
        """Return the counters and the position of each split."""
        return self._consumers.find(handle, PREFIX + "Stats").statistics()

    def schema(self, *, handle: str, split: str) -> DeclaredSchema:
        """Return the fields of a split's batches; CONFIG_INVALID."""
        method = PREFIX + "Schema"
        consumer = self._consumers.find(handle, method)
        with refusals(method):
            fields = consumer.schema(split)
        return DeclaredSchema([SchemaField(f.name, f.dtype, list(f.shape), f.role) for f in fields])

    def close(self, *, handle: str) -> Done:
        """Forget a consumer; a file in hand stays in the queue."""
        self._consumers.close(handle, PREFIX + "Close")
        return Done()


def seconds(timeout_ms: int | None) -> float | None:
    """Return a timeout in seconds; None waits for ever."""
    return None if timeout_ms is None else timeout_ms / 1000


def _fields(rows: list[Rows]) -> list[BatchField]:
    return [BatchField(r.field.name, Tensor(r.field.dtype, (r.count, *r.field.shape), bytes(r.data))) for r in rows]
