"""Checkpoints for tests: the pinned header, a whole container around it, and a run."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.reference import backend
from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.manifest import (
    Shard,
    checkpoint_merkle_root,
    dp_accountant_state_root_hash,
    optimizer_state_root_hash,
    shards_of,
    tensors_root_hash,
)
from impl.reference.checkpoint.report import public_key_of
from impl.reference.checkpoint.schema import REQUIRED

PREFIX = "UML_OS.Checkpoint."
REPLAY_TOKEN = bytes(range(32))
ABSENT: Any = object()

# Fixed keys for tests; they sign nothing else.
SIGNING_KEY = bytes([7] * 32)
PUBLIC_KEY = public_key_of(SIGNING_KEY)
OTHER_PUBLIC_KEY = public_key_of(bytes([8] * 32))


def call(operator: str, **params: Any) -> dict[str, Any]:
    """Return the result of one call of a checkpoint operator."""
    return backend.call(f"{PREFIX}{operator}_v1", {key: item for key, item in params.items() if item is not ABSENT})


def refusal(operator: str, **params: Any) -> dict[str, Any]:
    """Return the failure record of a call that must fail; its code and operator are checked here."""
    with pytest.raises(ContractFailure) as failure:
        call(operator, **params)
    record = failure.value.data
    assert record["failure_code"] == failure.value.code
    assert record["failure_operator"] == f"{PREFIX}{operator}_v1"
    assert set(record) == {"t", "failure_code", "failure_operator", "replay_token", "reason", "field_path"}
    return record


def reason(operator: str, **params: Any) -> tuple[str, str]:
    """Return the reason and the field path of a call that must fail."""
    record = refusal(operator, **params)
    return record["reason"], record["field_path"]


def changed(item: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a map with entries replaced, and those that are ABSENT taken away."""
    return {key: content for key, content in {**item, **changes}.items() if content is not ABSENT}


def pinned_shards(count: int) -> list[Shard]:
    """Return the shards of ruling CA03: shard k holds the one byte k."""
    return shards_of({f"tensors/rank=0/shard={k}.bin": bytes([k]) for k in range(count)})


def pinned_header(**changes: Any) -> dict[str, Any]:
    """Return the header that the requirement page pins."""
    header: dict[str, Any] = {name: sha256(name.encode()).digest() for name in REQUIRED}
    header |= {
        "tenant_id": "t",
        "run_id": "r",
        "spec_version": "1.0.0",
        "checkpoint_schema_version": "1.0.0",
        "replay_token": REPLAY_TOKEN,
        "t": 7,
        "manifest_hash": bytes(range(32, 64)),
        "checkpoint_merkle_root": checkpoint_merkle_root(pinned_shards(3)),
    }
    return changed(header, changes)


def link_of(header: Mapping[str, Any], **changes: Any) -> bytes:
    """Return the trace link of a header."""
    names = ("run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev")
    return encode_canonical(changed({name: header[name] for name in names if name in header}, changes))


def whole_files(**changes: Any) -> dict[str, bytes]:
    """Return a file for every listed path, without the link; keys of `changes` are paths."""
    files = {f"tensors/rank=0/shard={k}.bin": bytes([k]) * 100 for k in range(3)}
    files |= {
        "optimizer/rank=0/state.bin": b"optimizer",
        "dp/accountant_state.cbor": encode_canonical({"epsilon": 1.5}),
        "data/cursors.cbor": encode_canonical({"d": {"epoch": 1, "global_index": 4}}),
        "tmmu/plan.cbor": encode_canonical({"plan": 1}),
        "artifacts/artifact_index.cbor": encode_canonical([]),
        "rng/state.cbor": encode_canonical(["rng_state", 1, 2, 3, 4, 5, 6]),
    }
    return changed(files, changes)


def bound_header(files: Mapping[str, bytes], **changes: Any) -> dict[str, Any]:
    """Return the pinned header with the roots of the files; the accountant's root where there is an account."""
    shards = shards_of(files)
    roots = {
        "checkpoint_merkle_root": checkpoint_merkle_root(shards),
        "tensors_root_hash": tensors_root_hash(shards),
        "optimizer_state_root_hash": optimizer_state_root_hash(shards),
    }
    if "dp/accountant_state.cbor" in files:
        roots["dp_accountant_state_root_hash"] = dp_accountant_state_root_hash(shards)
    return pinned_header(**{**roots, **changes})


def container(
    root: Path,
    name: str = "c",
    *,
    files: Mapping[str, bytes] | None = None,
    link: Any = None,
    header: Mapping[str, Any] | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the params of WriteContainer for a consistent container; `link` may be bytes or ABSENT."""
    files = whole_files() if files is None else files
    linked = link_of(pinned_header(**(header or {}))) if link is None else link
    if linked is not ABSENT:
        files = {**files, "trace/link.cbor": linked}
    return {
        "root": str(root),
        "name": name,
        "header": bound_header(files, **(header or {})),
        "files": dict(files),
        "manifest": {
            "dataset_snapshot_id": "snap",
            "artifact_index_hash": sha256(files.get("artifacts/artifact_index.cbor", b"artifact_index_hash")).digest(),
            **(manifest or {}),
        },
    }


def written(root: Path, name: str = "c", **options: Any) -> dict[str, Any]:
    """Write a consistent container and return the result."""
    return call("WriteContainer", **container(root, name, **options))


def reading(root: Path, name: str = "c", **changes: Any) -> dict[str, Any]:
    """Return the params of ReadContainer."""
    return {"root": str(root), "name": name, "stage": "train", "expected": {}, **changes}


def rewrite(file: Path, **changes: Any) -> None:
    """Change keys of a map in a CBOR file."""
    item = decode_canonical(file.read_bytes())
    assert isinstance(item, dict)
    file.write_bytes(encode_canonical(changed(item, changes)))


def commit_params(root: Path, **changes: Any) -> dict[str, Any]:
    """Return the params of CommitRun."""
    params = {
        "root": str(root),
        "tenant_id": "t",
        "run_id": "r",
        "t": 7,
        "replay_token": REPLAY_TOKEN,
        "trace": b"trace",
        "checkpoint": b"checkpoint",
        "lineage": b"lineage",
        "signing_key": SIGNING_KEY,
    }
    return changed(params, changes)


def tree(root: Path) -> dict[str, bytes]:
    """Return every file below a folder, by relative path."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
