"""A header, serialized with its hash."""

from dataclasses import dataclass
from typing import Final

from impl.reference.checkpoint.blob import encode_blob
from impl.reference.checkpoint.header import checkpoint_hash_of, header_faults, limit_faults
from impl.reference.checkpoint.reason import refuse_any
from impl.types import Value, bytes32

OPERATOR: Final = "UML_OS.Checkpoint.Serialize_v1"


@dataclass(frozen=True, slots=True)
class SerializedCheckpoint:
    """Hold a checkpoint in one piece, and the hash of its header."""

    checkpoint_blob: bytes
    checkpoint_hash: bytes32


def serialize(*, header: Value) -> SerializedCheckpoint:
    """Serialize a header in canonical CBOR and attach its hash.

    A header that its schema refuses fails with the first reason (seed 002 §5, §II.F; requirements C06, C08, C10;
    ruling CA23).
    """
    refuse_any(OPERATOR, header_faults(header), header)
    assert isinstance(header, dict)
    refuse_any(OPERATOR, limit_faults(header), header)
    return SerializedCheckpoint(checkpoint_blob=encode_blob(header), checkpoint_hash=checkpoint_hash_of(header))
