"""The hashes of the sampler: each is SHA-256 over the canonical CBOR of its preimage (seed 000 §0.B)."""

from hashlib import sha256

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.data.cursor import Cursor


def derive_epoch_seed(kernel_replay_token: bytes, manifest_hash: bytes, dataset_key: str, epoch: int) -> bytes:
    """Return the 16 bytes that seed an epoch, from the cursor's epoch on every call (seed 000 §3.3; ruling NA06)."""
    preimage = ["nextbatch_epoch_seed_v2", kernel_replay_token, manifest_hash, dataset_key, epoch]
    return sha256(encode_canonical(preimage)).digest()[0:16]


def hash_epoch_seed(epoch_seed: bytes) -> bytes:
    """Return the hash that a trace shows in place of the epoch seed (ruling NA25)."""
    return sha256(encode_canonical(epoch_seed)).digest()


def derive_data_replay_t(
    kernel_replay_token: bytes, dataset_key: str, cursor: Cursor, world_size: int, rank: int
) -> bytes:
    """Return the call's contribution to the replay token (seed 000 §0.B; requirement N27)."""
    preimage = [
        "nextbatch_v2",
        kernel_replay_token,
        dataset_key,
        cursor.epoch,
        cursor.global_index,
        world_size,
        rank,
    ]
    return sha256(encode_canonical(preimage)).digest()


def hash_sampler_config(sampling_mode: str, sampler_block_size: int, drop_last: bool) -> bytes:
    """Return the hash of all that shapes the sequence apart from the seed (seed 000 §0.I; requirement N28)."""
    preimage = [
        sampling_mode,
        sampler_block_size,
        drop_last,
        "epoch_seed_rule_v2",
        "intra_block_affine_coprime_v1",
        "rank_contiguous_shard_v1",
    ]
    return sha256(encode_canonical(preimage)).digest()
