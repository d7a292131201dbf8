"""The cursors of a checkpoint, written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.types import uint64


@dataclass(frozen=True, slots=True)
class Cursor:
    """Name the epoch and the next global virtual position in it (seed 000 §I.A)."""

    epoch: uint64
    global_index: uint64


OPERATOR: Final = "UML_OS.Data.DecodeCursors_v1"


@dataclass(frozen=True, slots=True)
class DecodedCursors:
    """Hold the cursor of every dataset key in a checkpoint."""

    cursors: dict[str, Cursor]


def decode_cursors(*, cursors_cbor: bytes) -> DecodedCursors:
    """Decode the canonical bytes of a map from dataset key to {epoch, global_index}.

    Anything else is CONTRACT_VIOLATION (seed 000 §10; requirement N39).
    """
    try:
        value = decode_canonical(cursors_cbor)
        return DecodedCursors(cursors=_read_cursors(value))
    except NotCanonical:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR) from None


def _read_cursors(value: object) -> dict[str, Cursor]:
    if not isinstance(value, dict):
        raise NotCanonical("not a map with text keys")
    return {dataset_key: _read_cursor(item) for dataset_key, item in value.items()}


def _read_cursor(item: object) -> Cursor:
    if not isinstance(item, dict):
        raise NotCanonical("cursor not a map with text keys")
    if set(item) != {"epoch", "global_index"}:
        raise NotCanonical("cursor with other fields")
    return Cursor(epoch=_read_counter(item["epoch"]), global_index=_read_counter(item["global_index"]))


def _read_counter(item: object) -> int:
    if not isinstance(item, int) or isinstance(item, bool):
        raise NotCanonical("counter not an integer")
    if item < 0:
        raise NotCanonical("counter below zero")
    return item


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
