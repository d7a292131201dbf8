"""The machine `Pipeline.Consumer`: consumers by their handles."""

from dataclasses import dataclass
from typing import Final, Literal

from impl.reference.pipeline.consumer import ConsumerStats, DatasetConsumer
from impl.reference.pipeline.handles import Handles, given, refusals
from impl.reference.pipeline.loaded_file import Rows
from impl.types import Tensor, uint64

PREFIX: Final = "Pipeline.Consumer."
CONSTRUCTOR: Final = ("prefer_queue", "cache_files", "high_watermark", "low_watermark", "batch_size", "codec")


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Hold the constructor's names; what is absent has its default, `batch_size` the metadata's."""

    codec: Literal["npz", "pt"]
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
    """Say whether the next batch is there."""

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
            consumer = DatasetConsumer(root, "cpu", **given(config, CONSTRUCTOR))
        return OpenedConsumer(self._consumers.keep(consumer))

    def get_batch(self, *, handle: str, split: str, timeout_ms: uint64 | None = None) -> DeliveredBatch:
        """Hand out the next batch; CONFIG_INVALID, QUEUE_TIMEOUT, SCHEMA_MISMATCH, LEGACY_INVALID."""
        method = PREFIX + "GetBatch"
        consumer = self._consumers.find(handle, method)
        with refusals(method):
            fields = consumer.next_batch(split, seconds(timeout_ms), _fields)
        return DeliveredBatch(form="pair" if consumer.is_pair() else "dict", fields=fields)

    def wait_for_data(self, *, handle: str, split: str, timeout_ms: uint64 | None = None) -> Readiness:
        """Tell whether the next batch is there; CONFIG_INVALID, SCHEMA_MISMATCH."""
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
        """Return the counters and where each split stands."""
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
