"""Laws of canonical bytes, of the checkpoint in one piece, and of the container on disk."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from conformance.codec.cbor import encode_canonical
from conformance.contract.canonical import MAX_DEPTH, is_canonical
from conformance.trial.law import (
    Asking,
    Axes,
    Law,
    LawTalk,
    Native,
    Point,
    Split,
    Tools,
    derived_bytes,
    derived_choice,
    derived_number,
    grid,
    law_root,
    must,
    must_equal,
    slug,
)

SERIALIZE: Final = "UML_OS.Checkpoint.Serialize_v1"
RESTORE: Final = "UML_OS.Checkpoint.Restore_v1"
WRITE: Final = "UML_OS.Checkpoint.WriteContainer_v1"
READ: Final = "UML_OS.Checkpoint.ReadContainer_v1"
ENCODE: Final = "UML_OS.Serialization.EncodeCanonical_v1"
VALIDATE: Final = "UML_OS.Serialization.ValidateCanonical_v1"
IDENTITY: Final = (
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
)
HASHES: Final = (
    *IDENTITY[2:],
    "policy_hash",
    "dependencies_lock_hash",
    "operator_contracts_root_hash",
    "runtime_env_hash",
    "code_commit_hash",
    "lineage_root_hash",
    "tensors_root_hash",
    "optimizer_state_root_hash",
    "trace_tail_hash_at_checkpoint",
)
OPTIONAL: Final = ("dp_accountant_state_root_hash", "checkpoint_hash_prev")
_NAMES: Final = ("", "t", "tenant", "é界", "n" * 24)
_VERSIONS: Final = ("1.0.0", "1.1.0", "1.0.7", "1.2.0", "1.10.0")
_STEPS: Final = (0, 23, 24, 2**32, 2**53 + 1, 2**64 - 1)


def derived_header(number: int) -> dict[str, Any]:
    """The header of a number; a newer MINOR version has a field that no reader knows."""
    name = f"header {number}"
    version = _VERSIONS[number % len(_VERSIONS)]
    header: dict[str, Any] = {
        "tenant_id": derived_choice(f"{name} tenant", _NAMES),
        "run_id": derived_choice(f"{name} run", _NAMES),
        "spec_version": "1.0.0",
        "checkpoint_schema_version": version,
        "t": derived_choice(f"{name} t", _STEPS),
    }
    header |= {field: derived_bytes(f"{name} {field}", 32) for field in HASHES}
    for field in OPTIONAL:
        if derived_number(f"{name} has {field}", 2):
            header[field] = derived_bytes(f"{name} {field}", 32)
    if version in ("1.2.0", "1.10.0"):
        header["later"] = {"b": [1.0, None, -1], "aa": derived_bytes(f"{name} later", 5)}
    return header


def _round_trip(tools: Tools, header: int) -> LawTalk:
    fields = derived_header(header)
    _, saved = yield from tools.ask_one(SERIALIZE, {"header": fields})
    backwards, reordered = yield from tools.ask_one(SERIALIZE, {"header": dict(reversed(fields.items()))})
    must_equal(saved, reordered, "with the fields in the opposite order", backwards)
    read, restored = yield from tools.ask_one(RESTORE, {"checkpoint_blob": saved["checkpoint_blob"], "expected": {}})
    must(restored["header"] == fields, "the restored header is not the saved one", read)
    write, again = yield from tools.ask_one(SERIALIZE, {"header": restored["header"]})
    must_equal(saved, again, "serialized, restored and serialized again", write)


def _blob_damage(tools: Tools, header: int, mask: int) -> LawTalk:
    _, saved = yield from tools.ask_one(SERIALIZE, {"header": derived_header(header)})
    blob: bytes = saved["checkpoint_blob"]
    yield from tools.ask_one(RESTORE, {"checkpoint_blob": blob, "expected": {}})
    places = range(len(blob))
    damaged = [blob[:at] + bytes([blob[at] ^ mask]) + blob[at + 1 :] for at in places]
    damaged += [*(blob[:at] for at in places), blob + b"\0"]
    yield from tools.ask_refused([tools.call(RESTORE, {"checkpoint_blob": one, "expected": {}}) for one in damaged])


def _masked(chosen: Axes) -> Iterator[tuple[str, Point]]:
    """One instance for each header and each mask of the bits that are flipped."""
    (headers,) = chosen["headers"]
    for point in grid({"header": tuple(range(headers)), "mask": chosen["masks"]}):
        yield slug(point), point


def _identity(tools: Tools, header: int) -> LawTalk:
    fields = derived_header(header)
    _, saved = yield from tools.ask_one(SERIALIZE, {"header": fields})
    same = {field: fields[field] for field in IDENTITY}
    yield from tools.ask_one(RESTORE, {"checkpoint_blob": saved["checkpoint_blob"], "expected": same})
    for field, value in same.items():
        other = f"{value}x" if isinstance(value, str) else bytes([value[0] ^ 1]) + value[1:]
        expected = {**same, field: other}
        call = tools.call(RESTORE, {"checkpoint_blob": saved["checkpoint_blob"], "expected": expected})
        (failure,) = yield from tools.ask_refused([call], f"a restore that expects another {field}")
        must(failure.code == "REPLAY_DIVERGENCE", f"another {field} fails with {failure.code}", call)
        must_equal(field, failure.data["field_path"], "the field that is named", call)


# Both sides of changes of head width, positive and negative, and what binary64 cannot represent.
_INTEGERS: Final = (0, 23, 24, 255, 256, 2**16, 2**32 - 1, 2**53 + 1, 2**64 - 1, -1, -24, -25, -(2**63) - 1, -(2**64))
_FLOATS: Final = (0.0, -0.0, 1.0, 1.5, 1 / 3, 65504.0, 5e-324, 1.7976931348623157e308)
# U+FFFD and U+1F600 have the opposite order in UTF-16; 23 and 24 letters differ in the width of their heads.
_TEXTS: Final = ("", "a", "b", "aa", "B", "é", "界", "\ufffd", "\U0001f600", "\0", "k" * 23, "k" * 24)
_SCALARS: Final = (None, False, True, *_INTEGERS, *_FLOATS, *_TEXTS)
_LEVELS: Final = 3


def _item(name: str, levels: int = _LEVELS) -> Any:
    """The native item derived from a name: a map or an array at the root, anything further down."""
    kinds = ("map", "array") if levels == _LEVELS else ("map", "map", "array", "scalar", "bytes")
    kind = derived_choice(f"{name} kind", kinds)
    count = derived_number(f"{name} count", 5)
    if kind == "scalar" or (levels == 0 and kind in ("map", "array")):
        return derived_choice(f"{name} scalar", _SCALARS)
    if kind == "bytes":
        return derived_bytes(f"{name} bytes", derived_choice(f"{name} size", (0, 1, 23, 24, 32)))
    if kind == "array":
        return [_item(f"{name} {place}", levels - 1) for place in range(count)]
    keys = (derived_choice(f"{name} {place} key", _TEXTS) for place in range(count))
    return {key: _item(f"{name} {key}", levels - 1) for key in keys}


def _reordered(item: Any) -> Any:
    """The same item with the pairs of every map in the opposite order."""
    if isinstance(item, dict):
        return {key: _reordered(inner) for key, inner in reversed(item.items())}
    return [_reordered(inner) for inner in item] if isinstance(item, list) else item


def _canonical_round_trip(tools: Tools, item: int) -> LawTalk:
    given = _item(f"item {item}")
    _, encoded = yield from tools.ask_one(ENCODE, {"item": given})
    backwards, again = yield from tools.ask_one(ENCODE, {"item": _reordered(given)})
    must_equal(encoded, again, "with the pairs of every map in the opposite order", backwards)
    check, validated = yield from tools.ask_one(VALIDATE, {"candidate": encoded["canonical"]})
    must_equal({"valid": True, "digest": encoded["digest"]}, validated, "what was encoded", check)


def _canonical_nesting(tools: Tools, levels: int, kind: str) -> LawTalk:
    item: Any = True
    for _ in range(levels):
        item = [item] if kind == "array" else {"": item}
    data = (b"\x81" if kind == "array" else b"\xa1\x60") * levels + b"\xf5"
    if levels > MAX_DEPTH:
        yield from tools.ask_refused([tools.call(ENCODE, {"item": item})])
        check, validated = yield from tools.ask_one(VALIDATE, {"candidate": data})
        must_equal("TOO_DEEP", validated.get("reason", "valid"), f"{levels} levels", check)
        return
    write, encoded = yield from tools.ask_one(ENCODE, {"item": item})
    must_equal(data, encoded["canonical"], f"{levels} levels", write)
    check, validated = yield from tools.ask_one(VALIDATE, {"candidate": data})
    must_equal({"valid": True, "digest": encoded["digest"]}, validated, f"{levels} levels", check)


def _canonical_strictness(tools: Tools, item: int) -> LawTalk:
    _, encoded = yield from tools.ask_one(ENCODE, {"item": _item(f"item {item}")})
    near = _damaged_copies(encoded["canonical"])
    calls = [tools.call(VALIDATE, {"candidate": candidate}) for candidate in near]
    answers = yield from tools.ask(calls)
    for candidate, call, answer in zip(near, calls, answers, strict=True):
        must(answer["valid"] == is_canonical(candidate), f"{candidate.hex()} is judged wrongly", call)
        if answer["valid"]:
            must_equal(sha256(candidate).digest(), answer["digest"], "the digest of changed bytes", call)
        else:
            must(answer["offset"] <= len(candidate), "the offset is after the bytes", call)


def _damaged_copies(data: bytes) -> list[bytes]:
    """Every bit flipped, every byte left out, every beginning, and one byte more."""
    places = range(len(data))
    flipped = [data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for at in places for bit in range(8)]
    return [*flipped, *(data[:at] + data[at + 1 :] for at in places), *(data[:at] for at in places), data + b"\0"]


_FILES: Final = {
    "tensors/rank=0/shard=0.bin": b"zero",
    "tensors/rank=0/shard=1.bin": b"one!",
    "optimizer/rank=0/state.bin": b"state",
    "data/cursors.cbor": encode_canonical({"d": {"epoch": 0, "global_index": 4}}),
}


def _container_header() -> Native:
    """A header whose roots are those of _FILES."""
    leaves = {
        path: _hash(["ckpt_shard", [path, sha256(content).digest(), len(content)]])
        for path, content in sorted(_FILES.items())
    }
    level = list(leaves.values())
    while len(level) > 1:
        level = [_hash(["ckpt_merkle_node", level[at : at + 2]]) for at in range(0, len(level), 2)]
    below = {folder: [leaf for path, leaf in leaves.items() if path.startswith(folder)] for folder in ("t", "o")}
    header = derived_header(0)
    header.pop("dp_accountant_state_root_hash", None)
    return {
        **header,
        "checkpoint_merkle_root": level[0],
        "tensors_root_hash": _hash(["tensors_root", below["t"]]),
        "optimizer_state_root_hash": _hash(["optimizer_root", below["o"]]),
    }


def _hash(preimage: Any) -> bytes:
    return sha256(encode_canonical(preimage)).digest()


def _write_and_read(tools: Tools, root: Path) -> Asking[Native]:
    """Write the container, read it back, and return the inputs of a read that names its full hash."""
    place = {"root": str(root), "name": "c"}
    manifest = {"dataset_snapshot_id": "snapshot", "artifact_index_hash": bytes(32)}
    write = {**place, "header": _container_header(), "files": _FILES, "manifest": manifest}
    _, written = yield from tools.ask_one(WRITE, write)
    expected = {"full_checkpoint_hash": written["full_checkpoint_hash"]}
    reading = {**place, "stage": "eval", "expected": expected}
    read, answer = yield from tools.ask_one(READ, reading)
    tensors = {path: content for path, content in _FILES.items() if path.startswith("tensors/")}
    must_equal(tensors, answer["files"], "the files that were written", read)
    return reading


def _container_damage(tools: Tools, mask: int, kind: str) -> LawTalk:
    """Every byte flipped, or files moved about."""
    with law_root() as root:
        reading = tools.call(READ, (yield from _write_and_read(tools, root)))
        damages = _flip_bytes(root / "c", mask) if kind == "bytes" else _move_files(root)
        for _ in damages:
            yield from tools.ask_refused([reading])
        yield from tools.ask([reading])


def _flip_bytes(folder: Path, mask: int) -> Iterator[None]:
    """Flip every byte of every file; each damage is mended when the next one is asked for."""
    for path in _files(folder):
        content = path.read_bytes()
        for at in range(len(content)):
            path.write_bytes(content[:at] + bytes([content[at] ^ mask]) + content[at + 1 :])
            yield
        path.write_bytes(content)


def _move_files(root: Path) -> Iterator[None]:
    """Cut, lengthen, remove, rename, link and exchange files; each damage is mended when the next one is asked for."""
    folder, aside = root / "c", root / "aside"
    for path in _files(folder):
        content = path.read_bytes()
        path.rename(aside)
        yield  # removed
        for damaged in (content[:-1], content + b"\0"):
            path.write_bytes(damaged)
            yield
        path.rename(path.with_name("renamed"))
        path.with_name("renamed").write_bytes(content)
        yield
        path.with_name("renamed").unlink()
        path.symlink_to(aside)
        yield
        path.unlink()
        path.mkdir()
        yield
        path.rmdir()
        aside.rename(path)
    for extra in ("tensors/rank=0/shard=2.bin", "junk", ".hidden"):
        (folder / extra).write_bytes(b"")
        yield
        (folder / extra).unlink()
    one, other = (folder / path for path in list(_FILES)[:2])
    _exchange(one, other, aside)
    yield
    _exchange(one, other, aside)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _exchange(one: Path, other: Path, aside: Path) -> None:
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


LAWS: Final = (
    Law("checkpoint-round-trip", _round_trip, {"headers": 24}, Split(counts={"headers": "header"})),
    Law("checkpoint-blob-damage", _blob_damage, {"headers": 2, "masks": [1, 128]}, _masked),
    Law("checkpoint-identity", _identity, {"headers": 2}, Split(counts={"headers": "header"})),
    Law("canonical-round-trip", _canonical_round_trip, {"items": 48}, Split(counts={"items": "item"})),
    Law("canonical-nesting", _canonical_nesting, {"levels": [1, 255, 256, 257], "kind": ["array", "map"]}),
    Law("canonical-strictness", _canonical_strictness, {"items": 24}, Split(counts={"items": "item"})),
    Law("container-damage", _container_damage, {"mask": [1], "kind": ["bytes", "names"]}),
)
