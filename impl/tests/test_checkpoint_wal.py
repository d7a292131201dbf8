"""The log of a run: one record pinned, and every kind of corruption refused."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.manifest import crc32c
from impl.reference.checkpoint.wal import WalRecord, frame, record_hash_of, unframe
from impl.tests.checkpoint_calls import (
    PUBLIC_KEY,
    changed,
    refusal,
    tree,
)
from impl.tests.checkpoint_run import (
    RECORDS,
    committed,
    record,
)

PREPARE = WalRecord("t", "r", 0, "PREPARE", bytes(32))


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


@settings(deadline=None, max_examples=40)
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


def torn(run: Path, harm: str) -> None:
    last = run / RECORDS[3]
    if harm == "torn":
        last.write_bytes(last.read_bytes()[:-1])
    elif harm == "empty":
        last.write_bytes(b"")
    elif harm == "gap":
        (run / RECORDS[1]).unlink()
    elif harm == "another-certificate":
        foreign = {"certificate_hash": bytes(32)}
        last.write_bytes(frame(WalRecord("t", "r", 3, "FINALIZE", record(run, 2)["record_hash"], foreign)))
    elif harm == "beside-a-pointer":
        last.unlink()
        (run / RECORDS[2]).unlink()
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


@pytest.mark.parametrize(
    ("harm", "path"),
    [
        ("torn", RECORDS[3]),
        ("empty", RECORDS[3]),
        ("gap", RECORDS[1]),
        ("another-certificate", RECORDS[3]),
        ("beside-a-pointer", RECORDS[2]),
        ("order", RECORDS[3]),
        ("chain", RECORDS[3]),
        ("after-the-end", f"wal/{4:020}.rec"),
        ("other-run", RECORDS[3]),
        ("link", RECORDS[3]),
        ("huge", RECORDS[3]),
        ("no-log", RECORDS[0]),
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
