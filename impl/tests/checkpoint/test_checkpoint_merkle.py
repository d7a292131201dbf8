"""The roots over a container's shards: every pinned value of the requirement page."""

from hashlib import sha256

import pytest

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.container import required_components, restore_profile_id_of
from impl.reference.checkpoint.manifest import (
    Shard,
    build_manifest,
    checkpoint_merkle_root,
    dp_accountant_state_root_hash,
    encode_manifest,
    full_checkpoint_hash_of,
    in_path_order,
    leaf,
    optimizer_state_root_hash,
    shard_of,
    tensors_root_hash,
)
from impl.tests.checkpoint.checkpoint_calls import call, pinned_header, pinned_shards


@pytest.mark.parametrize(
    ("count", "root"),
    [
        (0, "65dd5dace7e49fcbcc256bccab337b01efa618aadcd7ffd1becc23ffd577e48e"),
        (1, "f52721a9a05c4b93297670d763459889e9563698fe4e7c597d87322830d8bf30"),
        (2, "8b889c99f82dcbad0e731a4752e12a9d50beb4d949296af0e3e7c8367b221428"),
        (3, "b5bb13418eb238f72b08c6d2d5a654842c937f7252d0efb140ac611c9bb395d8"),
        (4, "681f9c2f32803f8446c74f820d8428afaa89f4b02db67ec1148e106ccd794b79"),
        (5, "7bad295d01f034c34725f4e20cbad51351b9fe6fddb3aa80dd6c81a7d97cb18c"),
        (8, "f6ad9ef4427630ed43eeb04641cba07604b87db3667e3a00b7050cc13f5bac66"),
        (12, "38f8ebb4e4543ab4a16f52ab0e761f69d8fb5e3e8a2ef9411fa2cf4bb30997bf"),
    ],
)
def test_the_root_over_a_number_of_shards(count: int, root: str) -> None:
    assert checkpoint_merkle_root(pinned_shards(count)).hex() == root
    assert checkpoint_merkle_root(reversed(pinned_shards(count))).hex() == root
    assert count != 1 or leaf(*pinned_shards(1)).hex() == root


def test_a_path_is_compared_whole_and_as_bytes() -> None:
    ordered = ["a-b/x", "a.b/x", "a/B", "a/b", "a/x", "shard=10", "shard=2", "\uffff", "\U00010000"]
    shards = [Shard(path, bytes(32), 0) for path in reversed(ordered)]
    assert [shard.path for shard in in_path_order(shards)] == ordered


def test_the_joint_hashes_of_a_folder() -> None:
    assert tensors_root_hash([]).hex() == "544e9b5088716fecc05ebc610610a68ec405999a30ac79aa538ba78a1ff25468"
    assert optimizer_state_root_hash([]).hex() == "9a11274be2ab06ec11bd012e0e13c2d50bfa8064caf87247cb7acaee74159266"
    others = [shard_of("tensors.bin", b""), shard_of("optimizer/rank=0/state.bin", b"")]
    tensors = "06aeea92de39465774db942a09d2f67a2295b4e27c31bad422a572db1adc9502"
    assert tensors_root_hash([*others, *pinned_shards(3)]).hex() == tensors
    account = shard_of("dp/accountant_state.cbor", b"\xa0")
    expected = sha256(encode_canonical(["dp_accountant_root", [leaf(account)]])).digest()
    assert dp_accountant_state_root_hash([*pinned_shards(2), account]) == expected


def test_header_and_blob_of_the_pinned_checkpoint() -> None:
    header = pinned_header()
    assert len(encode_canonical(header)) == 995
    answer = call("Serialize", header=header)
    assert answer["checkpoint_hash"].hex() == "ba9897de3b6ebe8bb7127840ce3b3d58053b7af9ce3a8c6d55791c769166c2bd"
    assert len(answer["checkpoint_blob"]) == 1_051
    assert answer["checkpoint_blob"] == encode_canonical(["uml_os_checkpoint_v1", header, answer["checkpoint_hash"]])


def test_manifest_of_the_pinned_checkpoint() -> None:
    given = {"dataset_snapshot_id": "snap", "artifact_index_hash": sha256(b"artifact_index_hash").digest()}
    checkpoint_hash = call("Serialize", header=pinned_header())["checkpoint_hash"]
    manifest_cbor = encode_manifest(build_manifest(given, pinned_shards(3), checkpoint_hash))
    assert len(manifest_cbor) == 479
    expected = "3c74ba3cfdd4ecdc458282af2735a9ab913235a1071241ba200c307d71e4af00"
    assert full_checkpoint_hash_of(manifest_cbor).hex() == expected


@pytest.mark.parametrize(
    ("stage", "dp_enabled", "profile"),
    [
        ("train", True, "539da104189fede3"),
        ("train", False, "130bf224590df6f1"),
        ("eval", False, "76c29662ee06b4c1"),
        ("eval", True, "76c29662ee06b4c1"),
        ("infer", False, "afd7f5c2650bd164"),
    ],
)
def test_the_profile_of_a_stage(stage: str, dp_enabled: bool, profile: str) -> None:
    assert stage in ("train", "eval", "infer")
    components = required_components(stage, dp_enabled)  # type: ignore[arg-type]
    assert restore_profile_id_of(stage, list(reversed(components))) == profile  # type: ignore[arg-type]
