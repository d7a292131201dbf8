"""The roots that bind a container's shards; H is SHA-256 of canonical CBOR."""

from collections.abc import Iterable
from hashlib import sha256

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.path import ACCOUNTANT, OPTIMIZER, TENSORS
from impl.reference.checkpoint.shard import Shard, below, in_path_order


def checkpoint_merkle_root(shards: Iterable[Shard]) -> bytes:
    """Return the root over all shards in the order of their paths (requirement C16; rulings CA03, CA05).

    The last node of every odd level stands twice; a single leaf is the root; no leaf has a root of its own.
    """
    level = [leaf(shard) for shard in in_path_order(shards)]
    if not level:
        return _hash(["ckpt_merkle_root", []])
    while len(level) > 1:
        if len(level) % 2 == 1:
            level.append(level[-1])
        level = [_hash(["ckpt_merkle_node", [*level[at : at + 2]]]) for at in range(0, len(level), 2)]
    return level[0]


def leaf(shard: Shard) -> bytes:
    """Return the leaf of a shard: path text, 32 bytes of hash, size in bytes (ruling CA03)."""
    return _hash(["ckpt_shard", [shard.path, shard.sha256, shard.size_bytes]])


def tensors_root_hash(shards: Iterable[Shard]) -> bytes:
    """Return the joint hash of the shards below `tensors/` (requirement C19)."""
    return _hash(["tensors_root", [leaf(shard) for shard in below(TENSORS, shards)]])


def optimizer_state_root_hash(shards: Iterable[Shard]) -> bytes:
    """Return the joint hash of the shards below `optimizer/` (requirement C20)."""
    return _hash(["optimizer_root", [leaf(shard) for shard in below(OPTIMIZER, shards)]])


def dp_accountant_state_root_hash(shards: Iterable[Shard]) -> bytes:
    """Return the joint hash of the shards below `dp/` (requirement C21)."""
    return _hash(["dp_accountant_root", [leaf(shard) for shard in below(ACCOUNTANT, shards)]])


def section_manifest_hash(folder: str, shards: Iterable[Shard]) -> bytes:
    """Return the hash of the list of shards below a folder (seed 002 §II.G; ruling CA19)."""
    return _hash([[shard.path, shard.sha256, shard.size_bytes] for shard in below(folder, shards)])


def _hash(preimage: object) -> bytes:
    return sha256(encode_canonical(preimage)).digest()
