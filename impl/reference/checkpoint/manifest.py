"""The container's manifest: its authoritative metadata and the list of its shards (seed 002 §II.G)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.fields import (
    ACCOUNTANT,
    MANIFEST_PATH,
    OPTIMIZER,
    TENSORS,
    Fault,
    Fields,
    FieldType,
    field_faults,
    is_map_array,
    is_named_map,
    is_shard_path,
    is_string,
    is_string_array,
    shown,
)
from impl.reference.checkpoint.schema import parse_version

# The polynomial 0x1EDC6F41 with its bits reversed.
POLYNOMIAL: Final = 0x82F63B78


def crc32c(data: bytes) -> int:
    """Return the checksum of bytes: reflected, from all ones, complemented at the end."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder = (remainder >> 8) ^ TABLE[(remainder ^ byte) & 0xFF]
    return remainder ^ 0xFFFFFFFF


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


TABLE: Final = tuple(_entry(byte) for byte in range(256))


@dataclass(frozen=True, slots=True)
class Shard:
    """Name a file by its path, with the hash and the size in bytes of its content."""

    path: str
    sha256: bytes
    size_bytes: int


def shard_of(path: str, content: bytes) -> Shard:
    """Return the shard of a content."""
    return Shard(path=path, sha256=sha256(content).digest(), size_bytes=len(content))


def shards_of(files: Mapping[str, bytes]) -> list[Shard]:
    """Return the shards of a container's files, in the order of their paths."""
    return in_path_order(shard_of(path, content) for path, content in files.items())


def in_path_order(shards: Iterable[Shard]) -> list[Shard]:
    """Return shards sorted by the UTF-8 bytes of the whole path: `shard=10` before `shard=2` (ruling CA06)."""
    return sorted(shards, key=lambda shard: shard.path.encode("utf-8"))


def below(folder: str, shards: Iterable[Shard]) -> list[Shard]:
    """Return the shards below a folder, in the order of their paths."""
    return in_path_order(shard for shard in shards if shard.path.startswith(folder))


def checkpoint_merkle_root(shards: Iterable[Shard]) -> bytes:
    """Return the root over all shards in the order of their paths (requirement C16; rulings CA03, CA05).

    The last node of every odd level occurs twice; a single leaf is the root; no leaf has a root of its own.
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


MANIFEST_VERSION: Final = "1.0.0"
PREFIX: Final = f"{MANIFEST_PATH}."
MAX_MANIFEST_BYTES: Final = 2**24
MAX_SHARD_BYTES: Final = 2**40
MAX_SHARDS: Final = 2**16

GIVEN_OPTIONAL: Final[Mapping[str, FieldType]] = MappingProxyType(
    {
        "dp_enabled": "bool",
        "partial_restore": "array<string>",
        "weights_manifest_hash": "bytes32",
        "optimizer_manifest_hash": "bytes32",
        "dp_accountant_manifest_hash": "bytes32",
    }
)

MANIFEST: Final = Fields(
    required={
        "manifest_version": "string",
        "checkpoint_hash": "bytes32",
        "checkpoint_merkle_root": "bytes32",
        "shards": "array<map>",
        "dataset_snapshot_id": "string",
        "artifact_index_hash": "bytes32",
    },
    optional=GIVEN_OPTIONAL,
)

SHARD: Final = Fields(required={"path": "string", "sha256": "bytes32", "size_bytes": "uint64"}, optional={})

Manifest = dict[str, object]


def build_manifest(given: Mapping[str, object], shards: Sequence[Shard], checkpoint_hash: bytes) -> Manifest:
    """Return the manifest: the version, the computed keys and the given ones (rulings CA01, CA19, CA20)."""
    return {
        "manifest_version": MANIFEST_VERSION,
        "checkpoint_hash": checkpoint_hash,
        "checkpoint_merkle_root": checkpoint_merkle_root(shards),
        "shards": [
            {"path": shard.path, "sha256": shard.sha256, "size_bytes": shard.size_bytes}
            for shard in in_path_order(shards)
        ],
        **given,
    }


def full_checkpoint_hash_of(manifest_cbor: bytes) -> bytes:
    """Return the hash of the manifest's canonical bytes, which binds everything (requirement C18; ruling CA01)."""
    return sha256(manifest_cbor).digest()


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the manifest's canonical bytes."""
    return encode_canonical(manifest)


def manifest_faults(manifest: object) -> Iterator[Fault]:
    """Yield everything that is wrong with the form of a manifest (requirements C15, C33)."""
    if not is_named_map(manifest):
        yield Fault(MANIFEST_PATH, "WRONG_TYPE")
        return
    yield from field_faults(manifest, MANIFEST, prefix=PREFIX)
    yield from _version_faults(manifest.get("manifest_version"))
    entries = manifest.get("shards")
    if is_map_array(entries):
        yield from _entries_faults(entries)


def _version_faults(text: object) -> Iterator[Fault]:
    if not is_string(text):
        return
    version = parse_version(text)
    if version is None:
        yield Fault(PREFIX + "manifest_version", "BAD_VERSION")
    elif text != MANIFEST_VERSION:
        yield Fault(PREFIX + "manifest_version", "INCOMPATIBLE_VERSION")


def _entries_faults(entries: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    if len(entries) > MAX_SHARDS:
        yield Fault(PREFIX + "shards", "LIMIT_EXCEEDED")
        return
    well_formed = True
    for position, entry in enumerate(entries):
        faults = list(field_faults(entry, SHARD, prefix=f"{PREFIX}shards.{position}."))
        well_formed = well_formed and not faults
        yield from faults
    if not well_formed:
        return
    paths = [entry["path"].encode() for entry in entries]
    if paths != sorted(paths):
        yield Fault(PREFIX + "shards", "NON_CANONICAL")
    for entry in entries:
        if entry["size_bytes"] > MAX_SHARD_BYTES:
            yield Fault(shown(entry["path"]), "LIMIT_EXCEEDED")


def shards_in(manifest: Manifest) -> list[Shard]:
    """Return the shards that a well-formed manifest lists."""
    entries = manifest["shards"]
    assert is_map_array(entries)
    shards: list[Any] = [Shard(**entry) for entry in entries]  # type: ignore[arg-type]
    return shards


def path_faults(shards: Sequence[Shard]) -> Iterator[Fault]:
    """Yield a fault for each path that occurs twice and each that is not listed (rulings CA04, CA06)."""
    seen: set[str] = set()
    for shard in shards:
        if shard.path in seen:
            yield Fault(shown(shard.path), "DUPLICATE_PATH")
        seen.add(shard.path)
        if not is_shard_path(shard.path):
            yield Fault(shown(shard.path), "BAD_PATH")


def policy_faults(manifest: Manifest, shards: Sequence[Shard]) -> Iterator[Fault]:
    """Yield a fault for each path of the partial-restore policy that no shard has, or that occurs twice."""
    policy = manifest.get("partial_restore", [])
    assert is_string_array(policy)
    paths = {shard.path for shard in shards}
    for path, times in Counter(policy).items():
        if path not in paths:
            yield Fault(shown(path), "MISSING_SHARD")
        if times > 1:
            yield Fault(shown(path), "DUPLICATE_PATH")


def is_dp_enabled(manifest: Manifest, header: Mapping[str, object]) -> bool:
    """Tell whether the run accounts for privacy: the manifest says, else the header's root does (ruling CA18)."""
    enabled = manifest.get("dp_enabled", "dp_accountant_state_root_hash" in header)
    return enabled is True


def accountant_faults(manifest: Manifest, header: Mapping[str, object]) -> Iterator[Fault]:
    """Yield a fault where privacy is accounted for without a root that binds the account (requirement C21)."""
    if is_dp_enabled(manifest, header) and "dp_accountant_state_root_hash" not in header:
        yield Fault("dp_accountant_state_root_hash", "MISSING_FIELD")
