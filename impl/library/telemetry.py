"""What a run saw, batch by batch: rows of a JSONL or Parquet file, and attributes of OpenTelemetry spans."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from itertools import chain
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol

import numpy as np

from impl.arguments import MAX_UINT64, Judge, shown
from impl.library.trace_files import Column, JsonLines, ParquetFile, Scalar, column_of
from impl.vectorized.records import OPERATOR, Batch
from impl.vectorized.sampler import NO_HASH, Sampler

Row = dict[str, Scalar]

_ARGUMENTS: Final = Judge(OPERATOR)
_RULE: Final = "data_replay_t of NextBatch_v2"
_PREFIX: Final = "tallystick."
_LARGEST_ATTRIBUTE: Final = 2**63 - 1
_FINAL_EPOCH, _PRODUCED = "cursor_after_epoch", "produced_count"


def row_of(value: object, **metrics: Scalar) -> Row:
    """Return the metadata of a batch as one flat row, then the run's own metrics.

    `value` is a batch of a Sampler, a chunk of a stream, a TrainingBatch, a batch of a queue, or any other dataclass or
    mapping. Members of members have both names, joined by `_`. Bytes are hexadecimal; lists are JSON; an array is told
    by `NAME_sha256`, the SHA-256 of its dtype, its shape and its bytes in C order. Of a Sampler's batch the row has the
    trace record and the metadata without their prefix (seed 000 §7).

    Raises ContractFailure with CONTRACT_VIOLATION for a value that has no place in a row, and for two columns of one
    name.

    >>> import tallystick
    >>> from tallystick.telemetry import row_of
    >>> sampler = tallystick.Sampler(cardinality=10, global_batch_size=4, seed_token=bytes(32))
    >>> row = row_of(sampler.batch_at(), loss=0.5)
    >>> row["global_position"], row["produced_count"], row["cursor_after_global_index"], row["loss"]
    (0, 4, 4, 0.5)
    """
    row: Row = {}
    for name, column in chain(_columns(value), metrics.items()):
        if name in row:
            raise _ARGUMENTS.failure(f"two columns have the name {name}; give one of them another name")
        row[name] = _scalar(name, column)
    return row


def attributes_of(value: object, **metrics: Scalar) -> Row:
    """Return the same row as attributes of OpenTelemetry: names begin with `tallystick.`.

    An integer that its 64 bits with a sign do not hold is a text of decimal digits.

    >>> from tallystick.telemetry import attributes_of
    >>> attributes_of({"epoch": 2, "position": 2**64 - 1})
    {'tallystick.epoch': 2, 'tallystick.position': '18446744073709551615'}
    """
    row = row_of(value, **metrics)
    return {_PREFIX + name: str(one) if _is_too_large(one) else one for name, one in row.items()}


class Span(Protocol):
    """A span of OpenTelemetry, as far as this module uses it."""

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Set several attributes."""


def set_span_attributes(value: object, *, span: Span | None = None, **metrics: Scalar) -> None:
    """Set `attributes_of(value)` on a span, without one on the current one (extra `telemetry`)."""
    if span is None:
        span = _current_span()
    span.set_attributes(attributes_of(value, **metrics))


def _current_span() -> Span:
    try:
        from opentelemetry.trace import get_current_span
    except ModuleNotFoundError as missing:
        said = "set_span_attributes needs OpenTelemetry: pip install 'tallystick[telemetry]'"
        raise ModuleNotFoundError(said, name=missing.name) from missing
    found: Span = get_current_span()
    return found


def run_header(sampler: Sampler, *, dataset_hash: bytes = NO_HASH, dataset_version: str = "") -> dict[str, Any]:
    """Return the header of a run: what decides whether two runs can be compared, and the header of seed 000 §7.

    `dataset_hash` (32 bytes) and `dataset_version` are those of the snapshot. Source: seed 000 §7; requirements N33
    and N44.
    """
    _ARGUMENTS.instance("sampler", sampler, Sampler, "a tallystick.Sampler")
    digest = _ARGUMENTS.octets("dataset_hash", dataset_hash, 32, "hashlib.sha256(b'...').digest() makes 32 bytes")
    return {
        "dataset": {
            "id": sampler.dataset_key,
            "version": _ARGUMENTS.text("dataset_version", dataset_version),
            "hash": digest.hex(),
            "cardinality": str(sampler.cardinality),
        },
        "sampler": sampler.batch_at().sampling_metadata.sampler_config_hash.hex(),
        "replay_token_rule": _RULE,
        "dataset_key": sampler.dataset_key,
        "cardinality": sampler.cardinality,
        "sampler_block_size": sampler.block_size,
        "is_shuffled_per_stage": {"train": True, "eval": False, "infer": False},
        "rank": sampler.rank,
        "world_size": sampler.world_size,
    }


class RunTrace:
    """Write the trace of a run: a header, a row for each batch, and the end (seed 000 §7).

    `file` is a new file that ends in `.jsonl` or, with the extra `telemetry`, in `.parquet`. `header` is that of
    `run_header`, or any mapping with the members of a run manifest (docs/reports.md). The columns and their types are
    those of the first row, and every row has them; their names are the `metric_schema` of the header. JSONL rows can be
    read while the run goes on, and a killed run keeps those that it wrote. `tally report compare` compares two files.

    Raises FileExistsError if the file exists, and ContractFailure with CONTRACT_VIOLATION for another
    ending, a row with other columns, and a row behind `close`.

    >>> import tallystick, tempfile
    >>> from tallystick.telemetry import RunTrace, run_header
    >>> sampler = tallystick.Sampler(cardinality=10, global_batch_size=4, seed_token=bytes(32))
    >>> with RunTrace(tempfile.mkdtemp() + "/run.jsonl", run_header(sampler)) as trace:
    ...     for batch in sampler:
    ...         trace.write(batch, loss=0.5)
    >>> trace.rows, trace.total_samples_seen
    (3, 10)
    """

    def __init__(self, file: str | PathLike[str], header: Mapping[str, Any]) -> None:
        kinds: dict[str, type[JsonLines | ParquetFile]] = {".jsonl": JsonLines, ".parquet": ParquetFile}
        path = Path(file)
        if path.suffix not in kinds:
            raise _ARGUMENTS.failure(f"file must end in .jsonl or .parquet: got {path.name!r}; name one of these")
        self._header = _header(header)
        self._sink = kinds[path.suffix](path)
        self._columns: dict[str, Column] | None = None
        self._closed = False
        self._final_epoch: Scalar | None = None
        self.rows = 0
        self.total_samples_seen = 0

    def write(self, value: object, **metrics: Scalar) -> None:
        """Write the row of a batch (`row_of`)."""
        row = row_of(value, **metrics)
        if self._closed:
            raise _ARGUMENTS.failure("the trace is closed; write before close()")
        if self._columns is None:
            self._begin(row, frozenset(metrics))
        self._sink.write(self._fitted(row))
        self.rows += 1
        self._final_epoch = row.get(_FINAL_EPOCH)
        produced = row.get(_PRODUCED, 0)
        self.total_samples_seen += produced if isinstance(produced, int) else 0

    def close(self) -> None:
        """Write the end of the run and close the file; a second call does nothing."""
        if self._closed:
            return
        if self._columns is None:
            self._begin({}, frozenset())
        self._closed = True
        end: Row = {"rows": self.rows}
        if self._final_epoch is not None:
            end |= {"final_epoch": self._final_epoch, "total_samples_seen": self.total_samples_seen}
        self._sink.close({"run_end": end})

    def __enter__(self) -> RunTrace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._closed = True
            self._sink.abandon()  # a run that failed has no end

    def _begin(self, row: Row, metrics: frozenset[str]) -> None:
        self._columns = {name: column_of(value, name in metrics) for name, value in row.items()}
        self._sink.begin({**self._header, "metric_schema": list(row)}, self._columns)

    def _fitted(self, row: Row) -> Row:
        """Return a row in the types of the first; an integer in a column of floats becomes one."""
        columns = self._columns or {}
        if row.keys() != columns.keys():
            other = ", ".join(sorted(row.keys() ^ columns.keys()))
            raise _ARGUMENTS.failure(f"a row has other columns than the first: {other}; give all of them in every row")
        for name, column in columns.items():
            if not column.holds(row[name]):
                raise _ARGUMENTS.failure(f"{name} must be {column.said}, as in the first row: got {shown(row[name])}")
        return {name: column.kind(row[name]) for name, column in columns.items()}


def _header(header: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(json.dumps({"run_manifest": 1, "run_trace": 1, **header}, allow_nan=False))
        json.dumps(found, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise _ARGUMENTS.failure("header must be a mapping of values of JSON; run_header(sampler) makes one") from None
    return found


def _columns(value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Batch):
        members = {**_members(value.sampling_metadata), **_members(value.trace_record)}
        yield from _flat("", {**members, "batch_sample_indices": value.batch_sample_indices})
    elif isinstance(value, Mapping) or is_dataclass(value):
        yield from _flat("", _members(value))
    else:
        said = f"got {shown(value)}; give the batch itself"
        raise _ARGUMENTS.failure(f"a row is made of a batch, a dataclass or a mapping: {said}")


def _flat(prefix: str, members: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in members.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type)):
            yield from _flat(f"{name}_", _members(value))
        elif hasattr(value, "__array__") and not isinstance(value, np.generic):
            yield f"{name}_sha256", _digest(name, value)
        elif value is not None:
            yield name, value


def _members(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {str(name): one for name, one in value.items()}
    return {one.name: getattr(value, one.name) for one in fields(value) if not one.name.startswith("_")}


def _scalar(name: str, value: Any) -> Scalar:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _json(name, value)
    if isinstance(value, str):
        return _ARGUMENTS.text(name, value)
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int) and -(2**63) <= value <= MAX_UINT64:
        return int(value)
    said = f"{name} must be a bool, a number of 64 bits, a text, bytes or an array"
    raise _ARGUMENTS.failure(f"{said}: got {shown(value)}; leave it out")


def _json(name: str, items: Sequence[Any]) -> str:
    try:
        return json.dumps(list(items), separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise _ARGUMENTS.failure(f"{name} is a list that is no JSON; give an array, or leave it out") from None


def _digest(name: str, value: Any) -> str:
    """Return the digest of an array; a tensor is read where it is, without its gradient."""
    try:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):
        array = np.array(object())
    if array.dtype.hasobject:  # its bytes are addresses, which differ from run to run
        raise _ARGUMENTS.failure(f"{name} must be an array of numbers, bools or texts that NumPy reads; convert it")
    return sha256(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()).hexdigest()


def _is_too_large(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST_ATTRIBUTE

