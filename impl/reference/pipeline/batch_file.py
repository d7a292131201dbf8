"""What a batch file holds: its metadata and the tensors of all its batches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from impl.reference.pipeline.field_spec import FieldSpec, NotASchema, schema_of
from impl.reference.pipeline.plain_value import is_text
from impl.reference.pipeline.refusal import Corrupt
from impl.types import Tensor

_NUMBERS: Final = ("batch_size", "num_batches", "file_idx", "produced_at")


@dataclass(frozen=True, slots=True)
class Metadata:
    """Hold the metadata of a batch file; `file_idx` is its seq, `produced_at` in UTC milliseconds."""

    batch_size: int
    num_batches: int
    file_idx: int
    split: str
    produced_at: int
    schema: tuple[FieldSpec, ...]

    def as_map(self) -> dict[str, Any]:
        """Return the map that stands in the file, its keys in the seed's order."""
        return {
            "batch_size": self.batch_size,
            "num_batches": self.num_batches,
            "file_idx": self.file_idx,
            "split": self.split,
            "produced_at": self.produced_at,
            "schema": [field.as_map() for field in self.schema],
        }


@dataclass(frozen=True, slots=True)
class BatchFile:
    """Hold a whole batch file; what a legacy file says of itself is not looked at."""

    metadata: Metadata | None
    tensors: Mapping[str, Tensor]


class Codec(Protocol):
    """Turn batch files into bytes and back; reading raises Corrupt and runs nothing that stands in the bytes."""

    ending: str

    def judge_end(self, tail: bytes) -> None:
        """Raise Corrupt where no file of this codec ends so: a large one is not read for nothing."""

    def encode(self, file: BatchFile) -> bytes:
        """Return the bytes of a file, its tensors in schema order."""

    def decode(self, content: bytes) -> BatchFile:
        """Read the bytes of a file."""

    def decode_legacy(self, content: bytes) -> BatchFile:
        """Read the tensors of a file of the baseline, whatever else stands in it."""


def metadata_of(described: object) -> Metadata:
    """Read a metadata map of exactly the seed's keys; Corrupt (ruling QA33)."""
    if not isinstance(described, dict) or described.keys() != {*_NUMBERS, "split", "schema"}:
        raise Corrupt("the metadata has other keys")
    for key in _NUMBERS:
        if type(described[key]) is not int or described[key] < 0:
            raise Corrupt(f"the metadata's {key} is no count")
    if not is_text(described["split"]):
        raise Corrupt("the metadata's split is no text")
    try:
        schema = schema_of(described["schema"])
    except NotASchema as reason:
        raise Corrupt(str(reason)) from None
    return Metadata(**{**described, "schema": schema})
