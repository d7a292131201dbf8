"""A checkpoint in one piece: identical bytes, every damage found, every identity compared."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.container import IDENTITY
from impl.tests.checkpoint.checkpoint_calls import ABSENT, REPLAY_TOKEN, call, container, pinned_header, reason, refusal

BLOB: bytes = call("Serialize", header=pinned_header())["checkpoint_blob"]
CODES = {"CONTRACT_VIOLATION", "REPLAY_DIVERGENCE"}


def blob_of(**changes: Any) -> bytes:
    blob: bytes = call("Serialize", header=pinned_header(**changes))["checkpoint_blob"]
    return blob


def restored(blob: bytes = BLOB, **expected: Any) -> dict[str, Any]:
    return call("Restore", checkpoint_blob=blob, expected=expected)


def refused(blob: bytes = BLOB, **expected: Any) -> tuple[str, str]:
    return reason("Restore", checkpoint_blob=blob, expected=expected)


def is_refused(blob: bytes) -> bool:
    try:
        call("Restore", checkpoint_blob=blob, expected={})
    except ContractFailure as failure:
        return failure.code in CODES and set(failure.data) >= {"reason", "field_path"}
    return False


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"checkpoint_hash_prev": bytes(32), "dp_accountant_state_root_hash": bytes(32)},
        {"tenant_id": "\u00fc\x00", "t": 2**64 - 1},
        {"checkpoint_schema_version": "1.7.0", "added": {"b": [1.5, None, b""], "aa": -0.0}},
    ],
)
def test_serialize_restore_serialize_is_the_identity_on_bytes(changes: dict[str, Any]) -> None:
    blob = blob_of(**changes)
    assert call("Serialize", header=restored(blob)["header"])["checkpoint_blob"] == blob


def test_the_order_of_insertion_is_irrelevant() -> None:
    header = pinned_header(checkpoint_schema_version="1.2.0", added={"x": 1, "a": 2})
    reordered = dict(reversed({**header, "added": {"a": 2, "x": 1}}.items()))
    answers = [call("Serialize", header=one) for one in (header, reordered)]
    for answer in answers:
        assert type(answer["report"].pop("restore_time_ms")) is int  # the clock measures it: two calls may differ
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("version", "level"), [("1.0.7", "migrated"), ("1.1.0", "exact"), ("1.10.0", "minor_newer")]
)
def test_the_report_says_how_the_version_stands_to_the_registry(version: str, level: str) -> None:
    report = restored(blob_of(checkpoint_schema_version=version))["report"]
    assert report["compatibility_level"] == level


def test_the_report_names_the_source_and_the_size() -> None:
    report = restored()["report"]
    assert type(report.pop("restore_time_ms")) is int
    assert report == {
        "status": "success",
        "compatibility_level": "migrated",
        "checkpoint_size_bytes": 1_051,
        "trace_record": {
            "schema_version": "1.0.0",
            "source_hash": sha256(encode_canonical(["source_run", "t", "r", bytes(range(32, 64))])).digest(),
            "step": "restore",
            "status": "success",
            "checkpoint_hash": sha256(encode_canonical(pinned_header())).digest(),
            "restore_status": "success",
        },
    }


def test_a_verification_returns_the_report_alone() -> None:
    blob = call("Serialize", header=pinned_header())["checkpoint_blob"]
    answer = call("Restore", checkpoint_blob=blob, expected={}, verify=True)
    assert set(answer) == {"report"}
    record = answer["report"]["trace_record"]
    assert (record["step"], record["restore_status"]) == ("verify", "verified")
    restored = call("Restore", checkpoint_blob=blob, expected={}, verify=False)
    assert restored["header"] == pinned_header()
    others = {"step": "restore", "restore_status": "success"}
    assert restored["report"]["trace_record"] == {**record, **others}
    other_run = {"run_id": "another"}
    assert reason("Restore", checkpoint_blob=blob, expected=other_run, verify=True) == ("IDENTITY_MISMATCH", "run_id")


def test_every_write_leaves_a_record(tmp_path: Path) -> None:
    header = pinned_header()
    written_blob = call("Serialize", header=header)
    record = {
        "schema_version": "1.0.0",
        "source_hash": sha256(encode_canonical(["source_run", "t", "r", header["manifest_hash"]])).digest(),
        "step": "serialize",
        "status": "success",
        "checkpoint_hash": sha256(encode_canonical(header)).digest(),
        "restore_status": "verified",
    }
    assert written_blob["report"]["trace_record"] == record
    assert written_blob["report"]["checkpoint_size_bytes"] == len(written_blob["checkpoint_blob"])
    params = container(tmp_path)
    checkpoint_hash = sha256(encode_canonical(params["header"])).digest()
    others = {"step": "write", "restore_status": "not_restored", "checkpoint_hash": checkpoint_hash}
    assert call("WriteContainer", **params)["trace_record"] == {**record, **others}


@pytest.mark.parametrize("name", IDENTITY)
def test_each_of_the_ten_identity_fields_aborts_when_it_differs(name: str) -> None:
    header = pinned_header()
    other = header[name] + "x" if isinstance(header[name], str) else bytes(reversed(header[name]))
    assert restored(**{name: header[name]})["header"] == header
    record = refusal("Restore", checkpoint_blob=BLOB, expected={name: other})
    assert record == {
        "t": 7,
        "failure_code": "REPLAY_DIVERGENCE",
        "failure_operator": "UML_OS.Checkpoint.Restore_v1",
        "replay_token": REPLAY_TOKEN,
        "reason": "IDENTITY_MISMATCH",
        "field_path": name,
    }


def test_an_expected_hash_is_compared() -> None:
    checkpoint_hash = sha256(encode_canonical(pinned_header())).digest()
    assert restored(checkpoint_hash=checkpoint_hash)["header"] == pinned_header()
    assert refused(checkpoint_hash=bytes(32)) == ("HASH_MISMATCH", "checkpoint_hash")


def test_the_chain_is_compared() -> None:
    blob = blob_of(checkpoint_hash_prev=bytes([1] * 32))
    assert restored(blob, checkpoint_hash_prev=bytes([1] * 32))["report"]["status"] == "success"
    assert refused(blob, checkpoint_hash_prev=bytes([2] * 32)) == ("CHAIN_MISMATCH", "checkpoint_hash_prev")
    assert refused(BLOB, checkpoint_hash_prev=bytes([2] * 32)) == ("CHAIN_MISMATCH", "checkpoint_hash_prev")


@pytest.mark.parametrize(
    ("header", "t", "replay_token"),
    [
        (pinned_header(run_id=ABSENT), 7, REPLAY_TOKEN),
        (pinned_header(t=-1), 0, REPLAY_TOKEN),
        (pinned_header(replay_token=bytes(31)), 7, bytes(32)),
        (pinned_header(t=True), 0, REPLAY_TOKEN),
        (["t", 7], 0, bytes(32)),
    ],
)
def test_a_failure_says_t_and_token_where_the_header_has_them(header: object, t: int, replay_token: bytes) -> None:
    record = refusal("Serialize", header=header)
    assert (record["t"], record["replay_token"]) == (t, replay_token)


def test_every_bit_of_every_byte_is_bound() -> None:
    for offset in range(len(BLOB)):
        for bit in range(8):
            flipped = bytearray(BLOB)
            flipped[offset] ^= 1 << bit
            assert is_refused(bytes(flipped)), (offset, bit)
