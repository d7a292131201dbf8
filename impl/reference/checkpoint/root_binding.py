"""The roots that header and manifest state, held against the shards."""

from collections.abc import Iterator, Sequence

from impl.reference.checkpoint.header import Header
from impl.reference.checkpoint.merkle import (
    checkpoint_merkle_root,
    dp_accountant_state_root_hash,
    optimizer_state_root_hash,
    section_manifest_hash,
    tensors_root_hash,
)
from impl.reference.checkpoint.path import ACCOUNTANT, OPTIMIZER, TENSORS
from impl.reference.checkpoint.reason import Fault
from impl.reference.checkpoint.shard import Shard


def header_root_faults(header: Header, shards: Sequence[Shard]) -> Iterator[Fault]:
    """Yield a fault for each root of the header that is not that of the shards (requirements C16, C19-C21)."""
    if header["checkpoint_merkle_root"] != checkpoint_merkle_root(shards):
        yield Fault("checkpoint_merkle_root", "ROOT_MISMATCH")
    if header["tensors_root_hash"] != tensors_root_hash(shards):
        yield Fault("tensors_root_hash", "ROOT_MISMATCH")
    if header["optimizer_state_root_hash"] != optimizer_state_root_hash(shards):
        yield Fault("optimizer_state_root_hash", "ROOT_MISMATCH")
    accountant_root = dp_accountant_state_root_hash(shards)
    if header.get("dp_accountant_state_root_hash", accountant_root) != accountant_root:
        yield Fault("dp_accountant_state_root_hash", "ROOT_MISMATCH")


def section_hash_faults(manifest: Header, shards: Sequence[Shard], prefix: str) -> Iterator[Fault]:
    """Yield a fault for each `*_manifest_hash` given that is not that of the shards (ruling CA19)."""
    sections = {
        "weights_manifest_hash": TENSORS,
        "optimizer_manifest_hash": OPTIMIZER,
        "dp_accountant_manifest_hash": ACCOUNTANT,
    }
    for name, folder in sections.items():
        if name in manifest and manifest[name] != section_manifest_hash(folder, shards):
            yield Fault(prefix + name, "ROOT_MISMATCH")
