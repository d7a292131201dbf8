"""A run committed and recovered: records, objects, certificate and pointer, and a crash before every step."""

import shutil
import tempfile
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from impl.failure import ContractFailure
from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.crc32c import crc32c
from impl.reference.checkpoint.wal_record import WalRecord, frame, record_hash_of, unframe
from impl.tests.checkpoint_calls import (
    OTHER_PUBLIC_KEY,
    PUBLIC_KEY,
    SIGNING_KEY,
    call,
    changed,
    commit_params,
    reason,
    refusal,
    rewrite,
    tree,
)
from impl.tests.checkpoint_disk import FailingSync, Killed, WatchedDisk

RECORDS = [f"wal/{wal_seq:020}.rec" for wal_seq in range(4)]
ROLLED_BACK = {
    "state": "rolled_back",
    "failure": {
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": "UML_OS.Checkpoint.RecoverRun_v1",
        "reason": "MISSING_COMPONENT",
    },
}
COMMITTED = {"state": "committed"}
EMPTY = {"state": "empty"}
PREPARE = WalRecord("t", "r", 0, "PREPARE", bytes(32))


def committed(root: Path, **changes: Any) -> dict[str, Any]:
    root.mkdir(exist_ok=True)
    return call("CommitRun", **commit_params(root, **changes))


def recovered(root: Path, public_key: bytes = PUBLIC_KEY) -> dict[str, Any]:
    return call("RecoverRun", root=str(root), public_key=public_key)


def recovery_refused(root: Path, public_key: bytes = PUBLIC_KEY) -> tuple[str, str]:
    return reason("RecoverRun", root=str(root), public_key=public_key)


def object_of(content: bytes) -> str:
    return f"objects/{sha256(content).hexdigest()}"


def cbor(file: Path) -> dict[str, Any]:
    item = decode_canonical(file.read_bytes())
    assert isinstance(item, dict)
    return item


def record(root: Path, wal_seq: int) -> dict[str, Any]:
    item = decode_canonical((root / RECORDS[wal_seq]).read_bytes()[4:-4])
    assert isinstance(item, dict)
    return item


@pytest.fixture
def patch() -> pytest.MonkeyPatch:
    """Patches that a test takes back itself, in the middle."""
    return pytest.MonkeyPatch()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A committed run."""
    committed(tmp_path / "run")
    return tmp_path / "run"


def test_the_pinned_record() -> None:
    framed = frame(PREPARE)
    assert record_hash_of(PREPARE).hex() == "fe73fc0605ae333838726dde75929b533adf5ce64fb329e30f105db2e942f4b5"
    assert len(framed[4:-4]) == 148
    assert framed[:4] == (148).to_bytes(4, "little")
    assert crc32c(framed[4:-4]) == 0x0F54AF35
    assert framed[-4:].hex() == "35af540f"
    assert unframe(framed) == PREPARE


def test_the_checksum_is_castagnoli() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0
    assert crc32c(bytes(32)) == 0x8A9136AA


def test_any_change_of_a_frame_makes_it_no_record() -> None:
    framed = frame(PREPARE)
    for offset in range(len(framed)):
        for bit in range(8):
            flipped = bytearray(framed)
            flipped[offset] ^= 1 << bit
            assert unframe(bytes(flipped)) is None
        assert unframe(framed[:offset]) is None
    assert unframe(framed + b"\x00") is None


@given(st.binary(max_size=60))
def test_no_bytes_at_random_are_a_record(data: bytes) -> None:
    assert unframe(data) is None


def test_a_record_with_another_key_or_hash_is_none() -> None:
    content = decode_canonical(frame(PREPARE)[4:-4])
    assert isinstance(content, dict)
    for changes in (
        {"added": 1},
        {"record_hash": bytes(32)},
        {"record_type": "COMMIT"},
        {"record_type": ["PREPARE"]},
        {"wal_seq": "0"},
        {"tenant_id": 1},
        {"prev_record_hash": bytes(31)},
        {"record_type": "OBJECTS"},
    ):
        framed = encode_canonical(changed(content, changes))
        framed = len(framed).to_bytes(4, "little") + framed + crc32c(framed).to_bytes(4, "little")
        assert unframe(framed) is None


def test_the_tree_of_a_committed_run(run: Path) -> None:
    certificate = cbor(run / "COMMITTED")["certificate"].hex()
    objects = [object_of(content) for content in (b"trace", b"checkpoint", b"lineage")]
    assert set(tree(run)) == {"COMMITTED", *RECORDS, *objects, f"objects/{certificate}"}


def test_the_pointer_names_the_four_objects_and_the_terminal_record(run: Path, tmp_path: Path) -> None:
    answer = committed(tmp_path / "other")
    assert cbor(run / "COMMITTED") == {
        "run_id": "r",
        "trace": sha256(b"trace").digest(),
        "checkpoint": sha256(b"checkpoint").digest(),
        "lineage": sha256(b"lineage").digest(),
        "certificate": answer["certificate_hash"],
        "wal_terminal_hash": answer["wal_terminal_hash"],
    }
    assert record(run, 3)["record_hash"] == answer["wal_terminal_hash"]


def test_the_records_are_chained_and_say_what_they_are_for(run: Path) -> None:
    records = [record(run, wal_seq) for wal_seq in range(4)]
    assert [item["record_type"] for item in records] == ["PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE"]
    assert [item["wal_seq"] for item in records] == [0, 1, 2, 3]
    assert records[0]["prev_record_hash"] == bytes(32)
    for earlier, later in pairwise(records):
        assert later["prev_record_hash"] == earlier["record_hash"]
    common = {"tenant_id", "run_id", "wal_seq", "record_type", "prev_record_hash", "record_hash"}
    assert [set(item) - common for item in records] == [
        set(),
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
    names = ("tenant_id", "run_id", "trace_tail_hash", "checkpoint_merkle_root", "lineage_root_hash")
    objects = {name: sha256(params[name]).digest() for name in ("trace", "checkpoint", "lineage")}
    assert payload == {name: params[name] for name in names} | objects
    Ed25519PublicKey.from_public_bytes(PUBLIC_KEY).verify(signature, encode_canonical(payload))


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    committed(tmp_path / "other")
    assert tree(tmp_path / "other") == tree(run)


def test_objects_of_the_same_content_are_one(tmp_path: Path) -> None:
    committed(tmp_path / "run", trace=b"", checkpoint=b"", lineage=b"")
    assert len(list((tmp_path / "run" / "objects").iterdir())) == 2
    assert recovered(tmp_path / "run") == COMMITTED


def test_a_second_commit_is_refused_and_changes_nothing(run: Path) -> None:
    before = tree(run)
    assert reason("CommitRun", **commit_params(run)) == ("TARGET_EXISTS", "COMMITTED")
    assert reason("CommitRun", **commit_params(run, run_id="x")) == ("TARGET_EXISTS", "COMMITTED")
    (run / "COMMITTED").unlink()
    record = refusal("CommitRun", **commit_params(run))
    assert record == {
        "t": 0,
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": "UML_OS.Checkpoint.CommitRun_v1",
        "replay_token": bytes(32),
        "reason": "TARGET_EXISTS",
        "field_path": "wal",
    }
    assert tree(run) == {path: content for path, content in before.items() if path != "COMMITTED"}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"tenant_id": "\ud800"}, ("WRONG_TYPE", "tenant_id")),
        ({"run_id": "x" * 4_097}, ("LIMIT_EXCEEDED", "run_id")),
        ({"root": "relative"}, ("BAD_PATH", "root")),
        ({"root": "/no/such/folder"}, ("BAD_PATH", "root")),
    ],
)
def test_a_commit_that_cannot_be_written_is_refused(
    tmp_path: Path, changes: dict[str, Any], found: tuple[str, str]
) -> None:
    assert reason("CommitRun", **{**commit_params(tmp_path), **changes}) == found
    assert list(tmp_path.iterdir()) == []


def test_the_longest_names_are_committed_and_recovered(tmp_path: Path) -> None:
    committed(tmp_path / "run", tenant_id="x" * 4_096, run_id="\u00fc" * 2_048)
    assert recovered(tmp_path / "run") == COMMITTED


@pytest.mark.parametrize("folder", ["wal", "objects"])
def test_a_link_in_the_place_of_a_folder_is_refused(tmp_path: Path, folder: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / folder).symlink_to(outside)
    found = ("TARGET_EXISTS", "wal") if folder == "wal" else ("BAD_PATH", "root")
    assert reason("CommitRun", **commit_params(root)) == found
    assert list(outside.iterdir()) == []


def test_recovery_of_a_finished_run_changes_nothing(run: Path) -> None:
    before = tree(run)
    assert recovered(run) == COMMITTED
    assert recovered(run) == COMMITTED
    assert tree(run) == before


def test_recovery_of_an_empty_root_finds_nothing(tmp_path: Path) -> None:
    assert recovered(tmp_path) == EMPTY
    assert list(tmp_path.iterdir()) == []


def test_a_valid_pointer_without_its_last_record_is_rolled_forward_with_the_same_bytes(run: Path) -> None:
    before = tree(run)
    (run / RECORDS[3]).unlink()
    assert recovered(run) == COMMITTED
    assert tree(run) == before


@pytest.mark.parametrize("records", [1, 2, 3])
def test_without_a_pointer_a_run_is_rolled_back(run: Path, records: int) -> None:
    (run / "COMMITTED").unlink()
    for path in RECORDS[records:]:
        (run / path).unlink()
    assert recovered(run) == ROLLED_BACK
    assert set(tree(run)) == set(RECORDS[: records + 1])
    assert record(run, records)["record_type"] == "ROLLBACK"
    after = tree(run)
    assert recovered(run) == ROLLED_BACK
    assert tree(run) == after


def dangling(run: Path, harm: str) -> None:
    objects = cbor(run / "COMMITTED")
    if harm == "object-missing":
        (run / "objects" / objects["lineage"].hex()).unlink()
    elif harm == "certificate-missing":
        (run / "objects" / objects["certificate"].hex()).unlink()
    elif harm == "object-altered":
        (run / "objects" / objects["trace"].hex()).write_bytes(b"other")
    elif harm == "pointer-empty":
        (run / "COMMITTED").write_bytes(b"")
    elif harm == "objects-a-link":
        (run / "objects").rename(run.parent / "outside")
        (run / "objects").symlink_to(run.parent / "outside")
    elif harm == "object-a-link":
        file = run / "objects" / objects["trace"].hex()
        file.rename(run.parent / "outside")
        file.symlink_to(run.parent / "outside")
    else:
        rewrite(run / "COMMITTED", **{harm: "x" if harm == "run_id" else bytes(32)})


HARMS = {
    "object-missing": ("MISSING_COMPONENT", object_of(b"lineage")),
    "certificate-missing": ("MISSING_COMPONENT", None),
    "object-altered": ("HASH_MISMATCH", object_of(b"trace")),
    "object-a-link": ("MISSING_COMPONENT", object_of(b"trace")),
    "objects-a-link": ("MISSING_COMPONENT", None),
    "pointer-empty": ("MISSING_COMPONENT", "COMMITTED"),
    "run_id": ("HASH_MISMATCH", "COMMITTED.run_id"),
    "trace": ("HASH_MISMATCH", "COMMITTED.trace"),
    "checkpoint": ("HASH_MISMATCH", "COMMITTED.checkpoint"),
    "lineage": ("HASH_MISMATCH", "COMMITTED.lineage"),
    "certificate": ("HASH_MISMATCH", "COMMITTED.certificate"),
    "wal_terminal_hash": ("HASH_MISMATCH", "COMMITTED.wal_terminal_hash"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_dangling_pointer_is_rolled_back(run: Path, harm: str) -> None:
    dangling(run, harm)
    (run / RECORDS[3]).unlink()
    assert recovered(run) == ROLLED_BACK
    assert recovered(run) == ROLLED_BACK
    assert "COMMITTED" not in tree(run)
    assert record(run, 3)["record_type"] == "ROLLBACK"


@pytest.mark.parametrize("harm", HARMS)
def test_a_finished_run_that_was_damaged_is_refused_and_left_as_it_is(run: Path, harm: str) -> None:
    dangling(run, harm)
    before = tree(run)
    expected_reason, field_path = HARMS[harm]
    found = recovery_refused(run)
    assert found[0] == expected_reason
    assert field_path is None or found[1] == field_path
    assert tree(run) == before


@pytest.mark.parametrize("finished", [True, False])
def test_a_certificate_of_another_key_is_refused_and_nothing_is_taken_back(run: Path, finished: bool) -> None:
    if not finished:
        (run / RECORDS[3]).unlink()
    before = tree(run)
    certificate = cbor(run / "COMMITTED")["certificate"].hex()
    assert recovery_refused(run, OTHER_PUBLIC_KEY) == ("SIGNATURE_INVALID", f"objects/{certificate}")
    assert recovery_refused(run, bytes(32)) == ("SIGNATURE_INVALID", f"objects/{certificate}")
    assert tree(run) == before
    assert recovered(run) == COMMITTED


def replace_certificate(run: Path, content: bytes) -> None:
    """Put another certificate into a run, with the log and the pointer that fit it."""
    certificate_hash = sha256(content).digest()
    (run / "objects" / certificate_hash.hex()).write_bytes(content)
    details = {"certificate_hash": certificate_hash}
    signed = WalRecord("t", "r", 2, "CERT_SIGNED", record(run, 1)["record_hash"], details)
    finalize = WalRecord("t", "r", 3, "FINALIZE", record_hash_of(signed), details)
    (run / RECORDS[2]).write_bytes(frame(signed))
    (run / RECORDS[3]).write_bytes(frame(finalize))
    rewrite(run / "COMMITTED", certificate=certificate_hash, wal_terminal_hash=record_hash_of(finalize))


def certificate_parts(run: Path) -> list[Any]:
    parts = decode_canonical((run / "objects" / cbor(run / "COMMITTED")["certificate"].hex()).read_bytes())
    assert isinstance(parts, list)
    return parts


@pytest.mark.parametrize("name", ["tenant_id", "run_id", "trace", "checkpoint", "lineage"])
def test_a_certificate_that_is_bound_to_another_run_is_refused(run: Path, name: str) -> None:
    certificate_format, payload, _ = certificate_parts(run)
    payload = {**payload, name: "x" if name.endswith("_id") else bytes(32)}
    signature = Ed25519PrivateKey.from_private_bytes(SIGNING_KEY).sign(encode_canonical(payload))
    content = encode_canonical([certificate_format, payload, signature])
    replace_certificate(run, content)
    assert recovery_refused(run) == ("HASH_MISMATCH", f"{object_of(content)}.{name}")


@pytest.mark.parametrize("altered", ["payload", "signature", "format", "shape", "bytes", "null-signature"])
def test_an_altered_certificate_is_refused(run: Path, altered: str) -> None:
    certificate_format, payload, signature = certificate_parts(run)
    content = {
        "payload": encode_canonical([certificate_format, {**payload, "trace_tail_hash": bytes(32)}, signature]),
        "signature": encode_canonical([certificate_format, payload, bytes(64)]),
        "null-signature": encode_canonical([certificate_format, payload, None]),
        "format": encode_canonical(["migration_certificate_v1", payload, signature]),
        "shape": encode_canonical([certificate_format, signature]),
        "bytes": b"\xff",
    }[altered]
    replace_certificate(run, content)
    assert recovery_refused(run) == ("SIGNATURE_INVALID", object_of(content))


def torn(run: Path, harm: str) -> None:
    last = run / RECORDS[3]
    if harm == "torn":
        last.write_bytes(last.read_bytes()[:-1])
    elif harm == "empty":
        last.write_bytes(b"")
    elif harm == "gap":
        (run / RECORDS[1]).unlink()
    elif harm == "foreign":
        (run / "wal" / "notes").touch()
    elif harm == "order":
        last.write_bytes((run / RECORDS[2]).read_bytes())
    elif harm == "chain":
        last.write_bytes(frame(WalRecord("t", "r", 3, "FINALIZE", bytes(32), {"certificate_hash": bytes(32)})))
    elif harm == "after-the-end":
        ended = WalRecord("t", "r", 4, "ROLLBACK", record(run, 3)["record_hash"])
        (run / "wal" / f"{4:020}.rec").write_bytes(frame(ended))
    elif harm == "other-run":
        other = WalRecord("t", "x", 3, "ROLLBACK", record(run, 2)["record_hash"])
        last.write_bytes(frame(other))
    elif harm == "link":
        last.rename(run / "elsewhere")
        last.symlink_to(run / "elsewhere")
    elif harm == "huge":
        last.write_bytes(bytes(70_000))
    elif harm == "no-log":
        shutil.rmtree(run / "wal")
    elif harm == "log-a-link":
        (run / "wal").rename(run.parent / "wal")
        (run / "wal").symlink_to(run.parent / "wal")


@pytest.mark.parametrize(
    ("harm", "path"),
    [
        ("torn", RECORDS[3]),
        ("empty", RECORDS[3]),
        ("gap", RECORDS[2]),
        ("foreign", "wal"),
        ("order", RECORDS[3]),
        ("chain", RECORDS[3]),
        ("after-the-end", f"wal/{4:020}.rec"),
        ("other-run", RECORDS[3]),
        ("link", RECORDS[3]),
        ("huge", RECORDS[3]),
        ("no-log", "wal"),
        ("log-a-link", "wal"),
    ],
)
def test_a_corrupt_log_is_refused_and_left_as_it_is(run: Path, harm: str, path: str) -> None:
    torn(run, harm)
    before = tree(run)
    found = refusal("RecoverRun", root=str(run), public_key=PUBLIC_KEY)
    assert found == {
        "t": 0,
        "failure_code": "WAL_CORRUPTION",
        "failure_operator": "UML_OS.Checkpoint.RecoverRun_v1",
        "replay_token": bytes(32),
        "reason": "WAL_RECORD_INVALID",
        "field_path": path,
    }
    assert tree(run) == before


def test_temporary_files_are_ignored_and_removed(run: Path) -> None:
    before = tree(run)
    for path in (f"wal/.{4:020}.rec.tmp", f"objects/.{'a' * 64}.tmp", ".COMMITTED.tmp"):
        (run / path).write_bytes(b"torn")
    assert recovered(run) == COMMITTED
    assert tree(run) == before


def steps_of_a_commit(root: Path, patch: pytest.MonkeyPatch) -> list[str]:
    watched = WatchedDisk(patch)
    committed(root)
    patch.undo()
    return watched.steps


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


def test_after_a_crash_before_any_step_recovery_decides_and_repeats_itself(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    steps = steps_of_a_commit(tmp_path / "whole", patch)
    whole = tree(tmp_path / "whole")
    linked = next(at for at, step in enumerate(steps) if step.startswith("link_if_absent"))
    prepared = next(at for at, step in enumerate(steps) if step.startswith("rename"))
    for last in range(len(steps)):
        root = tmp_path / str(last)
        root.mkdir()
        WatchedDisk(patch, last)
        with pytest.raises(Killed):
            call("CommitRun", **commit_params(root))
        patch.undo()
        answer = recovered(root)
        if last <= prepared:
            assert answer == EMPTY
            assert tree(root) == {}
            committed(root)
            assert tree(root) == whole
        elif last <= linked:
            assert answer == ROLLED_BACK
            assert not any(path.startswith("objects/") or path == "COMMITTED" for path in tree(root))
        else:
            assert answer == COMMITTED
            assert tree(root) == whole
        after = tree(root)
        assert recovered(root) == (COMMITTED if after == whole else answer)
        assert tree(root) == after


@pytest.mark.parametrize("state", ["forward", "back", "back-early", "dangling"])
def test_a_crash_inside_recovery_is_recovered_to_the_same_end(
    run: Path, tmp_path: Path, patch: pytest.MonkeyPatch, state: str
) -> None:
    (run / RECORDS[3]).unlink()
    (run / "objects" / f".{'a' * 64}.tmp").write_bytes(b"torn")
    if state == "dangling":
        dangling(run, "object-missing")
    elif state != "forward":
        (run / "COMMITTED").unlink()
    if state == "back-early":
        (run / RECORDS[2]).unlink()
    shutil.copytree(run, tmp_path / "uninterrupted")
    watched = WatchedDisk(patch)
    answer = recovered(tmp_path / "uninterrupted")
    patch.undo()
    assert answer == (COMMITTED if state == "forward" else ROLLED_BACK)
    for last in range(len(watched.steps)):
        root = tmp_path / str(last)
        shutil.copytree(run, root)
        WatchedDisk(patch, last)
        with pytest.raises(Killed):
            recovered(root)
        patch.undo()
        assert recovered(root) == answer
        assert tree(root) == tree(tmp_path / "uninterrupted")


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


@given(st.dictionaries(st.sampled_from(["COMMITTED", *RECORDS]), st.binary(max_size=200), max_size=3))
def test_any_bytes_in_a_run_are_recovered_or_refused(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        committed(root)
        for path, content in files.items():
            (root / path).write_bytes(content)
        try:
            recovered(root)
        except ContractFailure as failure:
            assert failure.code in ("WAL_CORRUPTION", "CONTRACT_VIOLATION")  # noqa: PT017
        else:
            assert not files
