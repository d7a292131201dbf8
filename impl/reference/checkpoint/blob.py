"""A checkpoint in one piece: header and hash in one byte string."""

from dataclasses import dataclass
from typing import Final

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint.field_type import is_bytes32
from impl.reference.checkpoint.header import MAX_HEADER_BYTES, Header, checkpoint_hash_of
from impl.reference.checkpoint.reason import Fault

FORMAT: Final = "uml_os_checkpoint_v1"

# The array head, the format's text of 21 bytes and the hash's byte string of 34 stand around the header.
MAX_BLOB_BYTES: Final = 1 + 21 + MAX_HEADER_BYTES + 34


# Stands for the header of a blob that does not open, because null is a header too.
SHUT: Final = object()


@dataclass(frozen=True, slots=True)
class OpenedBlob:
    """Hold what a blob says, however wrong, or the fault that keeps it shut."""

    header: object = SHUT
    checkpoint_hash: bytes = b""
    fault: Fault | None = None


def encode_blob(header: Header) -> bytes:
    """Return the canonical CBOR of the format, the header and its hash (ruling CA23)."""
    return encode_canonical([FORMAT, header, checkpoint_hash_of(header)])


def open_blob(checkpoint_blob: bytes) -> OpenedBlob:
    """Take a blob apart; nothing of a blob that is too long is looked at (requirements C07, C11; ruling CA23)."""
    if len(checkpoint_blob) > MAX_BLOB_BYTES:
        return OpenedBlob(fault=Fault("checkpoint_blob", "LIMIT_EXCEEDED"))
    try:
        parts = decode_canonical(checkpoint_blob)
    except NotCanonical:
        return OpenedBlob(fault=Fault("checkpoint_blob", "NON_CANONICAL"))
    if not isinstance(parts, list) or len(parts) != 3 or parts[0] != FORMAT:
        return OpenedBlob(fault=Fault("checkpoint_blob", "WRONG_TYPE"))
    if not is_bytes32(parts[2]):
        return OpenedBlob(header=parts[1], fault=Fault("checkpoint_hash", "WRONG_TYPE"))
    return OpenedBlob(header=parts[1], checkpoint_hash=parts[2])
