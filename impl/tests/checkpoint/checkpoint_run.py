"""A run for tests: committed, recovered, and its files read."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from impl.reference.canonical_cbor import decode_canonical
from impl.tests.checkpoint.checkpoint_calls import PUBLIC_KEY, REPLAY_TOKEN, call, commit_params, reason
from impl.tests.checkpoint.checkpoint_disk import WatchedDisk

RECORDS = [f"wal/{wal_seq:020}.rec" for wal_seq in range(4)]
ROLLED_BACK = {
    "state": "rolled_back",
    "failure": {
        "t": 7,
        "replay_token": REPLAY_TOKEN,
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": "UML_OS.Checkpoint.RecoverRun_v1",
        "reason": "MISSING_COMPONENT",
    },
}
COMMITTED = {"state": "committed"}
EMPTY = {"state": "empty"}


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


def steps_of_a_commit(root: Path, patch: pytest.MonkeyPatch) -> list[str]:
    watched = WatchedDisk(patch)
    committed(root)
    patch.undo()
    return watched.steps
