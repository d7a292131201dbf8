"""What the tests of the JavaScript checkpoint operators share: the pinned header, roots made anew, whole refusals."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cbor2

from impl.tests.javascript_process import Backend, Native, Value

CHECKPOINT = "UML_OS.Checkpoint."
VALIDATE = CHECKPOINT + "ValidateSchema_v1"
SERIALIZE = CHECKPOINT + "Serialize_v1"
RESTORE = CHECKPOINT + "Restore_v1"
WRITE = CHECKPOINT + "WriteContainer_v1"
READ = CHECKPOINT + "ReadContainer_v1"
COMMIT = CHECKPOINT + "CommitRun_v1"
RECOVER = CHECKPOINT + "RecoverRun_v1"
MIGRATE = CHECKPOINT + "Migrate_v1"
ENCODE_CANONICAL = "UML_OS.Serialization.EncodeCanonical_v1"
VALIDATE_CANONICAL = "UML_OS.Serialization.ValidateCanonical_v1"

REASONS = [
    "MISSING_FIELD",
    "UNKNOWN_FIELD",
    "WRONG_TYPE",
    "NULL_FIELD",
    "BAD_VERSION",
    "INCOMPATIBLE_VERSION",
    "NON_CANONICAL",
    "HASH_MISMATCH",
    "ROOT_MISMATCH",
    "MISSING_SHARD",
    "EXTRA_SHARD",
    "SHARD_MISMATCH",
    "DUPLICATE_PATH",
    "BAD_PATH",
    "LINK_MISMATCH",
    "CHAIN_MISMATCH",
    "MISSING_COMPONENT",
    "PARTIAL_NOT_DECLARED",
    "SIGNATURE_INVALID",
    "TARGET_EXISTS",
    "LIMIT_EXCEEDED",
    "IDENTITY_MISMATCH",
    "WAL_RECORD_INVALID",
]
REQUIRED = [
    "tenant_id",
    "run_id",
    "spec_version",
    "checkpoint_schema_version",
    "replay_token",
    "t",
    "manifest_hash",
    "trace_root_hash",
    "sampler_config_hash",
    "tmmu_plan_hash",
    "backend_binary_hash",
    "checkpoint_merkle_root",
    "policy_hash",
    "determinism_profile_hash",
    "dependencies_lock_hash",
    "operator_contracts_root_hash",
    "runtime_env_hash",
    "code_commit_hash",
    "lineage_root_hash",
    "tensors_root_hash",
    "optimizer_state_root_hash",
    "trace_tail_hash_at_checkpoint",
]
IDENTITY = [
    "tenant_id",
    "run_id",
    "replay_token",
    "trace_root_hash",
    "checkpoint_merkle_root",
    "manifest_hash",
    "sampler_config_hash",
    "tmmu_plan_hash",
    "backend_binary_hash",
    "determinism_profile_hash",
]
OPTIONAL = ["dp_accountant_state_root_hash", "checkpoint_hash_prev"]
TEXTS = {"tenant_id": "t", "run_id": "r", "spec_version": "1.0.0", "checkpoint_schema_version": "1.0.0"}
TOKEN = bytes(range(32))
THREE_SHARDS = {f"tensors/rank=0/shard={k}.bin": bytes([k]) for k in range(3)}
THREE_SHARDS_ROOT = bytes.fromhex("b5bb13418eb238f72b08c6d2d5a654842c937f7252d0efb140ac611c9bb395d8")
NUMBERS = {"CONTRACT_VIOLATION": 1801, "REPLAY_DIVERGENCE": 1901, "WAL_CORRUPTION": 1502}
CODES = {"IDENTITY_MISMATCH": "REPLAY_DIVERGENCE", "WAL_RECORD_INVALID": "WAL_CORRUPTION"}

Header = dict[str, Any]
Files = Mapping[str, bytes]


def digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def canonical(item: Native) -> bytes:
    """Return the canonical bytes of an item without floats whose keys are all text."""
    return cbor2.dumps(item, canonical=True)


def cbor_digest(item: Native) -> bytes:
    return digest(canonical(item))


def pinned_header(**changes: Native) -> Header:
    """Return the header of the requirement page, with changes; None takes a field away."""
    header: Header = {name: digest(name.encode()) for name in REQUIRED} | TEXTS
    header |= {"t": 7, "replay_token": TOKEN, "manifest_hash": bytes(range(32, 64))}
    header |= {"checkpoint_merkle_root": THREE_SHARDS_ROOT} | changes
    return {name: item for name, item in header.items() if item is not None}


def canonical_order(header: Header) -> Header:
    return dict(sorted(header.items(), key=lambda entry: canonical(entry[0])))


def triples(files: Files) -> list[list[Any]]:
    return [[path, digest(files[path]), len(files[path])] for path in sorted(files, key=str.encode)]


def merkle_root(files: Files) -> bytes:
    level = [cbor_digest(["ckpt_shard", triple]) for triple in triples(files)]
    if not level:
        return cbor_digest(["ckpt_merkle_root", []])
    while len(level) > 1:
        level += level[-1:] * (len(level) % 2)
        level = [cbor_digest(["ckpt_merkle_node", level[at : at + 2]]) for at in range(0, len(level), 2)]
    return level[0]


def part_root(domain: str, folder: str, files: Files) -> bytes:
    part = {path: content for path, content in files.items() if path.startswith(folder)}
    return cbor_digest([domain, [cbor_digest(["ckpt_shard", triple]) for triple in triples(part)]])


def header_for(files: Files, dp: bool = False, **changes: Native) -> Header:
    """Return a header whose roots are those of the files."""
    roots: Header = {
        "checkpoint_merkle_root": merkle_root(files),
        "tensors_root_hash": part_root("tensors_root", "tensors/", files),
        "optimizer_state_root_hash": part_root("optimizer_root", "optimizer/", files),
    }
    if dp:
        roots["dp_accountant_state_root_hash"] = part_root("dp_accountant_root", "dp/", files)
    return pinned_header(**(roots | changes))


def refusal(operator: str, reason: str, path: str, header: Header | None = None) -> dict[str, Native]:
    """Return the whole failure record of a checkpoint operator."""
    state = header or {}
    return {
        "t": state.get("t", 0),
        "failure_code": CODES.get(reason, "CONTRACT_VIOLATION"),
        "failure_operator": operator,
        "replay_token": state.get("replay_token", bytes(32)),
        "reason": reason,
        "field_path": path,
    }


def assert_refused(
    backend: Backend, method: str, params: Native, reason: str, path: str, header: Header | None = None
) -> None:
    record = refusal(method, reason, path, header)
    code = record["failure_code"]
    expected = {"code": NUMBERS[code], "message": code, "data": backend.form(record)}
    assert backend.refuse(method, params) == expected


def serialized(backend: Backend, header: Header) -> bytes:
    return as_bytes(backend.call(SERIALIZE, {"header": Value(header)})["checkpoint_blob"])


def as_bytes(form: Native) -> bytes:
    return bytes.fromhex(form) if isinstance(form, str) else form


def errors_of(backend: Backend, header: Native, version: str = "1.0.0") -> Sequence[tuple[str, str]]:
    """Return the report of ValidateSchema as pairs of path and reason."""
    report = backend.call(VALIDATE, {"header": Value(header), "schema_version": version})
    assert report["valid"] == (not report["errors"])
    return [(error["field_path"], error["reason"]) for error in report["errors"]]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
