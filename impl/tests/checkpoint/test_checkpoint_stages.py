"""What a stage restores of a container: its components, the chosen shards, and the profile that names them."""

from hashlib import sha256
from pathlib import Path

import pytest

from impl.reference.canonical_cbor import encode_canonical
from impl.tests.checkpoint.checkpoint_calls import ABSENT, call, container, reading, reason, tree, whole_files, written

COMPONENT_PATHS = {
    "model_params": ["tensors/rank=0/shard=0.bin", "tensors/rank=0/shard=1.bin", "tensors/rank=0/shard=2.bin"],
    "optimizer_state": ["optimizer/rank=0/state.bin"],
    "rng_states": ["rng/state.cbor"],
    "dp_accountant_state": ["dp/accountant_state.cbor"],
    "data_cursors": ["data/cursors.cbor"],
    "tmmu_plan": ["tmmu/plan.cbor"],
}
TENSOR_PATHS = COMPONENT_PATHS["model_params"]


def without(*components: str) -> dict[str, bytes]:
    return whole_files(**{path: ABSENT for component in components for path in COMPONENT_PATHS[component]})


def test_train_restores_every_file_as_it_was_written(tmp_path: Path) -> None:
    params = container(tmp_path)
    call("WriteContainer", **params)
    answer = call("ReadContainer", **reading(tmp_path))
    assert answer["files"] == params["files"]
    assert answer["header"] == params["header"]
    assert answer["report"]["restore_profile_id"] == "539da104189fede3"
    assert answer["report"]["compatibility_level"] == "migrated"
    assert answer["report"]["checkpoint_size_bytes"] == sum(map(len, tree(tmp_path).values()))
    assert answer["report"]["trace_record"]["status"] == "success"
    assert (
        answer["report"]["trace_record"]["checkpoint_hash"]
        == sha256(tree(tmp_path)["c/checkpoint_header.cbor"]).digest()
    )


@pytest.mark.parametrize("component", COMPONENT_PATHS)
def test_train_needs_each_of_its_six_components(tmp_path: Path, component: str) -> None:
    # The account is declared by the manifest, so that its file can be the one that is missing.
    root = {"dp_accountant_state_root_hash": ABSENT} if component == "dp_accountant_state" else {}
    files = without(component)
    if component == "dp_accountant_state":
        bound = sha256(encode_canonical(["dp_accountant_root", []])).digest()
        root = {"dp_accountant_state_root_hash": bound}
    written(tmp_path, files=files, header=root)
    assert reason("ReadContainer", **reading(tmp_path)) == ("MISSING_COMPONENT", component)


@pytest.mark.parametrize("path", ["trace/link.cbor", "artifacts/artifact_index.cbor"])
def test_train_needs_the_trace_link_and_the_artifact_index(tmp_path: Path, path: str) -> None:
    whole = container(tmp_path)["files"]
    written(tmp_path, files={name: content for name, content in whole.items() if name != path}, link=ABSENT)
    assert reason("ReadContainer", **reading(tmp_path)) == ("MISSING_COMPONENT", path)
    assert reason("ReadContainer", **reading(tmp_path, verify=True)) == ("MISSING_COMPONENT", path)
    assert set(call("ReadContainer", **reading(tmp_path, stage="eval"))["files"]) == set(TENSOR_PATHS)


def test_train_without_privacy_accounting_needs_five(tmp_path: Path) -> None:
    written(tmp_path, files=without("dp_accountant_state"))
    answer = call("ReadContainer", **reading(tmp_path))
    assert answer["report"]["restore_profile_id"] == "130bf224590df6f1"


@pytest.mark.parametrize(("stage", "profile"), [("eval", "76c29662ee06b4c1"), ("infer", "afd7f5c2650bd164")])
def test_eval_and_infer_need_the_parameters_only(tmp_path: Path, stage: str, profile: str) -> None:
    written(tmp_path, "small", files=without(*(COMPONENT_PATHS.keys() - {"model_params"})))
    written(tmp_path, "whole")
    for name in ("small", "whole"):
        answer = call("ReadContainer", **reading(tmp_path, name, stage=stage))
        assert set(answer["files"]) == set(TENSOR_PATHS)
        assert answer["report"]["restore_profile_id"] == profile
        assert answer["report"]["trace_record"]["step"] == "restore"
    written(tmp_path, "none", files=without("model_params"))
    assert reason("ReadContainer", **reading(tmp_path, "none", stage=stage)) == ("MISSING_COMPONENT", "model_params")


def test_a_subset_of_the_shards_is_restored_where_the_manifest_declares_it(tmp_path: Path) -> None:
    written(tmp_path, manifest={"partial_restore": TENSOR_PATHS[:2]})
    answer = call("ReadContainer", **reading(tmp_path, stage="eval", shards=[TENSOR_PATHS[1]]))
    assert answer["files"] == {TENSOR_PATHS[1]: bytes([1]) * 100}
    assert answer["report"]["restore_profile_id"] == "76c29662ee06b4c1"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([TENSOR_PATHS[0], TENSOR_PATHS[2]], ("PARTIAL_NOT_DECLARED", TENSOR_PATHS[2])),
        ([TENSOR_PATHS[0], "tensors/rank=9/shard=0.bin"], ("MISSING_SHARD", "tensors/rank=9/shard=0.bin")),
        ([TENSOR_PATHS[0], TENSOR_PATHS[0]], ("DUPLICATE_PATH", TENSOR_PATHS[0])),
        ([TENSOR_PATHS[0], "../c/tensors/rank=0/shard=0.bin"], ("BAD_PATH", "../c/tensors/rank=0/shard=0.bin")),
        ([TENSOR_PATHS[0], "\ud800"], ("BAD_PATH", "\ufffd\ufffd\ufffd")),
        ([], ("MISSING_COMPONENT", "model_params")),
    ],
)
def test_a_subset_that_is_not_declared_is_refused(tmp_path: Path, asked: list[str], found: tuple[str, str]) -> None:
    written(tmp_path, manifest={"partial_restore": TENSOR_PATHS[:2]})
    assert reason("ReadContainer", **reading(tmp_path, stage="eval", shards=asked)) == found


def test_without_a_policy_no_subset_is_restored(tmp_path: Path) -> None:
    written(tmp_path)
    found = reason("ReadContainer", **reading(tmp_path, stage="eval", shards=TENSOR_PATHS))
    assert found == ("PARTIAL_NOT_DECLARED", "checkpoint_manifest.cbor.partial_restore")
