"""The checkpoint operators over the wire: values, failure records and roots as they travel."""

from pathlib import Path
from typing import Any

import pytest

from impl.tests.checkpoint.checkpoint_calls import (
    OTHER_PUBLIC_KEY,
    PUBLIC_KEY,
    commit_params,
    container,
    pinned_header,
    reading,
)
from impl.tests.wire_client import ask_cbor, ask_json, request
from impl.wire.json_form import write_value

PREFIX = "UML_OS.Checkpoint."


def calls(root: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return one call of every operator, in an order that makes them succeed; then one that is refused."""
    stored = container(root, "c", manifest={"partial_restore": ["tensors/rank=0/shard=1.bin"], "dp_enabled": True})
    return [
        ("ValidateSchema", {"header": pinned_header(t=None), "schema_version": "1.1.0"}),
        ("Serialize", {"header": pinned_header()}),
        ("WriteContainer", stored),
        ("ReadContainer", reading(root, "c", stage="eval", shards=["tensors/rank=0/shard=1.bin"])),
        ("CommitRun", commit_params(root)),
        ("RecoverRun", {"root": str(root), "public_key": PUBLIC_KEY}),
        (
            "Migrate",
            {
                "header": pinned_header(),
                "from_version": "1.0.0",
                "to_version": "1.1.0",
                "signing_key": bytes(32),
                "migration_policy_hash": bytes(32),
            },
        ),
        ("RecoverRun", {"root": str(root), "public_key": OTHER_PUBLIC_KEY}),
        ("ReadContainer", reading(root, "c", expected={"run_id": "x"})),
    ]


def as_json(name: str, item: Any) -> Any:
    if name in ("header", "expected"):
        return write_value(item)
    if isinstance(item, bytes):
        return item.hex()
    if isinstance(item, dict):
        return {key: as_json(key, content) for key, content in item.items()}
    return item


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """Two empty roots."""
    for name in ("json", "cbor"):
        (tmp_path / name).mkdir()
    return tmp_path / "json", tmp_path / "cbor"


def test_every_operator_answers_on_both_wires(roots: tuple[Path, Path]) -> None:
    asked = calls(roots[0])
    json_answers = ask_json(
        "reference", [request(at, f"{PREFIX}{name}_v1", as_json("", params)) for at, (name, params) in enumerate(asked)]
    )
    cbor_answers = ask_cbor(
        "reference", [request(at, f"{PREFIX}{name}_v1", params) for at, (name, params) in enumerate(calls(roots[1]))]
    )
    assert all("result" in answer for answer in [*json_answers[:7], *cbor_answers[:7]])
    schema, serialized, written, read, committed, recovered, migrated, unsigned, other = json_answers
    assert schema["result"] == {"valid": False, "errors": [{"field_path": "t", "reason": "NULL_FIELD"}]}
    assert serialized["result"]["checkpoint_blob"] == cbor_answers[1]["result"]["checkpoint_blob"].hex()
    assert written["result"]["full_checkpoint_hash"] == cbor_answers[2]["result"]["full_checkpoint_hash"].hex()
    assert read["result"]["files"] == {"tensors/rank=0/shard=1.bin": "01" * 100}
    assert read["result"]["report"]["checkpoint_size_bytes"].isdigit()
    assert committed["result"]["wal_terminal_hash"] == cbor_answers[4]["result"]["wal_terminal_hash"].hex()
    assert recovered["result"] == {"state": "committed"}
    assert migrated["result"]["certificate"] == cbor_answers[6]["result"]["certificate"].hex()
    assert unsigned["error"]["data"]["reason"] == "SIGNATURE_INVALID"
    assert other["error"] == {
        "code": 1901,
        "message": "REPLAY_DIVERGENCE",
        "data": {
            "t": "7",
            "failure_code": "REPLAY_DIVERGENCE",
            "failure_operator": f"{PREFIX}ReadContainer_v1",
            "replay_token": bytes(range(32)).hex(),
            "reason": "IDENTITY_MISMATCH",
            "field_path": "run_id",
        },
    }
    assert cbor_answers[8]["error"]["data"]["t"] == 7


def test_a_length_head_beyond_the_bytes_is_answered_like_any_other(roots: tuple[Path, Path]) -> None:
    hostile = ["5b1000000000000000" + "00" * 11, "9b1000000000000000", "bb1000000000000000", "7b1000000000000000"]
    restore = f"{PREFIX}Restore_v1"
    asked = [
        request(at, restore, {"checkpoint_blob": blob, "expected": {"map": []}}) for at, blob in enumerate(hostile)
    ]
    for answer in ask_json("reference", asked):
        assert answer["error"]["message"] == "CONTRACT_VIOLATION"
        assert answer["error"]["data"]["reason"] == "NON_CANONICAL"


@pytest.mark.parametrize(
    ("operator", "params"),
    [
        ("CommitRun", {"root": "/proc", "tenant_id": "t"}),
        ("CommitRun", {"root": "/\x00"}),
        ("RecoverRun", {"root": ""}),
        ("RecoverRun", {"root": "/dev/null"}),
        ("RecoverRun", {"root": "/" + "x" * 300}),
    ],
)
def test_a_root_that_cannot_be_used_is_refused(tmp_path: Path, operator: str, params: dict[str, Any]) -> None:
    whole = commit_params(tmp_path) if operator == "CommitRun" else {"public_key": PUBLIC_KEY}
    (answer,) = ask_json("reference", [request(0, f"{PREFIX}{operator}_v1", as_json("", {**whole, **params}))])
    assert answer["error"]["data"]["reason"] == "BAD_PATH"
    assert answer["error"]["data"]["field_path"] == "root"
