"""The canonical CBOR that the sampler hashes, written directly: only unsigned integers, texts, bytes and booleans."""

from hashlib import sha256
from struct import pack
from typing import Final

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
