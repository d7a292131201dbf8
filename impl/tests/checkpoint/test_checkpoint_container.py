"""A container written and read: its layout, its bindings, its stages."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.manifest import section_manifest_hash, shards_of
from impl.tests.checkpoint.checkpoint_calls import (
    ABSENT,
    PUBLIC_KEY,
    REPLAY_TOKEN,
    call,
    commit_params,
    container,
    link_of,
    pinned_header,
    reading,
    reason,
    refusal,
    rewrite,
    tree,
    whole_files,
    written,
)


def manifest_of(root: Path) -> dict[str, Any]:
    manifest = decode_canonical((root / "c" / "checkpoint_manifest.cbor").read_bytes())
    assert isinstance(manifest, dict)
    return manifest


def test_the_container_holds_exactly_the_listed_files(tmp_path: Path) -> None:
    written(tmp_path)
    described = {"checkpoint_manifest.cbor", "checkpoint_header.cbor", "trace/link.cbor"}
    assert set(tree(tmp_path)) == {f"c/{path}" for path in described | set(whole_files())}


def test_the_manifest_lists_every_shard_by_path_and_exactly_the_keys_given(tmp_path: Path) -> None:
    params = container(tmp_path)
    call("WriteContainer", **params)
    manifest = manifest_of(tmp_path)
    assert set(manifest) == {
        "manifest_version",
        "checkpoint_hash",
        "checkpoint_merkle_root",
        "shards",
        "dataset_snapshot_id",
        "artifact_index_hash",
    }
    assert manifest["manifest_version"] == "1.0.0"
    assert manifest["dataset_snapshot_id"] == "snap"
    assert manifest["artifact_index_hash"] == sha256(params["files"]["artifacts/artifact_index.cbor"]).digest()
    assert manifest["shards"] == [
        {"path": path, "sha256": sha256(content).digest(), "size_bytes": len(content)}
        for path, content in sorted(params["files"].items())
    ]


FOLDERS = {"weights": "tensors/", "optimizer": "optimizer/", "dp_accountant": "dp/"}


@pytest.mark.parametrize("part", FOLDERS)
def test_a_given_manifest_hash_binds_the_shards_of_its_folder(tmp_path: Path, part: str) -> None:
    name, right = f"{part}_manifest_hash", section_manifest_hash(FOLDERS[part], shards_of(whole_files()))
    written(tmp_path, manifest={name: right})
    assert call("ReadContainer", **reading(tmp_path))["report"]["status"] == "success"
    wrong = container(tmp_path, "d", manifest={name: bytes(32)})
    assert reason("WriteContainer", **wrong) == ("ROOT_MISMATCH", f"checkpoint_manifest.cbor.{name}")


@pytest.mark.parametrize(
    "name",
    ["checkpoint_merkle_root", "tensors_root_hash", "optimizer_state_root_hash", "dp_accountant_state_root_hash"],
)
def test_a_root_in_the_header_that_differs_from_the_files_is_refused(tmp_path: Path, name: str) -> None:
    record = refusal("WriteContainer", **container(tmp_path, header={name: bytes(32)}))
    assert record == {
        "t": 7,
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": "UML_OS.Checkpoint.WriteContainer_v1",
        "replay_token": REPLAY_TOKEN,
        "reason": "ROOT_MISMATCH",
        "field_path": name,
    }
    assert tree(tmp_path) == {}


def test_the_hash_of_the_artifact_index_is_compared(tmp_path: Path) -> None:
    wrong = {"artifact_index_hash": bytes(32)}
    found = ("HASH_MISMATCH", "checkpoint_manifest.cbor.artifact_index_hash")
    assert reason("WriteContainer", **container(tmp_path, manifest=wrong)) == found
    written(tmp_path)
    rewrite(tmp_path / "c" / "checkpoint_manifest.cbor", **wrong)
    for stage in ("train", "eval"):
        assert reason("ReadContainer", **reading(tmp_path, stage=stage)) == found
    written(tmp_path, "other", files=whole_files(**{"artifacts/artifact_index.cbor": ABSENT}), manifest=wrong)


def test_accounting_for_privacy_needs_a_root_that_binds_the_account(tmp_path: Path) -> None:
    params = container(tmp_path, header={"dp_accountant_state_root_hash": ABSENT}, manifest={"dp_enabled": True})
    assert reason("WriteContainer", **params) == ("MISSING_FIELD", "dp_accountant_state_root_hash")


NOT_LISTED = (
    "../x", "/etc/x", "tensors/../../x", "tensors/rank=0/./shard=0.bin", "tensors//rank=0/shard=0.bin",
    "tensors/rank=00/shard=0.bin", "tensors/rank=0/shard=01.bin", "tensors/rank=0/shard=-1.bin",
    "tensors/rank=0/shard=\u0661.bin", "tensors/rank=0/shard=0.bin\n", "tensors/rank=0/shard=0.bin\x00",
    "tensors/rank=0/shard=0.bin/", f"tensors/rank={'1' * 20}/shard=0.bin", "optimizer/rank=0/shard=0.bin",
    "optimizer/state.bin", "checkpoint_manifest.cbor", "checkpoint_header.cbor", "rng/other.cbor", "\u00fc", "",
)  # fmt: skip


@pytest.mark.parametrize("path", NOT_LISTED)
def test_a_path_that_is_not_listed_is_refused_before_anything_is_written(tmp_path: Path, path: str) -> None:
    params = container(tmp_path)
    params["files"][path] = b""
    assert reason("WriteContainer", **params) == ("BAD_PATH", path)
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", ".c.tmp", ".hidden", "a\x00", "x" * 201, "\ud800"])
def test_a_name_that_could_leave_the_root_or_hide_in_it_is_refused(tmp_path: Path, name: str) -> None:
    assert reason("WriteContainer", **{**container(tmp_path), "name": name}) == ("BAD_PATH", "name")
    assert reason("ReadContainer", **reading(tmp_path, name)) == ("BAD_PATH", "name")


@pytest.mark.parametrize(
    "root", ["", "relative", "/no/such/folder", "/dev/null", "/a\x00b", "/\ud800", "/" + "x" * 5_000]
)
def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, root: str) -> None:
    assert reason("WriteContainer", **{**container(tmp_path), "root": root}) == ("BAD_PATH", "root")
    assert reason("ReadContainer", **{**reading(tmp_path), "root": root}) == ("BAD_PATH", "root")
    assert reason("CommitRun", **{**commit_params(tmp_path), "root": root}) == ("BAD_PATH", "root")
    assert reason("RecoverRun", root=root, public_key=PUBLIC_KEY) == ("BAD_PATH", "root")


OTHER_LINKS = [("run_id", "x"), ("run_id", ABSENT), ("t", 8), ("t", 7.0)]
OTHER_HASHES = ["trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev", "checkpoint_hash"]


@pytest.mark.parametrize(("name", "told"), [*OTHER_LINKS, *((name, bytes(32)) for name in OTHER_HASHES)])
def test_a_link_that_says_something_else_than_the_header_is_refused(tmp_path: Path, name: str, told: Any) -> None:
    params = container(tmp_path, link=link_of(pinned_header(), **{name: told}))
    assert reason("WriteContainer", **params) == ("LINK_MISMATCH", f"trace/link.cbor.{name}")


def test_a_link_that_is_no_map_is_refused(tmp_path: Path) -> None:
    other = container(tmp_path, link=encode_canonical([]))
    assert reason("WriteContainer", **other) == ("LINK_MISMATCH", "trace/link.cbor")


def test_a_chain_of_containers_is_followed_by_their_hashes(tmp_path: Path) -> None:
    previous = written(tmp_path, "0")["checkpoint_hash"]
    for k in (1, 2, 3):
        answer = written(tmp_path, str(k), header={"t": k, "checkpoint_hash_prev": previous})
        read = call("ReadContainer", **reading(tmp_path, str(k), expected={"checkpoint_hash_prev": previous}))
        assert read["header"]["checkpoint_hash_prev"] == previous
        previous = answer["checkpoint_hash"]
    wrong = reading(tmp_path, "2", expected={"checkpoint_hash_prev": previous})
    assert reason("ReadContainer", **wrong) == ("CHAIN_MISMATCH", "checkpoint_hash_prev")
