"""The closed list of reasons: each one is produced, in the order of the list, with its code."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest

from impl.failure import NUMBERS, RECORD_FIELDS
from impl.reference.checkpoint.fields import REASONS, Fault, Reason, code_of, first_fault, sorted_faults
from impl.tests.checkpoint.checkpoint_calls import (
    ABSENT,
    OTHER_PUBLIC_KEY,
    call,
    commit_params,
    container,
    link_of,
    pinned_header,
    reading,
    refusal,
    whole_files,
    written,
)

Record = dict[str, object]
SHARD = "tensors/rank=0/shard=1.bin"


def serialize(**changes: object) -> Record:
    return refusal("Serialize", header=pinned_header(**changes))


def read(root: Path, **changes: Any) -> Record:
    return refusal("ReadContainer", **reading(root, **changes))


def blob_with_another_hash(root: Path) -> Record:
    blob = call("Serialize", header=pinned_header())["checkpoint_blob"]
    return refusal("Restore", checkpoint_blob=blob[:-1] + bytes([blob[-1] ^ 1]), expected={})


def shard_missing(root: Path) -> Record:
    written(root)
    (root / "c" / SHARD).unlink()
    return read(root)


def shard_extra(root: Path) -> Record:
    written(root)
    (root / "c" / "x").touch()
    return read(root)


def shard_changed(root: Path) -> Record:
    written(root)
    (root / "c" / SHARD).write_bytes(b"x" * 100)
    return read(root)


def path_twice(root: Path) -> Record:
    written(root, manifest={"partial_restore": [SHARD]})
    return read(root, stage="eval", shards=[SHARD, SHARD])


def chain_broken(root: Path) -> Record:
    written(root)
    return read(root, expected={"checkpoint_hash_prev": bytes(32)})


def component_missing(root: Path) -> Record:
    written(root, files=whole_files(**{"rng/state.cbor": ABSENT}))
    return read(root)


def partial_not_declared(root: Path) -> Record:
    written(root)
    return read(root, stage="eval", shards=[SHARD])


def other_key(root: Path) -> Record:
    call("CommitRun", **commit_params(root))
    return refusal("RecoverRun", root=str(root), public_key=OTHER_PUBLIC_KEY)


def target_exists(root: Path) -> Record:
    written(root)
    return refusal("WriteContainer", **container(root))


def identity_differs(root: Path) -> Record:
    written(root)
    return read(root, expected={"tenant_id": "x"})


def record_torn(root: Path) -> Record:
    call("CommitRun", **commit_params(root))
    (root / "wal" / f"{3:020}.rec").write_bytes(b"")
    return refusal("RecoverRun", root=str(root), public_key=OTHER_PUBLIC_KEY)


def bad_path(root: Path) -> Record:
    params = container(root)
    params["files"]["../x"] = b""
    return refusal("WriteContainer", **params)


PRODUCED: dict[Reason, Callable[[Path], Record]] = {
    "MISSING_FIELD": lambda root: serialize(t=ABSENT),
    "UNKNOWN_FIELD": lambda root: serialize(added=1),
    "WRONG_TYPE": lambda root: serialize(t="7"),
    "NULL_FIELD": lambda root: serialize(checkpoint_hash_prev=None),
    "BAD_VERSION": lambda root: serialize(checkpoint_schema_version="1"),
    "INCOMPATIBLE_VERSION": lambda root: serialize(checkpoint_schema_version="2.0.0"),
    "NON_CANONICAL": lambda root: refusal("Restore", checkpoint_blob=b"\x18\x00", expected={}),
    "HASH_MISMATCH": blob_with_another_hash,
    "ROOT_MISMATCH": lambda root: refusal("WriteContainer", **container(root, header={"tensors_root_hash": bytes(32)})),
    "MISSING_SHARD": shard_missing,
    "EXTRA_SHARD": shard_extra,
    "SHARD_MISMATCH": shard_changed,
    "DUPLICATE_PATH": path_twice,
    "BAD_PATH": bad_path,
    "LINK_MISMATCH": lambda root: refusal("WriteContainer", **container(root, link=link_of(pinned_header(), t=8))),
    "CHAIN_MISMATCH": chain_broken,
    "MISSING_COMPONENT": component_missing,
    "PARTIAL_NOT_DECLARED": partial_not_declared,
    "SIGNATURE_INVALID": other_key,
    "TARGET_EXISTS": target_exists,
    "LIMIT_EXCEEDED": lambda root: refusal("Restore", checkpoint_blob=bytes(70_000), expected={}),
    "IDENTITY_MISMATCH": identity_differs,
    "WAL_RECORD_INVALID": record_torn,
}

LIST = (
    "MISSING_FIELD UNKNOWN_FIELD WRONG_TYPE NULL_FIELD BAD_VERSION INCOMPATIBLE_VERSION NON_CANONICAL HASH_MISMATCH "
    "ROOT_MISMATCH MISSING_SHARD EXTRA_SHARD SHARD_MISMATCH DUPLICATE_PATH BAD_PATH LINK_MISMATCH CHAIN_MISMATCH "
    "MISSING_COMPONENT PARTIAL_NOT_DECLARED SIGNATURE_INVALID TARGET_EXISTS LIMIT_EXCEEDED IDENTITY_MISMATCH "
    "WAL_RECORD_INVALID"
)


def test_the_list_is_closed_and_in_order() -> None:
    assert list(REASONS) == LIST.split() == list(PRODUCED) == list(get_args(Reason))


@pytest.mark.parametrize("reason", PRODUCED)
def test_each_reason_is_produced_with_its_code(tmp_path: Path, reason: Reason) -> None:
    record = PRODUCED[reason](tmp_path)
    assert record["reason"] == reason
    codes = {"IDENTITY_MISMATCH": "REPLAY_DIVERGENCE", "WAL_RECORD_INVALID": "WAL_CORRUPTION"}
    assert record["failure_code"] == code_of(reason) == codes.get(reason, "CONTRACT_VIOLATION")
    assert record["failure_code"] in NUMBERS
    assert set(record) <= set(RECORD_FIELDS)


def test_of_two_reasons_the_earlier_decides_whatever_the_path() -> None:
    for earlier, later in pairwise(REASONS):
        assert first_fault([Fault("a", later), Fault("b", earlier)]) == Fault("b", earlier)


def test_of_two_paths_of_one_reason_the_first_by_its_bytes_decides() -> None:
    faults = [Fault("b", "BAD_PATH"), Fault("aa", "BAD_PATH"), Fault("B", "BAD_PATH")]
    assert first_fault(faults) == Fault("B", "BAD_PATH")


def test_a_report_is_sorted_by_path_and_then_by_reason() -> None:
    faults = [Fault("b", "MISSING_FIELD"), Fault("a", "WRONG_TYPE"), Fault("a", "UNKNOWN_FIELD")]
    assert sorted_faults([*faults, *faults]) == [faults[2], faults[1], faults[0]]
