"""The certificate of a run: another key, another run or another byte is refused."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.wal import WalRecord, frame, record_hash_of
from impl.tests.checkpoint.checkpoint_calls import OTHER_PUBLIC_KEY, SIGNING_KEY, rewrite, tree
from impl.tests.checkpoint.checkpoint_run import (
    COMMITTED,
    RECORDS,
    cbor,
    object_of,
    record,
    recovered,
    recovery_refused,
)


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


def signed(run: Path, payload: dict[str, Any]) -> bytes:
    signature = Ed25519PrivateKey.from_private_bytes(SIGNING_KEY).sign(encode_canonical(payload))
    return encode_canonical([certificate_parts(run)[0], payload, signature])


RUN = ["tenant_id", "run_id", "trace", "checkpoint", "lineage"]
COMPUTED = ["trace_tail_hash", "checkpoint_merkle_root", "lineage_root_hash"]


@pytest.mark.parametrize("name", RUN + COMPUTED)
@pytest.mark.parametrize("found", [None, bytes(31), bytes(32), "x"])
def test_a_certificate_that_is_bound_to_another_run_is_refused(run: Path, name: str, found: object) -> None:
    payload = {key: one for key, one in certificate_parts(run)[1].items() if key != name}
    content = signed(run, payload if found is None else {**payload, name: found})
    replace_certificate(run, content)
    assert recovery_refused(run) == ("HASH_MISMATCH", f"{object_of(content)}.{name}")
    (run / RECORDS[3]).unlink()
    assert recovered(run)["state"] == "rolled_back"


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


def test_a_certificate_may_say_more_than_a_commit_does(run: Path) -> None:
    replace_certificate(run, signed(run, {**certificate_parts(run)[1], "note": "n"}))
    assert recovered(run) == COMMITTED
