"""A container on disk, opened: its files by size, its header and its manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from impl.failure import ContractFailure
from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint import disk
from impl.reference.checkpoint.fields import (
    ACCOUNTANT,
    ACCOUNTANT_PATH,
    ARTIFACTS_PATH,
    CURSORS_PATH,
    HEADER_PATH,
    LINK_PATH,
    MANIFEST_PATH,
    OPTIMIZER,
    PLAN_PATH,
    RNG_PATH,
    TENSORS,
    Fault,
    Fields,
    FieldType,
    field_faults,
    is_named_map,
    is_shard_path,
    is_string_array,
    link_faults,
    shown,
)
from impl.reference.checkpoint.manifest import (
    MAX_MANIFEST_BYTES,
    MAX_SHARDS,
    PREFIX,
    Manifest,
    Shard,
    checkpoint_merkle_root,
    dp_accountant_state_root_hash,
    optimizer_state_root_hash,
    section_manifest_hash,
    tensors_root_hash,
)
from impl.reference.checkpoint.schema import MAX_HEADER_BYTES, Header
from impl.reference.data.cursors import decode_cursors


def selection_faults(asked: Sequence[str], manifest: Manifest, paths: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each path that no shard has, that occurs twice or that the policy does not declare.

    The policy is the manifest's list of paths that may be restored without the others (requirement C27).
    """
    for path, times in Counter(asked).items():
        if not is_shard_path(path):
            yield Fault(shown(path), "BAD_PATH")
        elif path not in paths:
            yield Fault(path, "MISSING_SHARD")
        if times > 1:
            yield Fault(shown(path), "DUPLICATE_PATH")
    if "partial_restore" not in manifest:
        yield Fault(f"{PREFIX}partial_restore", "PARTIAL_NOT_DECLARED")
        return
    declared = manifest["partial_restore"]
    assert is_string_array(declared)
    for path in set(asked) - set(declared):
        yield Fault(shown(path), "PARTIAL_NOT_DECLARED")


RNG_STATE: Final = "rng_state"
RNG_WORDS: Final = 6
MAX_UINT32: Final = 2**32 - 1


def content_faults(files: Mapping[str, bytes], header: Mapping[str, object]) -> Iterator[Fault]:
    """Yield a fault for each `.cbor` shard that is not canonical or not what its path promises.

    No float that is not finite reaches a hash through them (seed 002 §0.Z; requirements C32, C49; ruling CA17).
    """
    for path, content in files.items():
        if path.endswith(".cbor"):
            yield from _shard_faults(path, content, header)


def _shard_faults(path: str, content: bytes, header: Mapping[str, object]) -> Iterator[Fault]:
    try:
        item = decode_canonical(content)
    except NotCanonical:
        yield Fault(path, "NON_CANONICAL")
        return
    if path == LINK_PATH:
        yield from link_faults(item, header)
    if path == RNG_PATH and not is_rng_state(item):
        yield Fault(path, "WRONG_TYPE")
    if path == CURSORS_PATH and not _is_cursors(content):
        yield Fault(path, "WRONG_TYPE")


def is_rng_state(item: object) -> bool:
    """Tell whether an item is ["rng_state", k0, k1, c0, c1, c2, c3] with words of 32 bits (ruling CA17)."""
    if not isinstance(item, list) or len(item) != 1 + RNG_WORDS or item[0] != RNG_STATE:
        return False
    return all(type(word) is int and 0 <= word <= MAX_UINT32 for word in item[1:])


def _is_cursors(content: bytes) -> bool:
    try:
        decode_cursors(cursors_cbor=content)
    except ContractFailure:
        return False
    return True


Stage = Literal["train", "eval", "infer"]

# Where each component lives; a path that ends in "/" is a folder. The header names the runtime that it was written in.
HOME: Final = {
    "data_cursors": CURSORS_PATH,
    "dp_accountant_state": ACCOUNTANT_PATH,
    "minimal_runtime_config": HEADER_PATH,
    "model_params": TENSORS,
    "optimizer_state": OPTIMIZER,
    "rng_states": RNG_PATH,
    "tmmu_plan": PLAN_PATH,
}


def required_components(stage: Stage, dp_enabled: bool) -> list[str]:
    """Return the sorted names of the components that a stage needs (requirements C28, C29; rulings CA18, CA32)."""
    if stage != "train":
        return ["minimal_runtime_config", "model_params"]
    needed = ["data_cursors", "model_params", "optimizer_state", "rng_states", "tmmu_plan"]
    if dp_enabled:
        needed.append("dp_accountant_state")
    return sorted(needed)


def restore_profile_id_of(stage: Stage, components: list[str]) -> str:
    """Return the 16 hex digits that name a stage with its components (requirement C30; ruling CA32)."""
    preimage = ["restore_profile", [stage, sorted(components)]]
    return sha256(encode_canonical(preimage)).hexdigest()[:16]


def component_faults(components: list[str], paths: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each component that none of the restored paths holds (requirement C28)."""
    for component in components:
        if not any(_lives_in(path, HOME[component]) for path in paths):
            yield Fault(component, "MISSING_COMPONENT")


def _lives_in(path: str, home: str) -> bool:
    return path.startswith(home) if home.endswith("/") else path == home


def trace_faults(stage: Stage, paths: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for the trace link and the artifact index that a container to train from has not.

    The layout marks neither as optional (seed 002 §II.G, §II.I; requirement C55; ruling CA44).
    """
    for path in (LINK_PATH, ARTIFACTS_PATH):
        if stage == "train" and path not in paths:
            yield Fault(path, "MISSING_COMPONENT")


def restored_by_default(stage: Stage, paths: Collection[str]) -> list[str]:
    """Return the shards that a stage restores unless told otherwise: all to train, the parameters to eval and infer."""
    if stage == "train":
        return list(paths)
    return [path for path in paths if path.startswith(TENSORS)]


# In the order of seed 002 §II.I, which decides the mismatch that is reported.
IDENTITY: Final[Mapping[str, FieldType]] = MappingProxyType(
    {
        "tenant_id": "string",
        "run_id": "string",
        "replay_token": "bytes32",
        "trace_root_hash": "bytes32",
        "checkpoint_merkle_root": "bytes32",
        "manifest_hash": "bytes32",
        "sampler_config_hash": "bytes32",
        "tmmu_plan_hash": "bytes32",
        "backend_binary_hash": "bytes32",
        "determinism_profile_hash": "bytes32",
    }
)

BLOB_DIGESTS: Final[Mapping[str, FieldType]] = MappingProxyType({"checkpoint_hash": "bytes32"})
CONTAINER_DIGESTS: Final[Mapping[str, FieldType]] = MappingProxyType(
    {"checkpoint_hash": "bytes32", "full_checkpoint_hash": "bytes32"}
)
CHAIN: Final[Mapping[str, FieldType]] = MappingProxyType({"checkpoint_hash_prev": "bytes32"})


def expectation_faults(expected: object, digests: Mapping[str, FieldType]) -> Iterator[Fault]:
    """Yield a fault for every part of the context map that cannot be compared: no typing error passes silently."""
    if not is_named_map(expected):
        yield Fault("expected", "WRONG_TYPE")
        return
    comparable = Fields(required={}, optional={**IDENTITY, **digests, **CHAIN})
    yield from field_faults(expected, comparable, prefix="expected.")


def digest_faults(expected: Header, digests: Mapping[str, bytes]) -> Iterator[Fault]:
    """Yield a fault for each expected digest that the checkpoint does not have (ruling CA01)."""
    for name, digest in digests.items():
        if expected.get(name, digest) != digest:
            yield Fault(name, "HASH_MISMATCH")


def chain_faults(expected: Header, header: Header) -> Iterator[Fault]:
    """Yield a fault where the checkpoint does not follow the expected one (seed 002 §II.I; requirement C34)."""
    if "checkpoint_hash_prev" not in expected:
        return
    if header.get("checkpoint_hash_prev") != expected["checkpoint_hash_prev"]:
        yield Fault("checkpoint_hash_prev", "CHAIN_MISMATCH")


def identity_faults(expected: Header, header: Header) -> Iterator[Fault]:
    """Yield the first of the ten identity fields that differs (seed 002 §II.I; requirement C12; ruling CA11)."""
    for name in IDENTITY:
        if name in expected and expected[name] != header[name]:
            yield Fault(name, "IDENTITY_MISMATCH")
            return


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


def artifact_index_faults(manifest: Header, shards: Sequence[Shard]) -> Iterator[Fault]:
    """Yield a fault if the index exists and is not the one that the manifest names (requirement C56; CA44)."""
    for shard in shards:
        if shard.path == ARTIFACTS_PATH and shard.sha256 != manifest["artifact_index_hash"]:
            yield Fault(f"{PREFIX}artifact_index_hash", "HASH_MISMATCH")


# Every shard may be in a folder of its own, with one folder around it.
MAX_ENTRIES: Final = 3 * MAX_SHARDS + 16


@dataclass(frozen=True, slots=True)
class Document:
    """Hold one CBOR file of a container: its bytes and its item, or the fault that keeps them away."""

    content: bytes = b""
    item: object = None
    fault: Fault | None = None


def read_document(folder: Path, path: str, sizes: dict[str, int], most_bytes: int) -> Document:
    """Read one CBOR file of a container; nothing of a file that is too long is looked at."""
    if path not in sizes:
        return Document(fault=Fault(path, "MISSING_SHARD"))
    try:
        content = disk.read(folder / path, most_bytes)
    except disk.LimitExceeded:
        return Document(fault=Fault(path, "LIMIT_EXCEEDED"))
    try:
        return Document(content, decode_canonical(content))
    except NotCanonical:
        return Document(content, fault=Fault(path, "NON_CANONICAL"))


def read_header(folder: Path, sizes: dict[str, int]) -> Document:
    """Read a container's header (ruling CA15)."""
    return read_document(folder, HEADER_PATH, sizes, MAX_HEADER_BYTES)


def read_manifest(folder: Path, sizes: dict[str, int]) -> Document:
    """Read a container's manifest."""
    return read_document(folder, MANIFEST_PATH, sizes, MAX_MANIFEST_BYTES)
