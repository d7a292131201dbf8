"""The container's manifest: its authoritative metadata and the list of its shards (seed 002 §II.G)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.field_type import FieldType, is_map_array, is_named_map, is_string, is_string_array
from impl.reference.checkpoint.fields import Fields, field_faults
from impl.reference.checkpoint.merkle import checkpoint_merkle_root
from impl.reference.checkpoint.path import MANIFEST_PATH, is_shard_path, shown
from impl.reference.checkpoint.reason import Fault
from impl.reference.checkpoint.shard import Shard, in_path_order
from impl.reference.checkpoint.version import parse_version

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
    """Yield a fault for each path that stands twice and each that is not listed (rulings CA04, CA06)."""
    seen: set[str] = set()
    for shard in shards:
        if shard.path in seen:
            yield Fault(shown(shard.path), "DUPLICATE_PATH")
        seen.add(shard.path)
        if not is_shard_path(shard.path):
            yield Fault(shown(shard.path), "BAD_PATH")


def policy_faults(manifest: Manifest, shards: Sequence[Shard]) -> Iterator[Fault]:
    """Yield a fault for each path of the partial-restore policy that no shard has, or that stands twice."""
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
