"""Run commit and recovery in the JavaScript backend: the bytes on disk, every interruption, every kind of damage."""

import json
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from impl.tests.javascript_checkpoint import (
    COMMIT,
    NUMBERS,
    RECOVER,
    WRITE,
    assert_refused,
    canonical,
    cbor_digest,
    digest,
    header_for,
    names,
)
from impl.tests.javascript_process import BACKEND, Backend, Native, Value, evaluate, json_form

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
CONTENT = {"trace": b"the trace", "checkpoint": b"the checkpoint", "lineage": b"the lineage"}
HASHES = {name: digest(content) for name, content in CONTENT.items()}
BOUND = {
    "trace_tail_hash": digest(b"tail"),
    "checkpoint_merkle_root": digest(b"root"),
    "lineage_root_hash": digest(b"lineage root"),
}
TYPES = ["PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE"]
ROLLED_BACK = {
    "state": "rolled_back",
    "failure": {
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": RECOVER,
        "reason": "MISSING_COMPONENT",
    },
}

Tree = dict[str, bytes]


@pytest.fixture(scope="module", params=["json", "cbor"])
def backend(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    tool("node")
    started = Backend(request.param)
    yield started
    assert started.finish() == 0


def crc32c(content: bytes) -> int:
    word = 0xFFFFFFFF
    for byte in content:
        word ^= byte
        for _ in range(8):
            word = (word >> 1) ^ (0x82F63B78 if word & 1 else 0)
    return word ^ 0xFFFFFFFF


def record(sequence: int, kind: str, previous: bytes, **added: bytes) -> tuple[bytes, bytes]:
    """Return the hash and the framed bytes of a log record."""
    body = {"tenant_id": "t", "run_id": "r", "wal_seq": sequence, "record_type": kind, "prev_record_hash": previous}
    hashed = cbor_digest(["wal_record", body | added])
    content = canonical(body | added | {"record_hash": hashed})
    return hashed, struct.pack("<I", len(content)) + content + struct.pack("<I", crc32c(content))


def record_path(sequence: int) -> str:
    return f"wal/{sequence:020}.rec"


def object_path(content: bytes) -> str:
    return f"objects/{digest(content).hex()}"


PAYLOAD = {"tenant_id": "t", "run_id": "r"} | BOUND | HASHES
CERTIFICATE = canonical(["run_certificate_v1", PAYLOAD, KEY.sign(canonical(PAYLOAD))])
RECORD_FIELDS: list[dict[str, bytes]] = [
    {}, HASHES, {"certificate_hash": digest(CERTIFICATE)}, {"certificate_hash": digest(CERTIFICATE)}
]  # fmt: skip


def log(kinds: list[str] = TYPES) -> list[tuple[bytes, bytes]]:
    records: list[tuple[bytes, bytes]] = []
    for sequence, kind in enumerate(kinds):
        previous = records[-1][0] if records else bytes(32)
        fields = RECORD_FIELDS[TYPES.index(kind)] if kind in TYPES else {}
        records.append(record(sequence, kind, previous, **fields))
    return records


TERMINAL = log()[3][0]
POINTER = canonical({"run_id": "r", **HASHES, "certificate": digest(CERTIFICATE), "wal_terminal_hash": TERMINAL})
OBJECTS: Tree = {object_path(content): content for content in [*CONTENT.values(), CERTIFICATE]}
LOG: Tree = {record_path(sequence): framed for sequence, (_, framed) in enumerate(log())}
COMMITTED: Tree = {**OBJECTS, **LOG, "COMMITTED": POINTER}


def commitment(root: Path, **changes: Native) -> dict[str, Native]:
    owner = {"root": str(root), "tenant_id": "t", "run_id": "r", "signing_key": bytes(range(32))}
    return owner | CONTENT | BOUND | changes


def recovery(root: Path, key: bytes = PUBLIC) -> dict[str, Native]:
    return {"root": str(root), "public_key": key}


def tree(root: Path) -> Tree:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def put(root: Path, files: Tree) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def without(*paths: str) -> Tree:
    return {path: content for path, content in COMMITTED.items() if path not in paths}


# The records


def test_the_pinned_record(tool: Callable[[str], str]) -> None:
    tool("node")
    pinned = "fe73fc0605ae333838726dde75929b533adf5ce64fb329e30f105db2e942f4b5"
    hashed, framed = record(0, "PREPARE", bytes(32))
    assert (hashed.hex(), len(framed) - 8, framed[-4:][::-1].hex()) == (pinned, 148, "0f54af35")
    assert LOG[record_path(0)] == framed


def test_the_checksum_is_the_castagnoli_one(tool: Callable[[str], str]) -> None:
    tool("node")
    script = """import { crc32c } from "./checkpoint/crc32c.js";
        console.log(JSON.stringify([crc32c(Buffer.from("123456789")), crc32c(Buffer.alloc(32))]));"""
    assert evaluate(script) == [0xE3069283, 0x8A9136AA]


# Commit


def test_a_commit_writes_exactly_its_files(backend: Backend, tmp_path: Path) -> None:
    result = backend.call(COMMIT, commitment(tmp_path))
    assert result == backend.form({"certificate_hash": digest(CERTIFICATE), "wal_terminal_hash": TERMINAL})
    assert tree(tmp_path) == COMMITTED
    assert backend.call(RECOVER, recovery(tmp_path)) == {"state": "committed"}
    assert tree(tmp_path) == COMMITTED


def test_equal_objects_are_one_file(backend: Backend, tmp_path: Path) -> None:
    backend.call(COMMIT, commitment(tmp_path, checkpoint=b"same", lineage=b"same", trace=b""))
    assert len(names(tmp_path / "objects")) == 3
    assert backend.call(RECOVER, recovery(tmp_path)) == {"state": "committed"}


def test_a_run_is_committed_once(backend: Backend, tmp_path: Path) -> None:
    backend.call(COMMIT, commitment(tmp_path))
    assert_refused(backend, COMMIT, commitment(tmp_path), "TARGET_EXISTS", "COMMITTED")
    assert_refused(backend, COMMIT, commitment(tmp_path, run_id="other"), "TARGET_EXISTS", "COMMITTED")
    assert tree(tmp_path) == COMMITTED


@pytest.mark.parametrize("count", range(1, 4))
def test_a_log_is_recovered_before_anything_is_committed(backend: Backend, tmp_path: Path, count: int) -> None:
    put(tmp_path, {record_path(sequence): LOG[record_path(sequence)] for sequence in range(count)})
    before = tree(tmp_path)
    assert_refused(backend, COMMIT, commitment(tmp_path), "TARGET_EXISTS", "wal")
    assert_refused(backend, COMMIT, commitment(tmp_path, run_id="other"), "TARGET_EXISTS", "wal")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["tenant_id", "run_id"])
def test_a_name_has_at_most_4096_bytes(backend: Backend, tmp_path: Path, name: str) -> None:
    assert_refused(backend, COMMIT, commitment(tmp_path, **{name: "n" * 4097}), "LIMIT_EXCEEDED", name)


def test_an_object_is_immutable(backend: Backend, tmp_path: Path) -> None:
    path = object_path(CONTENT["trace"])
    put(tmp_path, {path: b"another"})
    assert_refused(backend, COMMIT, commitment(tmp_path), "HASH_MISMATCH", path)
    assert tree(tmp_path) == {path: b"another"}


@pytest.mark.parametrize("path", ["objects", "wal"])
def test_a_folder_that_leads_outside_is_refused(backend: Backend, tmp_path: Path, path: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / path).symlink_to(outside)
    assert_refused(backend, COMMIT, commitment(root), "BAD_PATH", path)
    assert_refused(backend, RECOVER, recovery(root), "BAD_PATH", path)
    assert names(outside) == []


def test_a_root_that_is_no_folder_is_refused(backend: Backend, tmp_path: Path) -> None:
    assert_refused(backend, COMMIT, commitment(tmp_path / "missing"), "BAD_PATH", "root")
    assert_refused(backend, RECOVER, recovery(tmp_path / "missing"), "BAD_PATH", "root")


# Recovery


def test_nothing_begun_is_empty(backend: Backend, tmp_path: Path) -> None:
    assert backend.call(RECOVER, recovery(tmp_path)) == {"state": "empty"}
    put(tmp_path, {"trace.tmp": b"t", "wal/.00000000000000000000.rec.tmp": b"t"})
    assert backend.call(RECOVER, recovery(tmp_path)) == {"state": "empty"}
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("count", range(1, 4))
def test_without_a_pointer_the_run_is_rolled_back(backend: Backend, tmp_path: Path, count: int) -> None:
    kept = {record_path(sequence): LOG[record_path(sequence)] for sequence in range(count)}
    put(tmp_path, {**OBJECTS, **kept, "wal/.next.rec.tmp": b"torn", "checkpoint.tmp": b"torn"})
    rollback = {record_path(count): log([*TYPES[:count], "ROLLBACK"])[count][1]}
    for _ in range(3):
        assert backend.call(RECOVER, recovery(tmp_path)) == ROLLED_BACK
        assert tree(tmp_path) == {**OBJECTS, **kept, **rollback}


def test_a_valid_pointer_is_rolled_forward(backend: Backend, tmp_path: Path) -> None:
    put(tmp_path, without(record_path(3)) | {".COMMITTED.tmp": POINTER})
    for _ in range(2):
        assert backend.call(RECOVER, recovery(tmp_path)) == {"state": "committed"}
        assert tree(tmp_path) == COMMITTED


@pytest.mark.parametrize("path", OBJECTS)
def test_a_dangling_pointer_is_rolled_back(backend: Backend, tmp_path: Path, path: str) -> None:
    rollback = {record_path(3): log([*TYPES[:3], "ROLLBACK"])[3][1]}
    expected = without(record_path(3), path, "COMMITTED") | rollback
    put(tmp_path, without(record_path(3), path))
    for _ in range(2):
        assert backend.call(RECOVER, recovery(tmp_path)) == ROLLED_BACK
        assert tree(tmp_path) == expected


@pytest.mark.parametrize(
    "pointer",
    [
        b"",
        POINTER[:-1],
        canonical({"run_id": "r"}),
        canonical({**cbor2.loads(POINTER), "run_id": "other"}),
        canonical({**cbor2.loads(POINTER), "wal_terminal_hash": bytes(32)}),
        canonical({**cbor2.loads(POINTER), "trace": HASHES["lineage"]}),
    ],
    ids=["empty", "torn", "incomplete", "other run", "other log", "other trace"],
)
def test_an_inconsistent_pointer_is_rolled_back(backend: Backend, tmp_path: Path, pointer: bytes) -> None:
    put(tmp_path, without(record_path(3)) | {"COMMITTED": pointer})
    assert backend.call(RECOVER, recovery(tmp_path)) == ROLLED_BACK
    assert "COMMITTED" not in tree(tmp_path)


@pytest.mark.parametrize("missing", [[], [record_path(3)]], ids=["final", "open"])
def test_a_wrong_key_is_refused_and_changes_nothing(backend: Backend, tmp_path: Path, missing: list[str]) -> None:
    files = without(*missing) | {"left.tmp": b"t"}
    put(tmp_path, files)
    path = object_path(CERTIFICATE)
    for key in (OTHER, bytes(32), b"\xff" * 32):
        assert_refused(backend, RECOVER, recovery(tmp_path, key), "SIGNATURE_INVALID", path)
    assert tree(tmp_path) == files


def forged(payload: Native, signature: bytes) -> Tree:
    """Return a whole commit whose certificate is another one."""
    certificate = canonical(["run_certificate_v1", payload, signature])
    fields = {"certificate_hash": digest(certificate)}
    records = log(TYPES[:2])
    for sequence, kind in enumerate(TYPES[2:], 2):
        records.append(record(sequence, kind, records[-1][0], **fields))
    pointer = {**cbor2.loads(POINTER), "certificate": digest(certificate), "wal_terminal_hash": records[3][0]}
    files = {record_path(sequence): framed for sequence, (_, framed) in enumerate(records)}
    contents = [*CONTENT.values(), certificate]
    return {**{object_path(content): content for content in contents}, **files, "COMMITTED": canonical(pointer)}


def test_an_altered_payload_is_refused(backend: Backend, tmp_path: Path) -> None:
    payload = PAYLOAD | {"lineage_root_hash": bytes(32)}
    files = forged(payload, KEY.sign(canonical(PAYLOAD)))
    put(tmp_path, files)
    path = object_path(canonical(["run_certificate_v1", payload, KEY.sign(canonical(PAYLOAD))]))
    assert_refused(backend, RECOVER, recovery(tmp_path), "SIGNATURE_INVALID", path)
    assert tree(tmp_path) == files


@pytest.mark.parametrize("name", CONTENT)
def test_a_certificate_bound_to_another_object_is_refused(backend: Backend, tmp_path: Path, name: str) -> None:
    payload = PAYLOAD | {name: bytes(32)}
    put(tmp_path, forged(payload, KEY.sign(canonical(payload))))
    assert_refused(backend, RECOVER, recovery(tmp_path), "HASH_MISMATCH", "COMMITTED")


@pytest.mark.parametrize("path", [*OBJECTS, "COMMITTED"])
def test_what_is_lost_after_the_commit_is_an_error(backend: Backend, tmp_path: Path, path: str) -> None:
    put(tmp_path, without(path))
    assert_refused(backend, RECOVER, recovery(tmp_path), "MISSING_COMPONENT", path)
    assert tree(tmp_path) == without(path)


def test_a_damaged_object_is_an_error(backend: Backend, tmp_path: Path) -> None:
    path = object_path(CONTENT["lineage"])
    put(tmp_path, COMMITTED | {path: b"the lineagE"})
    assert_refused(backend, RECOVER, recovery(tmp_path), "HASH_MISMATCH", path)


# The log


def spoiled_log() -> dict[str, tuple[Tree, int]]:
    """Return damaged logs by name, with the record that is named."""
    last = LOG[record_path(3)]
    other = record(2, "CERT_SIGNED", bytes(32), certificate_hash=digest(CERTIFICATE))[1]
    surplus = record(4, "ROLLBACK", TERMINAL)[1]
    renumbered = record(9, "FINALIZE", log()[2][0], certificate_hash=digest(CERTIFICATE))[1]
    unbound = record(0, "ROLLBACK", bytes(32))[1]
    added = record(3, "FINALIZE", log()[2][0], certificate_hash=digest(CERTIFICATE), extra=b"")[1]
    return {
        "torn": ({record_path(3): last[:-1]}, 3),
        "empty": ({record_path(3): b""}, 3),
        "short": ({record_path(3): b"\x00\x00\x00"}, 3),
        "checksum": ({record_path(3): last[:-1] + bytes([last[-1] ^ 1])}, 3),
        "length": ({record_path(3): bytes([last[0] ^ 1]) + last[1:]}, 3),
        "content": ({record_path(0): LOG[record_path(0)].replace(b"PREPARE", b"PREPARX")}, 0),
        "chain": ({record_path(2): other}, 2),
        "after the end": ({record_path(4): surplus}, 4),
        "sequence": ({record_path(3): renumbered}, 3),
        "beginning": ({record_path(0): unbound}, 0),
        "fields": ({record_path(3): added}, 3),
        "gap": ({record_path(7): last}, 4),
        "far gap": ({f"wal/{'9' * 20}.rec": last}, 4),
    }


@pytest.mark.parametrize("kind", spoiled_log())
def test_a_damaged_log_is_corruption(backend: Backend, tmp_path: Path, kind: str) -> None:
    changed, sequence = spoiled_log()[kind]
    files = COMMITTED | changed
    put(tmp_path, files)
    assert_refused(backend, RECOVER, recovery(tmp_path), "WAL_RECORD_INVALID", record_path(sequence))
    assert tree(tmp_path) == files


def test_a_record_that_is_missing_is_corruption(backend: Backend, tmp_path: Path) -> None:
    put(tmp_path, without(record_path(1)))
    assert_refused(backend, RECOVER, recovery(tmp_path), "WAL_RECORD_INVALID", record_path(1))
    shutil.rmtree(tmp_path / "wal")
    assert_refused(backend, RECOVER, recovery(tmp_path), "WAL_RECORD_INVALID", record_path(0))


def test_every_changed_byte_of_a_record_is_corruption(backend: Backend, tmp_path: Path) -> None:
    put(tmp_path, COMMITTED)
    content = LOG[record_path(3)]
    for offset in range(len(content)):
        damaged = content[:offset] + bytes([content[offset] ^ 0x40]) + content[offset + 1 :]
        (tmp_path / record_path(3)).write_bytes(damaged)
        assert backend.refuse(RECOVER, recovery(tmp_path))["code"] == NUMBERS["WAL_CORRUPTION"]


# Crashes


def calls_of(line: str) -> str:
    """Return the name of the system call of a line of strace."""
    found = re.match(r"(?:\d+ +)?(\w+)\(", line)
    return found.group(1) if found else ""


def request(method: str, params: Native) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": json_form(params)}).encode() + b"\n"


def traced(
    tool: Callable[[str], str], log_path: Path, asked: bytes, *options: str
) -> subprocess.CompletedProcess[bytes]:
    """Answer one request under strace."""
    calls = "trace=fsync,fdatasync,rename,link,mkdir,unlink,rmdir,openat,write,pwrite64,writev"
    command = [tool("strace"), "-f", "-y", "-o", str(log_path), "-e", calls, *options]
    backend = [tool("node"), str(BACKEND / "serve.js")]
    return subprocess.run([*command, "--", *backend], input=asked, capture_output=True, timeout=120, check=False)


def steps(log_path: Path, root: Path) -> list[tuple[str, str]]:
    """Return the syncs and changes of names below a root in order, each with its path in the root."""
    found = []
    for line in log_path.read_text(encoding="utf-8").splitlines():
        call = calls_of(line)
        if call in ("fsync", "rename", "link") and str(root) in line:
            paths = re.findall(rf"{re.escape(str(root))}/?([^\">]*)", line)
            found.append((call, paths[-1]))
    return found


def test_a_container_is_synced_before_and_after_its_rename(tool: Callable[[str], str], tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    shard = {"tensors/rank=0/shard=0.bin": b"x"}
    given = {"dataset_snapshot_id": "snap", "artifact_index_hash": bytes(32)}
    params = {"root": str(root), "name": "ck", "header": Value(header_for(shard)), "files": shard, "manifest": given}
    finished = traced(tool, tmp_path / "log", request(WRITE, params))
    assert b'"result"' in finished.stdout
    assert steps(tmp_path / "log", root) == [
        ("fsync", ".ck.tmp/tensors/rank=0/shard=0.bin"),
        ("fsync", ".ck.tmp/checkpoint_header.cbor"),
        ("fsync", ".ck.tmp/checkpoint_manifest.cbor"),
        ("fsync", ".ck.tmp/tensors/rank=0"),
        ("fsync", ".ck.tmp/tensors"),
        ("fsync", ".ck.tmp"),
        ("rename", "ck"),
        ("fsync", ""),
    ]


def test_a_commit_is_durable_step_by_step(tool: Callable[[str], str], tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    finished = traced(tool, tmp_path / "log", request(COMMIT, commitment(root)))
    assert b'"result"' in finished.stdout
    expected = [("fsync", ""), ("fsync", "")]
    order = [record_path(0), *(object_path(content) for content in CONTENT.values()), record_path(1)]
    for path in [*order, object_path(CERTIFICATE), record_path(2), "COMMITTED", record_path(3)]:
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/.{name}.tmp".lstrip("/")
        expected += [("fsync", temporary), ("link" if name == "COMMITTED" else "rename", path), ("fsync", folder)]
    assert steps(tmp_path / "log", root) == expected


@pytest.mark.parametrize("when", [1, 2, 5, 9, 20])
def test_a_failed_sync_ends_the_commit_unacknowledged(tool: Callable[[str], str], tmp_path: Path, when: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    inject = ["-e", f"inject=fsync:error=EIO:when={when}"]
    finished = traced(tool, tmp_path / "log", request(COMMIT, commitment(root)), *inject)
    assert b'"code":-32603' in finished.stdout
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    failed = next(index for index, line in enumerate(lines) if "EIO" in line and "INJECTED" in line)
    later = {calls_of(line) for line in lines[failed + 1 :]}
    assert not later & {"fsync", "rename", "link", "unlink", "rmdir", "mkdir"}


def test_a_commit_killed_at_any_step_is_recovered(tool: Callable[[str], str], tmp_path: Path) -> None:
    calls = {"rename": 8, "link": 1, "fsync": 20}
    backend = Backend("json")
    for call, count in calls.items():
        for when in range(1, count + 1, 6 if call == "fsync" else 1):
            root = tmp_path / f"{call}{when}"
            root.mkdir()
            inject = ["-e", f"inject={call}:signal=KILL:when={when}"]
            finished = traced(tool, tmp_path / "log", request(COMMIT, commitment(root)), *inject)
            assert finished.stdout == b""
            outcome = backend.call(RECOVER, recovery(root))
            visible = (root / "COMMITTED").exists()
            assert visible == (outcome["state"] == "committed")
            after = tree(root)
            assert backend.call(RECOVER, recovery(root)) == outcome
            assert tree(root) == after
            assert not any(path.endswith(".tmp") for path in after)
            assert (after == COMMITTED) == visible
    assert backend.finish() == 0
