"""A run committed: records, objects, certificate and pointer, each durable before the next."""

from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.tests.checkpoint.checkpoint_calls import PUBLIC_KEY, REPLAY_TOKEN, call, commit_params, reason, refusal, tree
from impl.tests.checkpoint.checkpoint_disk import FailingSync
from impl.tests.checkpoint.checkpoint_run import cbor, committed, record, recovered, steps_of_a_commit

# The three hashes of ruling CA42 over b"trace", b"checkpoint" and b"lineage", written out with heads of CBOR by hand.
HEAD = sha256(b"\x82\x6btrace_chain\x80").digest()
TAIL = sha256(b"\x82\x6btrace_chain\x82\x58\x20" + HEAD + b"\x58\x20" + sha256(b"trace").digest()).digest()
SHARD = b"\x82\x6ackpt_shard\x83"
ROOT = sha256(SHARD + b"\x6acheckpoint\x58\x20" + sha256(b"checkpoint").digest() + b"\x0a").digest()
LEAF = sha256(SHARD + b"\x67lineage\x58\x20" + sha256(b"lineage").digest() + b"\x07").digest()
LINEAGE_ROOT = sha256(b"\x82\x6clineage_root\x81\x58\x20" + LEAF).digest()
BOUND = {"trace_tail_hash": TAIL, "checkpoint_merkle_root": ROOT, "lineage_root_hash": LINEAGE_ROOT}


def test_the_records_are_chained_and_say_what_they_are_for(run: Path) -> None:
    records = [record(run, wal_seq) for wal_seq in range(4)]
    assert [item["record_type"] for item in records] == ["PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE"]
    assert [item["wal_seq"] for item in records] == [0, 1, 2, 3]
    assert records[0]["prev_record_hash"] == bytes(32)
    for earlier, later in pairwise(records):
        assert later["prev_record_hash"] == earlier["record_hash"]
    common = {"tenant_id", "run_id", "wal_seq", "record_type", "prev_record_hash", "record_hash"}
    assert [set(item) - common for item in records] == [
        {"t", "replay_token"},
        {"trace", "checkpoint", "lineage"},
        {"certificate_hash"},
        {"certificate_hash"},
    ]
    assert records[3]["certificate_hash"] == records[2]["certificate_hash"]


def test_the_certificate_binds_the_hashes_of_the_run_and_is_signed(run: Path) -> None:
    name = cbor(run / "COMMITTED")["certificate"].hex()
    content = (run / "objects" / name).read_bytes()
    assert sha256(content).hexdigest() == name
    parts = decode_canonical(content)
    assert isinstance(parts, list)
    certificate_format, payload, signature = parts
    assert certificate_format == "run_certificate_v1"
    params = commit_params(run)
    objects = {name: sha256(params[name]).digest() for name in ("trace", "checkpoint", "lineage")}
    names = {name: params[name] for name in ("tenant_id", "run_id")}
    assert payload == names | objects | BOUND
    assert committed(run.parent / "again")["run_commit_record"] == {
        **names, **BOUND, "t": 7, "replay_token": REPLAY_TOKEN, "status": "success"
    }  # fmt: skip
    Ed25519PublicKey.from_public_bytes(PUBLIC_KEY).verify(signature, encode_canonical(payload))


def test_a_second_commit_is_refused_and_changes_nothing(run: Path) -> None:
    before = tree(run)
    assert reason("CommitRun", **commit_params(run)) == ("TARGET_EXISTS", "COMMITTED")
    assert reason("CommitRun", **commit_params(run, run_id="x")) == ("TARGET_EXISTS", "COMMITTED")
    (run / "COMMITTED").unlink()
    record = refusal("CommitRun", **commit_params(run))
    assert record == {
        "t": 7,
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": "UML_OS.Checkpoint.CommitRun_v1",
        "replay_token": REPLAY_TOKEN,
        "reason": "TARGET_EXISTS",
        "field_path": "wal",
    }
    assert tree(run) == {path: content for path, content in before.items() if path != "COMMITTED"}


def test_a_commit_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    assert reason("CommitRun", **commit_params(Path("/proc"))) == ("BAD_PATH", "root")
    assert reason("CommitRun", **commit_params(tmp_path, tenant_id="\ud800")) == ("WRONG_TYPE", "tenant_id")
    assert list(tmp_path.iterdir()) == []


def test_each_step_of_a_commit_is_durable_before_the_next(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    steps = [step.partition(" [")[0] for step in steps_of_a_commit(tmp_path / "run", patch)]
    kept = [step for step in steps if not step.startswith(("remove", "write"))]

    def appended(wal_seq: int) -> list[str]:
        name = f"{wal_seq:020}.rec"
        return [f"sync .{name}.tmp", f"rename .{name}.tmp {name}", "sync_folder wal"]

    def stored(name: str) -> list[str]:
        return [f"sync .{name}.tmp", f"rename .{name}.tmp {name}"]

    objects = [sha256(content).hexdigest() for content in (b"trace", b"checkpoint", b"lineage")]
    certificate = cbor(tmp_path / "run" / "COMMITTED")["certificate"].hex()
    assert kept == [
        "make_folder wal",
        "make_folder objects",
        "sync_folder run",
        *appended(0),
        *(step for name in objects for step in stored(name)),
        "sync_folder objects",
        *appended(1),
        *stored(certificate),
        "sync_folder objects",
        *appended(2),
        "sync .COMMITTED.tmp",
        "link_if_absent .COMMITTED.tmp COMMITTED",
        "sync_folder run",
        *appended(3),
    ]


def test_an_error_of_any_fsync_stops_a_commit_and_recovery_decides(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counted").mkdir()
    counted = FailingSync(patch, k=0)
    committed(tmp_path / "counted")
    patch.undo()
    states = []
    for k in range(1, counted.calls + 1):
        root = tmp_path / str(k)
        root.mkdir()
        failing = FailingSync(patch, k)
        with pytest.raises(OSError, match="input/output error"):
            call("CommitRun", **commit_params(root))
        patch.undo()
        assert failing.asked_after == []
        states.append(recovered(root)["state"])
    assert states == sorted(states, key=["empty", "rolled_back", "committed"].index)
    assert set(states) == {"empty", "rolled_back", "committed"}
