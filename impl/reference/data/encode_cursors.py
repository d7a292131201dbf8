"""The cursors of a checkpoint, written."""

from dataclasses import dataclass

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.data.cursor import Cursor


@dataclass(frozen=True, slots=True)
class EncodedCursors:
    """Hold the bytes of a checkpoint's data cursors."""

    cursors_cbor: bytes


def encode_cursors(*, cursors: dict[str, Cursor]) -> EncodedCursors:
    """Encode a map from dataset key to {epoch, global_index} as canonical CBOR (seed 000 §10; requirement N39)."""
    value = {
        dataset_key: {"epoch": cursor.epoch, "global_index": cursor.global_index}
        for dataset_key, cursor in cursors.items()
    }
    return EncodedCursors(cursors_cbor=encode_canonical(value))
