"""Checkpoint containers and committed runs for people: any root, plain mappings, refusals in sentences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from operator import index
from typing import Any, Final, Literal

from impl.arguments import Judge, shown
from impl.failure import ContractFailure
from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint import commit_run as committing
from impl.reference.checkpoint import read_container as reading
from impl.reference.checkpoint import recover_run as recovering
from impl.reference.checkpoint import write_container as writing
from impl.reference.checkpoint.commit_run import MAX_ID_BYTES, CommittedRun
from impl.reference.checkpoint.fields import HEADER_PATH, MANIFEST_PATH
from impl.reference.checkpoint.manifest import (
    checkpoint_merkle_root,
    optimizer_state_root_hash,
    shards_of,
    tensors_root_hash,
)
from impl.reference.checkpoint.read_container import RestoredContainer
from impl.reference.checkpoint.recover_run import RecoveredRun
from impl.reference.checkpoint.schema import ADDED, OPTIONAL, REQUIRED
from impl.reference.checkpoint.write_container import GivenManifest, WrittenContainer

Stage = Literal["train", "eval", "infer"]
Folder = str | os.PathLike[str]

_TYPES: Final = {
    "string": "a str",
    "uint64": "an integer from 0 to 2^64 - 1",
    "bytes32": "exactly 32 bytes",
    "bool": "True or False",
}
_FIELDS: Final = {
    **REQUIRED,
    **OPTIONAL,
    **{name: kind for added in ADDED.values() for name, kind in added.items()},
    "dataset_snapshot_id": "string",
    "artifact_index_hash": "bytes32",
    "weights_manifest_hash": "bytes32",
    "optimizer_manifest_hash": "bytes32",
    "dp_accountant_manifest_hash": "bytes32",
    "dp_enabled": "bool",
    "checkpoint_hash": "bytes32",
    "full_checkpoint_hash": "bytes32",
}
_NAME: Final = "one name of 1 to 200 bytes without '/', NUL or a leading dot"
_SHARD: Final = "the path of a shard, such as 'tensors/rank=0/shard=0.bin' or 'data/cursors.cbor'"
_ELSEWHERE: Final = "nothing is overwritten; choose another name or root"

# What a field must be, and what to do, by the reason of the failure record.
_SENTENCES: Final = {
    "MISSING_FIELD": ("there", "add the field"),
    "UNKNOWN_FIELD": ("absent: no schema of this reader has it", "leave it out, or give the version that has it"),
    "WRONG_TYPE": ("{type}", ""),
    "NULL_FIELD": ("{type}", "a field without a value is left out"),
    "BAD_VERSION": ("a version of three numbers, such as '1.1.0'", ""),
    "INCOMPATIBLE_VERSION": ("of a MAJOR version that is known, 1", "migrate the header first"),
    "NON_CANONICAL": ("canonical CBOR", "tallystick.checkpoint.encode_canonical writes it"),
    "HASH_MISMATCH": ("the hash of what is there", "the content was changed, or the hash is another checkpoint's"),
    "ROOT_MISMATCH": ("the root over the files", "tallystick.checkpoint.roots_of(files) computes it"),
    "MISSING_SHARD": ("a file of the container", "is the name right? else restore a copy of the container"),
    "EXTRA_SHARD": ("listed in the manifest", "a container has no other files; remove it"),
    "SHARD_MISMATCH": ("as long as the manifest says and have its hash", "the file is damaged; restore a copy"),
    "DUPLICATE_PATH": ("named once", ""),
    "BAD_PATH": (_SHARD, ""),
    "LINK_MISMATCH": ("the header's", "write trace/link.cbor from the same header"),
    "CHAIN_MISMATCH": ("that of the checkpoint before", "restore the checkpoints of a chain in their order"),
    "MISSING_COMPONENT": ("among what is restored: the stage needs it", "add the file, or restore for another stage"),
    "PARTIAL_NOT_DECLARED": ("declared in partial_restore of the manifest", "restore without shards"),
    "SIGNATURE_INVALID": ("signed with the given key", "give the public key of the signer"),
    "TARGET_EXISTS": ("free", _ELSEWHERE),
    "LIMIT_EXCEEDED": ("within the limit of its size", ""),
    "IDENTITY_MISMATCH": ("that of the checkpoint", "is it a checkpoint of another run?"),
    "WAL_RECORD_INVALID": ("a whole record of the log", "the log is damaged; restore a copy of the run"),
}


def roots_of(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the three roots over the shards that a header holds, 32 bytes each, by the names of their fields.

    Raises ContractFailure with CONTRACT_VIOLATION for a wrong type. Source: seed 002 §II.G.

    >>> from tallystick.checkpoint import roots_of
    >>> sorted(roots_of({"tensors/rank=0/shard=0.bin": b"weights"}))
    ['checkpoint_merkle_root', 'optimizer_state_root_hash', 'tensors_root_hash']
    """
    shards = shards_of(_files(_judge(writing.OPERATOR), files))
    return {
        "checkpoint_merkle_root": checkpoint_merkle_root(shards),
        "tensors_root_hash": tensors_root_hash(shards),
        "optimizer_state_root_hash": optimizer_state_root_hash(shards),
    }


def write_container(
    root: Folder,
    name: str,
    *,
    header: Mapping[str, Any],
    files: Mapping[str, bytes],
    manifest: GivenManifest | Mapping[str, Any],
) -> WrittenContainer:
    """Write a checkpoint as a folder `name` of files in an existing root; after a crash all of it exists, or nothing.

    `root` may be relative. `header` has the 22 required fields of the schema (`tallystick.checkpoint.REQUIRED` lists
    them with their types); hashes are 32 bytes. `files` are the bytes of each shard by path; `manifest` has at least
    dataset_snapshot_id (str) and artifact_index_hash (32 bytes, the SHA-256 of artifacts/artifact_index.cbor where the
    files have one). Returns three hashes of 32 bytes and the record of the write.

    Raises ContractFailure with CONTRACT_VIOLATION, whose `data["reason"]` says more, before anything is written;
    OSError of the disk. Source: seed 002 §II.G; contract `UML_OS.Checkpoint.WriteContainer_v1`.

    >>> import tallystick, tempfile
    >>> from tallystick.checkpoint import REQUIRED, roots_of
    >>> files = {"tensors/rank=0/shard=0.bin": b"weights"}
    >>> header = {field: bytes(32) if kind == "bytes32" else "mine" for field, kind in REQUIRED.items()}
    >>> header |= {"t": 7, "spec_version": "1.0.0", "checkpoint_schema_version": "1.0.0", **roots_of(files)}
    >>> manifest = {"dataset_snapshot_id": "mine", "artifact_index_hash": bytes(32)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = tallystick.write_container(folder, "7", header=header, files=files, manifest=manifest)
    ...     read = tallystick.read_container(folder, "7", stage="eval")
    >>> len(written.checkpoint_hash), read.header["t"], read.files
    (32, 7, {'tensors/rank=0/shard=0.bin': b'weights'})
    """
    judge = _judge(writing.OPERATOR)
    place, name = _root(judge.operator, root), judge.text("name", name)
    plain, content = _plain(judge.mapping("header", header, "a mapping")), _files(judge, files)
    given = _manifest(judge, manifest)
    with _explained(name=name, header=plain, files=content, manifest=given):
        return writing.write_container(
            root=place, name=name, header=plain, files=content, manifest=GivenManifest(**given)
        )


def read_container(
    root: Folder,
    name: str,
    *,
    stage: Stage = "train",
    expected: Mapping[str, Any] | None = None,
    shards: Iterable[str] | None = None,
    verify: bool = False,
) -> RestoredContainer:
    """Verify every file of a container and return its header, the files that a stage needs, and a report.

    train gets all files, eval and infer those of the model; `shards` names exactly those wanted, where the manifest
    declares that. `expected` are fields that the checkpoint must have, such as run_id, replay_token or checkpoint_hash.
    With `verify` everything is checked and only the report is returned: header and files are None.

    Raises ContractFailure with CONTRACT_VIOLATION or REPLAY_DIVERGENCE, whose `data["reason"]` says more; OSError of
    the disk. Source: seed 002 §II.G-§II.I; contract `UML_OS.Checkpoint.ReadContainer_v1`.

    >>> import tallystick
    >>> try:
    ...     tallystick.read_container(".", "no-such-checkpoint")
    ... except tallystick.ContractFailure as failure:
    ...     failure.data["reason"], failure.data["field_path"]
    ('MISSING_SHARD', 'checkpoint_manifest.cbor')
    """
    judge = _judge(reading.OPERATOR)
    place, name = _root(judge.operator, root), judge.text("name", name)
    judge.choice("stage", stage, ("train", "eval", "infer"))
    wanted = _plain(judge.mapping("expected", {} if expected is None else expected, "a mapping"))
    asked = None if shards is None else _texts(judge, "shards", shards)
    with _explained(name=name, expected=wanted):
        return reading.read_container(
            root=place, name=name, stage=stage, expected=wanted, shards=asked, verify=verify
        )


def commit_run(
    root: Folder,
    *,
    tenant_id: str,
    run_id: str,
    t: int,
    replay_token: bytes,
    trace: bytes,
    checkpoint: bytes,
    lineage: bytes,
    signing_key: bytes,
) -> CommittedRun:
    """Make the trace, checkpoint, lineage and signed certificate of a run visible in a root, together or not at all.

    `root` is an existing folder without a run and may be relative. `t` is the step of the run, `replay_token` and the
    Ed25519 `signing_key` are 32 bytes each. Trace tail, Merkle root and lineage root are computed. Returns two hashes
    of 32 bytes and the record of the commit. Raises ContractFailure with CONTRACT_VIOLATION; OSError of the disk.
    Source: seed 002 §II.J; contract `UML_OS.Checkpoint.CommitRun_v1`.

    >>> import tallystick, tempfile
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> public_key = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tallystick.commit_run(folder, tenant_id="me", run_id="first", t=7, replay_token=bytes(32), trace=b"t",
    ...                               checkpoint=b"c", lineage=b"l", signing_key=bytes(32))
    ...     tallystick.recover_run(folder, public_key=public_key).state
    'committed'
    """
    operator = committing.OPERATOR
    place = _root(operator, root)
    names = {"tenant_id": tenant_id, "run_id": run_id}
    for name, text in names.items():
        _judge(operator, name).text(name, text)
        if (size := len(text.encode())) > MAX_ID_BYTES:
            said = f"{name} must have at most {MAX_ID_BYTES} bytes: got {size}"
            raise _judge(operator, name, "LIMIT_EXCEEDED").failure(said)
    step = _judge(operator, "t").integer("t", t)
    with _explained(**names):
        return committing.commit_run(
            root=place,
            **names,
            t=step,
            replay_token=_octets(operator, "replay_token", replay_token, 32),
            trace=_octets(operator, "trace", trace),
            checkpoint=_octets(operator, "checkpoint", checkpoint),
            lineage=_octets(operator, "lineage", lineage),
            signing_key=_octets(operator, "signing_key", signing_key, 32),
        )


def recover_run(root: Folder, *, public_key: bytes) -> RecoveredRun:
    """Finish an interrupted commit whose pointer is valid, take back every other one, and say which.

    `public_key` is a raw Ed25519 key of 32 bytes. The state of the answer is committed, rolled_back or empty. It may be
    called at any time and may itself be interrupted. Raises ContractFailure with CONTRACT_VIOLATION or WAL_CORRUPTION;
    OSError of the disk. Source: seed 002 §II.J; contract `UML_OS.Checkpoint.RecoverRun_v1`.

    >>> import tallystick, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tallystick.recover_run(folder, public_key=bytes(32))
    RecoveredRun(state='empty', failure=None)
    """
    operator = recovering.OPERATOR
    place, key = _root(operator, root), _octets(operator, "public_key", public_key, 32)
    with _explained():
        return recovering.recover_run(root=place, public_key=key)


@contextmanager
def _explained(**given: Any) -> Iterator[None]:
    """Give a refusal from inside a sentence, made of its reason, its field and what was given."""
    try:
        yield
    except ContractFailure as failure:
        raise failure.saying(_sentence(str(failure.data["reason"]), str(failure.data["field_path"]), given)) from None


def _sentence(reason: str, field_path: str, given: Mapping[str, Any]) -> str:
    must, todo = _SENTENCES[reason]
    field = field_path.rpartition(".")[2] if field_path.startswith(("expected.", MANIFEST_PATH + ".")) else field_path
    if field_path == "name" and reason == "BAD_PATH":
        must = _NAME
    if field_path in given.get("files", {}) and reason == "WRONG_TYPE":
        must = "what its path promises (spec/checkpoint says what)"
    must = must.format(type=_TYPES.get(_FIELDS.get(field, ""), "of its declared type"))
    value = None if reason == "MISSING_COMPONENT" else _value(field_path, field, given)
    got = "none" if value is None and reason != "NULL_FIELD" else _short(value)
    return f"{field_path or 'header'} must be {must}: got {got}{todo and f'; {todo}'}"


def _value(field_path: str, field: str, given: Mapping[str, Any]) -> object:
    """Return what was given for a field, None where nothing was or where the field is in the files."""
    if field_path in given:
        return given[field_path]
    if field_path.startswith("expected."):
        return given["expected"].get(field)
    if field_path.startswith(MANIFEST_PATH + "."):
        return given.get("manifest", {}).get(field)
    for place in ("files", "header", "expected"):
        if field_path in given.get(place, {}):
            return given[place][field_path]
    # The path that is refused may be no key of what was given.
    return field_path if "/" in field_path or field_path == HEADER_PATH else None


def _short(value: object) -> str:
    return f"{value.hex()[:16]}..." if isinstance(value, bytes) and len(value) == 32 else shown(value)


def _judge(operator: str, field_path: str = "", reason: str = "WRONG_TYPE") -> Judge:
    record = {"t": 0, "replay_token": bytes(32), "reason": reason, "field_path": field_path}
    return Judge(operator, record=record)


def _root(operator: str, root: Folder) -> str:
    return _judge(operator, "root", "BAD_PATH").folder("root", root)


def _octets(operator: str, name: str, content: bytes, length: int | None = None) -> bytes:
    return _judge(operator, name).octets(name, content, length)


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with NumPy's integers and byte arrays as Python's, at its top level."""
    return {name: _plain_item(item) for name, item in given.items()}


def _plain_item(item: Any) -> Any:
    if isinstance(item, bytearray | memoryview):
        return bytes(item)
    if not isinstance(item, int) and hasattr(type(item), "__index__") and getattr(item, "shape", ()) == ():
        return index(item)
    return item


def _files(judge: Judge, files: Mapping[str, bytes]) -> dict[str, bytes]:
    given = judge.mapping("files", files, "a mapping from path to bytes")
    return {path: judge.octets(f"files[{path!r}]", content) for path, content in given.items()}


def _manifest(judge: Judge, manifest: GivenManifest | Mapping[str, Any]) -> dict[str, Any]:
    known = [one.name for one in fields(GivenManifest)]
    if isinstance(manifest, GivenManifest):
        return {name: getattr(manifest, name) for name in known}
    given = _plain(judge.mapping("manifest", manifest, "a mapping or a GivenManifest"))
    for name in given:
        judge.choice("a key of manifest", name, known)
    for name in ("dataset_snapshot_id", "artifact_index_hash"):
        if name not in given:
            raise judge.failure(f"manifest must have {name}: got {sorted(given)}; add it")
    return given


def _texts(judge: Judge, name: str, texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise judge.failure(f"{name} must be a list of paths: got {shown(texts)}; write [{shown(texts)}]")
    return [judge.text(f"{name}[{place}]", text) for place, text in enumerate(texts)]


__all__ = [
    "REQUIRED",
    "CommittedRun",
    "GivenManifest",
    "RecoveredRun",
    "RestoredContainer",
    "WrittenContainer",
    "commit_run",
    "encode_canonical",
    "read_container",
    "recover_run",
    "roots_of",
    "write_container",
]
