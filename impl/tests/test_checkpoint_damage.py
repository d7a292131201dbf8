"""A container that was damaged after it was written: every kind of damage has its reason, and none gets through."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from impl.failure import ContractFailure
from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.manifest import Shard, checkpoint_merkle_root
from impl.tests.checkpoint_calls import (
    ABSENT,
    REPLAY_TOKEN,
    call,
    reading,
    reason,
    refusal,
    rewrite,
    tree,
    whole_files,
    written,
)
from impl.tests.test_serialization import VALUES

SHARD = "tensors/rank=0/shard=1.bin"
OTHER = "tensors/rank=0/shard=2.bin"
MANIFEST = "checkpoint_manifest.cbor"
HEADER = "checkpoint_header.cbor"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole container."""
    written(tmp_path)
    return tmp_path / "c"


def found(folder: Path, stage: str = "train") -> tuple[str, str]:
    return reason("ReadContainer", **reading(folder.parent, folder.name, stage=stage))


def flip(file: Path, offset: int = 0) -> None:
    content = bytearray(file.read_bytes())
    content[offset] ^= 1
    file.write_bytes(content)


def swap(folder: Path) -> None:
    first, second = folder / SHARD, folder / OTHER
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def replace_by_link(file: Path, target: Path) -> None:
    file.unlink()
    file.symlink_to(target)


def replace_by_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def replace_by_link_to_a_folder(folder: Path) -> None:
    (folder / "rng").rename(folder / "tmmu/rng")
    (folder / "rng").symlink_to("tmmu/rng")


def add_a_name_that_is_no_text(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).touch()


NEW = "tensors/rank=0/shard=9.bin"

DAMAGES: dict[str, tuple[Callable[[Path], object], tuple[str, str]]] = {
    "flipped": (lambda folder: flip(folder / SHARD), ("SHARD_MISMATCH", SHARD)),
    "truncated": (lambda folder: os.truncate(folder / SHARD, 99), ("SHARD_MISMATCH", SHARD)),
    "emptied": (lambda folder: os.truncate(folder / SHARD, 0), ("SHARD_MISMATCH", SHARD)),
    "longer": (lambda folder: os.truncate(folder / SHARD, 101), ("SHARD_MISMATCH", SHARD)),
    "missing": (lambda folder: (folder / SHARD).unlink(), ("MISSING_SHARD", SHARD)),
    "extra": (lambda folder: (folder / NEW).touch(), ("EXTRA_SHARD", NEW)),
    "foreign": (lambda folder: (folder / "notes.txt").touch(), ("EXTRA_SHARD", "notes.txt")),
    "swapped": (swap, ("SHARD_MISMATCH", SHARD)),
    "renamed": (lambda folder: (folder / SHARD).rename(folder / NEW), ("MISSING_SHARD", SHARD)),
    "link-flipped": (lambda folder: flip(folder / "trace/link.cbor", 12), ("SHARD_MISMATCH", "trace/link.cbor")),
    "header-missing": (lambda folder: (folder / HEADER).unlink(), ("MISSING_SHARD", HEADER)),
    "manifest-missing": (lambda folder: (folder / MANIFEST).unlink(), ("MISSING_SHARD", MANIFEST)),
    "header-truncated": (lambda folder: os.truncate(folder / HEADER, 500), ("NON_CANONICAL", HEADER)),
    "manifest-truncated": (lambda folder: os.truncate(folder / MANIFEST, 100), ("NON_CANONICAL", MANIFEST)),
    "header-changed": (lambda folder: rewrite(folder / HEADER, t=8), ("HASH_MISMATCH", f"{MANIFEST}.checkpoint_hash")),
    "header-null": (lambda folder: (folder / HEADER).write_bytes(b"\xf6"), ("WRONG_TYPE", "")),
    "manifest-null": (lambda folder: (folder / MANIFEST).write_bytes(b"\xf6"), ("WRONG_TYPE", MANIFEST)),
    "shard-a-link": (lambda folder: replace_by_link(folder / SHARD, folder / OTHER), ("BAD_PATH", SHARD)),
    "shard-a-pipe": (lambda folder: replace_by_pipe(folder / SHARD), ("BAD_PATH", SHARD)),
    "header-a-link": (lambda folder: replace_by_link(folder / HEADER, Path("/etc/passwd")), ("BAD_PATH", HEADER)),
    "folder-a-link": (replace_by_link_to_a_folder, ("BAD_PATH", "rng")),
    "shard-a-folder": (lambda folder: replace_by_folder(folder / SHARD), ("MISSING_SHARD", SHARD)),
    "name-not-text": (add_a_name_that_is_no_text, ("EXTRA_SHARD", "\ufffd\ufffd\ufffd")),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("stage", ["train", "eval"])
def test_every_damage_is_found_whatever_the_stage(folder: Path, damage: str, stage: str) -> None:
    harm, expected = DAMAGES[damage]
    harm(folder)
    assert found(folder, stage) == expected


def test_every_byte_of_every_file_is_bound_by_the_full_hash(folder: Path) -> None:
    full_checkpoint_hash = sha256((folder / MANIFEST).read_bytes()).digest()
    params = reading(folder.parent, expected={"full_checkpoint_hash": full_checkpoint_hash})
    for path, content in tree(folder).items():
        for offset in range(0, len(content), max(1, len(content) // 50)):
            flip(folder / path, offset)
            assert refusal("ReadContainer", **params)["failure_code"] == "CONTRACT_VIOLATION"
            (folder / path).write_bytes(content)
    assert call("ReadContainer", **params)["report"]["status"] == "success"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"shards": ABSENT}, ("MISSING_FIELD", f"{MANIFEST}.shards")),
        ({"dataset_snapshot_id": ABSENT}, ("MISSING_FIELD", f"{MANIFEST}.dataset_snapshot_id")),
        ({"artifact_index_hash": ABSENT}, ("MISSING_FIELD", f"{MANIFEST}.artifact_index_hash")),
        ({"added": 1}, ("UNKNOWN_FIELD", f"{MANIFEST}.added")),
        ({"shards": {}}, ("WRONG_TYPE", f"{MANIFEST}.shards")),
        ({"shards": [{"path": "x", "sha256": bytes(32)}]}, ("MISSING_FIELD", f"{MANIFEST}.shards.0.size_bytes")),
        ({"dp_enabled": 1}, ("WRONG_TYPE", f"{MANIFEST}.dp_enabled")),
        ({"partial_restore": None}, ("NULL_FIELD", f"{MANIFEST}.partial_restore")),
        ({"manifest_version": "1.0"}, ("BAD_VERSION", f"{MANIFEST}.manifest_version")),
        ({"manifest_version": "2.0.0"}, ("INCOMPATIBLE_VERSION", f"{MANIFEST}.manifest_version")),
        ({"checkpoint_hash": bytes(32)}, ("HASH_MISMATCH", f"{MANIFEST}.checkpoint_hash")),
        ({"checkpoint_merkle_root": bytes(32)}, ("ROOT_MISMATCH", f"{MANIFEST}.checkpoint_merkle_root")),
        ({"weights_manifest_hash": bytes(32)}, ("ROOT_MISMATCH", f"{MANIFEST}.weights_manifest_hash")),
        ({"partial_restore": ["tensors/rank=7/shard=7.bin"]}, ("MISSING_SHARD", "tensors/rank=7/shard=7.bin")),
    ],
)
def test_a_manifest_that_was_changed_is_found(folder: Path, changes: dict[str, Any], expected: tuple[str, str]) -> None:
    rewrite(folder / MANIFEST, **changes)
    assert found(folder) == expected


def listed(folder: Path) -> list[dict[str, Any]]:
    manifest = decode_canonical((folder / MANIFEST).read_bytes())
    assert isinstance(manifest, dict)
    shards: list[dict[str, Any]] = manifest["shards"]
    return shards


def rebound(folder: Path, shards: list[dict[str, Any]]) -> None:
    """Put another list into the manifest, with the root and the hashes that fit it."""
    root = checkpoint_merkle_root([Shard(**shard) for shard in shards])
    rewrite(folder / HEADER, checkpoint_merkle_root=root)
    checkpoint_hash = sha256((folder / HEADER).read_bytes()).digest()
    rewrite(folder / MANIFEST, shards=shards, checkpoint_merkle_root=root, checkpoint_hash=checkpoint_hash)


def test_a_list_with_the_last_shard_twice_is_refused_though_the_root_is_the_same(tmp_path: Path) -> None:
    written(tmp_path, files=whole_files(**{"artifacts/artifact_index.cbor": ABSENT}))
    shards = listed(tmp_path / "c")
    assert len(shards) == 9
    assert call("ReadContainer", **reading(tmp_path))["report"]["status"] == "success"
    rewrite(tmp_path / "c" / MANIFEST, shards=[*shards, shards[-1]])
    assert found(tmp_path / "c") == ("DUPLICATE_PATH", "trace/link.cbor")


def test_a_list_out_of_order_is_not_canonical(folder: Path) -> None:
    rebound(folder, list(reversed(listed(folder))))
    assert found(folder) == ("NON_CANONICAL", f"{MANIFEST}.shards")


@pytest.mark.parametrize("path", ["../../outside", "/etc/hostname", "a/../../x"])
def test_a_listed_path_that_escapes_is_refused_and_not_opened(folder: Path, path: str) -> None:
    entry = {"path": path, "sha256": bytes(32), "size_bytes": 1}
    rebound(folder, sorted([*listed(folder), entry], key=lambda shard: shard["path"].encode()))
    assert found(folder) == ("BAD_PATH", path)


def test_a_size_that_no_file_can_have_is_refused_without_allocating(folder: Path) -> None:
    shards = [{**shard, "size_bytes": 2**60} if shard["path"] == SHARD else shard for shard in listed(folder)]
    rebound(folder, shards)
    assert found(folder) == ("LIMIT_EXCEEDED", SHARD)


def test_a_length_head_beyond_the_file_is_refused_without_allocating(folder: Path) -> None:
    for path in (HEADER, MANIFEST):
        content = (folder / path).read_bytes()
        (folder / path).write_bytes(bytes.fromhex("5b1000000000000000") + bytes(11))
        assert found(folder) == ("NON_CANONICAL", path)
        (folder / path).write_bytes(content)


@pytest.mark.parametrize(("path", "size"), [(HEADER, 65_537), (MANIFEST, 2**24 + 1)])
def test_a_document_that_is_too_long_is_not_read(folder: Path, path: str, size: int) -> None:
    os.truncate(folder / path, size)
    assert found(folder) == ("LIMIT_EXCEEDED", path)


def test_a_container_that_is_not_there_lacks_its_manifest(tmp_path: Path) -> None:
    record = refusal("ReadContainer", **reading(tmp_path))
    assert record == {
        "t": 0,
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": "UML_OS.Checkpoint.ReadContainer_v1",
        "replay_token": bytes(32),
        "reason": "MISSING_SHARD",
        "field_path": MANIFEST,
    }


def test_a_container_that_is_a_link_or_a_file_is_refused(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    (folder.parent / "file").touch()
    for name in ("link", "file"):
        assert reason("ReadContainer", **reading(folder.parent, name)) == ("BAD_PATH", "name")


def test_an_unfinished_container_cannot_be_read_by_any_name(folder: Path) -> None:
    folder.rename(folder.with_name(".c.tmp"))
    assert reason("ReadContainer", **reading(folder.parent, ".c.tmp")) == ("BAD_PATH", "name")
    assert reason("ReadContainer", **reading(folder.parent, "c")) == ("MISSING_SHARD", MANIFEST)


def test_a_failure_says_t_and_token_where_the_header_can_be_read(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    record = refusal("ReadContainer", **reading(folder.parent))
    assert (record["t"], record["replay_token"]) == (7, REPLAY_TOKEN)


def test_the_first_reason_of_the_list_decides(folder: Path) -> None:
    (folder / "notes.txt").touch()
    flip(folder / SHARD)
    assert found(folder) == ("EXTRA_SHARD", "notes.txt")
    (folder / OTHER).unlink()
    assert found(folder) == ("MISSING_SHARD", OTHER)
    rewrite(folder / MANIFEST, checkpoint_merkle_root=bytes(32))
    assert found(folder) == ("ROOT_MISMATCH", f"{MANIFEST}.checkpoint_merkle_root")
    rewrite(folder / HEADER, t=9)
    assert found(folder) == ("HASH_MISMATCH", f"{MANIFEST}.checkpoint_hash")


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([HEADER, MANIFEST, "trace/link.cbor", "rng/state.cbor"]), VALUES)
def test_any_item_in_the_place_of_a_document_is_refused(folder: Path, path: str, item: object) -> None:
    content = (folder / path).read_bytes()
    (folder / path).write_bytes(encode_canonical(item))
    try:
        with pytest.raises(ContractFailure):
            call("ReadContainer", **reading(folder.parent))
    finally:
        (folder / path).write_bytes(content)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["shards", "partial_restore", "dp_enabled", "manifest_version"]), VALUES, min_size=1
    )
)
def test_any_manifest_is_read_or_refused(folder: Path, changes: dict[str, Any]) -> None:
    content = (folder / MANIFEST).read_bytes()
    rewrite(folder / MANIFEST, **changes)
    try:
        call("ReadContainer", **reading(folder.parent))
    except ContractFailure as failure:
        assert failure.code == "CONTRACT_VIOLATION"  # noqa: PT017
    finally:
        (folder / MANIFEST).write_bytes(content)
