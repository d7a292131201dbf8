"""The cursor map as canonical CBOR, and back."""

from __future__ import annotations

from hashlib import sha256
from struct import pack
from typing import Final

from impl.arguments import shown
from impl.failure import default_failure
from impl.vectorized.records import Cursor, DecodedCursors, EncodedCursors

UINT, BYTES, TEXT, ARRAY, MAP = 0, 2, 3, 4, 5

# Every head of one or two bytes.
HEADS: Final = tuple(
    tuple(bytes((major << 5 | n,) if n < 24 else (major << 5 | 24, n)) for n in range(256)) for major in range(8)
)


def head(major: int, argument: int) -> bytes:
    """Return the shortest head of an item; the argument is below 2^64."""
    if argument < 256:
        return HEADS[major][argument]
    first = major << 5
    if argument < 1 << 16:
        return pack(">BH", first | 25, argument)
    if argument < 1 << 32:
        return pack(">BI", first | 26, argument)
    return pack(">BQ", first | 27, argument)


def text(content: str) -> bytes:
    """Return a text string."""
    encoded = content.encode()
    return head(TEXT, len(encoded)) + encoded


def octets(content: bytes) -> bytes:
    """Return a byte string."""
    return head(BYTES, len(content)) + content


def boolean(truth: bool) -> bytes:
    """Return true or false."""
    return b"\xf5" if truth else b"\xf4"


SEED_PREFIX: Final = head(ARRAY, 5) + text("nextbatch_epoch_seed_v2")
REPLAY_PREFIX: Final = head(ARRAY, 7) + text("nextbatch_v2")
CONFIG_PREFIX: Final = head(ARRAY, 6)
CONFIG_SUFFIX: Final = (
    text("epoch_seed_rule_v2") + text("intra_block_affine_coprime_v1") + text("rank_contiguous_shard_v1")
)


def epoch_seed(token: bytes, manifest_hash: bytes, dataset_key: str, epoch: int) -> bytes:
    """Return the 16-byte seed of an epoch (seed 000 §3.3; ruling NA06)."""
    preimage = SEED_PREFIX + octets(token) + octets(manifest_hash) + text(dataset_key) + head(UINT, epoch)
    return sha256(preimage).digest()[:16]


def epoch_seed_hash(seed: bytes) -> bytes:
    """Return the 32-byte hash of an epoch seed (ruling NA25)."""
    return sha256(octets(seed)).digest()


def data_replay_t(token: bytes, dataset_key: str, epoch: int, global_index: int, world_size: int, rank: int) -> bytes:
    """Return the 32-byte contribution of a call to the replay token (seed 000 §0.B)."""
    numbers = head(UINT, epoch) + head(UINT, global_index) + head(UINT, world_size) + head(UINT, rank)
    return sha256(REPLAY_PREFIX + octets(token) + text(dataset_key) + numbers).digest()


def sampler_config_hash(sampling_mode: str, block_size: int, drop_last: bool) -> bytes:
    """Return the 32-byte hash of what shapes the sequence besides the seed (seed 000 §0.I; requirement N28)."""
    middle = text(sampling_mode) + head(UINT, block_size) + boolean(drop_last)
    return sha256(CONFIG_PREFIX + middle + CONFIG_SUFFIX).digest()


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
        said = "cursors_cbor must be the canonical bytes of a cursor map, as encode_cursors writes them"
        raise default_failure("CONTRACT_VIOLATION", DECODE, f"{said}: got {shown(cursors_cbor)} of another kind")
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
