"""The cursor map as canonical CBOR, and back."""

from typing import Final

from impl.failure import default_failure
from impl.vectorized.preimages import MAP, TEXT, UINT, head, text
from impl.vectorized.records import Cursor, DecodedCursors, EncodedCursors

DECODE: Final = "UML_OS.Data.DecodeCursors_v1"
CURSOR_HEAD: Final = head(MAP, 2)
EPOCH: Final = text("epoch")
GLOBAL_INDEX: Final = text("global_index")


def encode_cursors(*, cursors: dict[str, Cursor]) -> EncodedCursors:
    """Return the canonical bytes of a map from dataset key to cursor (seed 000 §10; requirement N39)."""
    return EncodedCursors(_encoded(cursors))


def decode_cursors(*, cursors_cbor: bytes) -> DecodedCursors:
    """Return the map that the bytes encode; anything but the canonical bytes is CONTRACT_VIOLATION (seed 000 §10).

    The bytes are read by the plain grammar, then the map is written again: only what comes back unchanged is canonical.
    """
    try:
        cursors = _decoded(cursors_cbor)
    except (ValueError, IndexError):
        cursors = None
    if cursors is None or _encoded(cursors) != cursors_cbor:
        raise default_failure("CONTRACT_VIOLATION", DECODE)
    return DecodedCursors(cursors)


def _encoded(cursors: dict[str, Cursor]) -> bytes:
    entries = sorted(
        text(key) + CURSOR_HEAD + EPOCH + head(UINT, cursor.epoch) + GLOBAL_INDEX + head(UINT, cursor.global_index)
        for key, cursor in cursors.items()
    )
    return head(MAP, len(entries)) + b"".join(entries)


def _decoded(data: bytes) -> dict[str, Cursor]:
    cursors = {}
    count, at = _argument(data, 0, MAP)
    for _ in range(count):
        length, at = _argument(data, at, TEXT)
        key = data[at : at + length].decode()
        epoch, at = _argument(data, _past(data, at + length, CURSOR_HEAD + EPOCH), UINT)
        global_index, at = _argument(data, _past(data, at, GLOBAL_INDEX), UINT)
        cursors[key] = Cursor(epoch, global_index)
    return cursors


def _argument(data: bytes, at: int, major: int) -> tuple[int, int]:
    """Return the argument of the head at a position and the position after it; ValueError, IndexError."""
    initial = data[at]
    if initial >> 5 != major or initial & 31 > 27:
        raise ValueError(initial)
    if initial & 31 < 24:
        return initial & 31, at + 1
    stop = at + 1 + (1 << (initial & 31) - 24)
    if stop > len(data):
        raise IndexError(stop)
    return int.from_bytes(data[at + 1 : stop], "big"), stop


def _past(data: bytes, at: int, expected: bytes) -> int:
    if not data.startswith(expected, at):
        raise ValueError(at)
    return at + len(expected)
