"""A container, verified whole and restored whole or in part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from impl.reference.checkpoint import disk
from impl.reference.checkpoint.container import (
    CONTAINER_DIGESTS,
    MAX_ENTRIES,
    Document,
    Stage,
    artifact_index_faults,
    chain_faults,
    component_faults,
    content_faults,
    digest_faults,
    expectation_faults,
    header_root_faults,
    identity_faults,
    read_header,
    read_manifest,
    required_components,
    restore_profile_id_of,
    restored_by_default,
    section_hash_faults,
    selection_faults,
    trace_faults,
)
from impl.reference.checkpoint.disk import name_faults, root_faults, usable
from impl.reference.checkpoint.fields import HEADER_PATH, MANIFEST_PATH, Fault, is_shard_path, refuse, refuse_any
from impl.reference.checkpoint.manifest import (
    PREFIX,
    Manifest,
    Shard,
    accountant_faults,
    checkpoint_merkle_root,
    full_checkpoint_hash_of,
    is_dp_enabled,
    manifest_faults,
    path_faults,
    policy_faults,
    shard_of,
    shards_in,
)
from impl.reference.checkpoint.report import RestoreReport, Step, Stopwatch, restore_report
from impl.reference.checkpoint.schema import Header, checkpoint_hash_of, header_faults
from impl.types import Value

OPERATOR: Final = "UML_OS.Checkpoint.ReadContainer_v1"


@dataclass(frozen=True, slots=True)
class RestoredContainer:
    """Hold the report, and the header with the restored shards by path; a verification has neither."""

    report: RestoreReport
    header: Value | None = None
    files: dict[str, bytes] | None = None


def read_container(
    *,
    root: str,
    name: str,
    stage: Stage,
    expected: Value,
    shards: list[str] | None = None,
    verify: bool | None = None,
) -> RestoredContainer:
    """Verify every file of a container, at every stage, and return the header and the shards asked for.

    Without `shards`, train gets all shards, eval and infer those of the model parameters; with `shards`, exactly
    those, if the manifest's policy declares them. With `verify` everything is judged and only the report returned.
    Fails with the first reason that applies (seed 002 §II.G-§II.I, §6; requirements C11, C12, C17-C21, C26-C34, C55,
    C56, C58; rulings CA01, CA11, CA15, CA16, CA18, CA32, CA43, CA44).
    """
    stopwatch = Stopwatch()
    refuse_any(OPERATOR, [*root_faults(root), *name_faults(name)])
    folder = Path(root) / name
    with usable(OPERATOR):
        sizes = _scan(folder)
        header_document, manifest_document = read_header(folder, sizes), read_manifest(folder, sizes)
        header, manifest = header_document.item, manifest_document.item
        faults = [*_form_faults(header_document, manifest_document), *expectation_faults(expected, CONTAINER_DIGESTS)]
        refuse_any(OPERATOR, faults, header)

        assert isinstance(header, dict)
        assert isinstance(manifest, dict)
        assert isinstance(expected, dict)
        listed = shards_in(manifest)
        digests = {
            "checkpoint_hash": checkpoint_hash_of(header),
            "full_checkpoint_hash": full_checkpoint_hash_of(manifest_document.content),
        }
        faults = [*digest_faults(expected, digests), *_binding_faults(header, manifest, listed)]
        faults += [*_listing_faults(listed, sizes), *path_faults(listed), *policy_faults(manifest, listed)]
        # A shard is read only where its size is the listed one, so that the list bounds what is held.
        asked = shards if shards is not None else restored_by_default(stage, [shard.path for shard in listed])
        files = _verify(folder, listed, sizes, set() if verify else set(asked), faults)
        refuse_any(OPERATOR, faults, header)

    paths = [shard.path for shard in listed]
    components = required_components(stage, is_dp_enabled(manifest, header))
    faults = [*accountant_faults(manifest, header), *content_faults(files.small, header)]
    faults += [*component_faults(components, [*asked, HEADER_PATH]), *trace_faults(stage, paths)]
    if shards is not None:
        faults += selection_faults(shards, manifest, paths)
    faults += [*chain_faults(expected, header), *identity_faults(expected, header)]
    refuse_any(OPERATOR, faults, header)

    profile_id = restore_profile_id_of(stage, components)
    step: Step = "verify" if verify else "restore"
    report = restore_report(header, step, sum(sizes.values()), stopwatch.elapsed_ms(), profile_id)
    if verify:
        return RestoredContainer(report)
    return RestoredContainer(report, header, files.restored)


def _scan(folder: Path) -> dict[str, int]:
    if not disk.exists(folder):
        refuse(OPERATOR, [Fault(MANIFEST_PATH, "MISSING_SHARD")])
    if not disk.is_folder(folder):
        refuse(OPERATOR, [Fault("name", "BAD_PATH")])
    try:
        tree = disk.scan(folder, MAX_ENTRIES)
    except disk.LimitExceeded:
        refuse(OPERATOR, [Fault("name", "LIMIT_EXCEEDED")])
    # Nothing is opened in a folder that holds a symbolic link, a pipe or a device.
    refuse_any(OPERATOR, [Fault(path, "BAD_PATH") for path in tree.strange])
    return tree.sizes


def _form_faults(header: Document, manifest: Document) -> Iterator[Fault]:
    if header.fault is not None:
        yield header.fault
    else:
        yield from header_faults(header.item)
    if manifest.fault is not None:
        yield manifest.fault
    else:
        yield from manifest_faults(manifest.item)


def _binding_faults(header: Header, manifest: Manifest, listed: Sequence[Shard]) -> Iterator[Fault]:
    if manifest["checkpoint_hash"] != checkpoint_hash_of(header):
        yield Fault(f"{PREFIX}checkpoint_hash", "HASH_MISMATCH")
    # Three shards and four with the last twice share a root, so a list with a path twice has none (ruling CA04).
    if len({shard.path for shard in listed}) < len(listed):
        return
    if manifest["checkpoint_merkle_root"] != checkpoint_merkle_root(listed):
        yield Fault(f"{PREFIX}checkpoint_merkle_root", "ROOT_MISMATCH")
    yield from header_root_faults(header, listed)
    yield from section_hash_faults(manifest, listed, PREFIX)
    yield from artifact_index_faults(manifest, listed)


def _listing_faults(listed: Sequence[Shard], sizes: dict[str, int]) -> Iterator[Fault]:
    for shard in listed:
        if is_shard_path(shard.path) and shard.path not in sizes:
            yield Fault(shard.path, "MISSING_SHARD")
    for path in sizes.keys() - {shard.path for shard in listed} - {HEADER_PATH, MANIFEST_PATH}:
        yield Fault(path, "EXTRA_SHARD")


@dataclass(frozen=True, slots=True)
class _Verified:
    """Hold the shards to restore, and the small ones whose content is judged."""

    restored: dict[str, bytes]
    small: dict[str, bytes]


def _verify(
    folder: Path, listed: Sequence[Shard], sizes: dict[str, int], asked: set[str], faults: list[Fault]
) -> _Verified:
    verified = _Verified(restored={}, small={})
    for shard in listed:
        if not is_shard_path(shard.path) or shard.path not in sizes:
            continue
        if sizes[shard.path] != shard.size_bytes:
            faults.append(Fault(shard.path, "SHARD_MISMATCH"))
            continue
        content = disk.read_head(folder / shard.path, shard.size_bytes)
        if shard_of(shard.path, content) != shard:
            faults.append(Fault(shard.path, "SHARD_MISMATCH"))
        if shard.path in asked:
            verified.restored[shard.path] = content
        if shard.path.endswith(".cbor"):
            verified.small[shard.path] = content
    return verified
