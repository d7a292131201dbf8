"""A checkpoint written as a folder of shards: complete under its name, or not there."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint import disk
from impl.reference.checkpoint.container import (
    artifact_index_faults,
    content_faults,
    header_root_faults,
    section_hash_faults,
)
from impl.reference.checkpoint.disk import name_faults, root_faults, usable
from impl.reference.checkpoint.fields import HEADER_PATH, MANIFEST_PATH, Fault, is_shard_path, refuse_any, shown
from impl.reference.checkpoint.manifest import (
    MAX_MANIFEST_BYTES,
    Manifest,
    accountant_faults,
    build_manifest,
    checkpoint_merkle_root,
    encode_manifest,
    full_checkpoint_hash_of,
    manifest_faults,
    policy_faults,
    shards_of,
)
from impl.reference.checkpoint.report import RestoreTraceRecord, trace_record_of
from impl.reference.checkpoint.schema import checkpoint_hash_of, header_faults, limit_faults
from impl.types import Value, bytes32

OPERATOR: Final = "UML_OS.Checkpoint.WriteContainer_v1"


@dataclass(frozen=True, slots=True)
class GivenManifest:
    """Hold the part of a manifest that the caller gives; the rest is computed (rulings CA19, CA20)."""

    dataset_snapshot_id: str
    artifact_index_hash: bytes32
    dp_enabled: bool | None = None
    partial_restore: list[str] | None = None
    weights_manifest_hash: bytes32 | None = None
    optimizer_manifest_hash: bytes32 | None = None
    dp_accountant_manifest_hash: bytes32 | None = None


@dataclass(frozen=True, slots=True)
class WrittenContainer:
    """Hold the hash of the header, that of the manifest, the root over the shards, and the record of the write."""

    checkpoint_hash: bytes32
    full_checkpoint_hash: bytes32
    checkpoint_merkle_root: bytes32
    trace_record: RestoreTraceRecord


def write_container(
    *, root: str, name: str, header: Value, files: dict[str, bytes], manifest: GivenManifest
) -> WrittenContainer:
    """Write a container that does not exist yet, so that a crash leaves all of it or nothing under its name.

    Everything is judged before anything is written. Fails with the first reason that applies (seed 002 §II.G, §7;
    requirements C14-C22, C56, C59; rulings CA01, CA03-CA06, CA24, CA25, CA43, CA44). An error of the disk stops the
    operator and deletes nothing.
    """
    faults = [*root_faults(root), *name_faults(name), *header_faults(header)]
    faults += [Fault(shown(path), "BAD_PATH") for path in files if not is_shard_path(path)]
    # A path that is refused is neither hashed nor listed.
    shards = shards_of({path: content for path, content in files.items() if is_shard_path(path)})
    given = {key: content for key, content in asdict(manifest).items() if content is not None}
    full = build_manifest(given, shards, checkpoint_hash=bytes(32))
    faults += manifest_faults(full)
    refuse_any(OPERATOR, faults, header)

    assert isinstance(header, dict)
    faults += [*accountant_faults(full, header), *policy_faults(full, shards), *limit_faults(header)]
    faults += [*header_root_faults(header, shards), *section_hash_faults(full, shards, f"{MANIFEST_PATH}.")]
    faults += [*artifact_index_faults(full, shards), *content_faults(files, header)]
    checkpoint_hash = checkpoint_hash_of(header)
    manifest_cbor = _encode(full, checkpoint_hash)
    if len(manifest_cbor) > MAX_MANIFEST_BYTES:
        faults.append(Fault(MANIFEST_PATH, "LIMIT_EXCEEDED"))
    with usable(OPERATOR):
        if disk.exists(Path(root) / name):
            faults.append(Fault("name", "TARGET_EXISTS"))
    refuse_any(OPERATOR, faults, header)

    contents = {**files, HEADER_PATH: encode_canonical(header), MANIFEST_PATH: manifest_cbor}
    with usable(OPERATOR):
        _publish(Path(root), name, contents)
    return WrittenContainer(
        checkpoint_hash=checkpoint_hash,
        full_checkpoint_hash=full_checkpoint_hash_of(manifest_cbor),
        checkpoint_merkle_root=checkpoint_merkle_root(shards),
        trace_record=trace_record_of(header, "write"),
    )


def _encode(full: Manifest, checkpoint_hash: bytes) -> bytes:
    return encode_manifest({**full, "checkpoint_hash": checkpoint_hash})


def _publish(root: Path, name: str, contents: dict[str, bytes]) -> None:
    temporary, final = root / f".{name}.tmp", root / name
    _clear(temporary)
    temporary.mkdir()
    for path in sorted(contents):
        _write_file(temporary / path, contents[path])
    # Without the folders inside, a power loss can leave a container whose shards have no names (ruling CA24).
    for subfolder in disk.subfolders(temporary):
        disk.sync_folder(subfolder)
    disk.sync_folder(temporary)
    disk.rename(temporary, final)
    disk.sync_folder(root)


def _clear(temporary: Path) -> None:
    if disk.remove_leftover(temporary):
        disk.sync_folder(temporary.parent)


def _write_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with disk.new_file(path) as file:
        disk.write(file, content)
        disk.sync(file)
