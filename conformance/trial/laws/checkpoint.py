"""Laws of canonical bytes and of the checkpoint in one piece."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import Any, Final

from conformance.backend.outcome import ObservedFailure, observe
from conformance.contract.canonical import MAX_DEPTH, is_canonical
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.law import (
    Asking,
    Instance,
    Law,
    LawTalk,
    Tools,
    axes,
    derived_bytes,
    derived_choice,
    derived_number,
    grid,
    must,
    must_equal,
    slug,
)

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
    """The header behind a number; those of a newer MINOR hold a field that no reader knows."""
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


def other(held: Any) -> Any:
    """A value of the same type that is not the same."""
    return f"{held}x" if isinstance(held, str) else bytes([held[0] ^ 1]) + held[1:]


SERIALIZE: Final = "UML_OS.Checkpoint.Serialize_v1"
RESTORE: Final = "UML_OS.Checkpoint.Restore_v1"


def round_trips(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {headers: how many derived headers}`; one instance per header."""
    for number in range(axes(use, {"headers": 24})["headers"][0]):
        yield Instance(slug({"header": number}), partial(_round_trip, tools, derived_header(number)))


def damages(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {headers: how many derived headers, masks: the bits that are flipped}`."""
    chosen = axes(use, {"headers": 2, "masks": [1, 128]})
    for number in range(chosen.pop("headers")[0]):
        for point in grid(chosen):
            talk = partial(_blob_damage, tools, derived_header(number), point["masks"])
            yield Instance(slug({"header": number, "mask": point["masks"]}), talk)


def identities(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {headers: how many derived headers}`; one instance per header."""
    for number in range(axes(use, {"headers": 2})["headers"][0]):
        yield Instance(slug({"header": number}), partial(_identity, tools, derived_header(number)))


def _saved(tools: Tools, header: dict[str, Any]) -> Asking[dict[str, Any]]:
    (saved,) = yield from tools.ask([tools.call(SERIALIZE, {"header": header})])
    return saved


def _round_trip(tools: Tools, header: dict[str, Any]) -> LawTalk:
    saved = yield from _saved(tools, header)
    backwards = tools.call(SERIALIZE, {"header": dict(reversed(header.items()))})
    (reordered,) = yield from tools.ask([backwards])
    must_equal(saved, reordered, "with the fields in the opposite order", backwards)
    read = tools.call(RESTORE, {"checkpoint_blob": saved["checkpoint_blob"], "expected": {}})
    (restored,) = yield from tools.ask([read])
    must(restored["header"] == header, "the restored header is not the saved one", read)
    write = tools.call(SERIALIZE, {"header": restored["header"]})
    (again,) = yield from tools.ask([write])
    must_equal(saved, again, "serialized, restored and serialized again", write)


def _blob_damage(tools: Tools, header: dict[str, Any], mask: int) -> LawTalk:
    blob: bytes = (yield from _saved(tools, header))["checkpoint_blob"]
    yield from tools.ask([tools.call(RESTORE, {"checkpoint_blob": blob, "expected": {}})])
    places = range(len(blob))
    damaged = [blob[:at] + bytes([blob[at] ^ mask]) + blob[at + 1 :] for at in places]
    damaged += [*(blob[:at] for at in places), blob + b"\0"]
    calls = [tools.call(RESTORE, {"checkpoint_blob": one, "expected": {}}) for one in damaged]
    yield from tools.ask_refused(calls)


def _identity(tools: Tools, header: dict[str, Any]) -> LawTalk:
    blob = (yield from _saved(tools, header))["checkpoint_blob"]
    same = {field: header[field] for field in IDENTITY}
    yield from tools.ask([tools.call(RESTORE, {"checkpoint_blob": blob, "expected": same})])
    calls = [
        tools.call(RESTORE, {"checkpoint_blob": blob, "expected": {**same, field: other(header[field])}})
        for field in IDENTITY
    ]
    outcomes = yield calls
    for field, call, outcome in zip(IDENTITY, calls, outcomes, strict=True):
        observed = observe(outcome, call.operator, tools.codebook, tools.dialect)
        must(isinstance(observed, ObservedFailure), f"another {field} is restored", call)
        assert isinstance(observed, ObservedFailure)
        must(observed.code == "REPLAY_DIVERGENCE", f"another {field} fails with {observed.code}", call)
        must_equal(field, observed.data["field_path"], "the field that is named", call)


ENCODE: Final = "UML_OS.Serialization.EncodeCanonical_v1"
VALIDATE: Final = "UML_OS.Serialization.ValidateCanonical_v1"
# Both sides of changes of head width, on either side of zero, and what binary64 cannot hold.
_INTEGERS: Final = (0, 23, 24, 255, 256, 2**16, 2**32 - 1, 2**53 + 1, 2**64 - 1, -1, -24, -25, -(2**63) - 1, -(2**64))
_FLOATS: Final = (0.0, -0.0, 1.0, 1.5, 1 / 3, 65504.0, 5e-324, 1.7976931348623157e308)
# U+FFFD and U+1F600 stand in the opposite order in UTF-16; 23 and 24 letters differ in the width of their heads.
_TEXTS: Final = ("", "a", "b", "aa", "B", "é", "界", "\ufffd", "\U0001f600", "\0", "k" * 23, "k" * 24)
_SCALARS: Final = (None, False, True, *_INTEGERS, *_FLOATS, *_TEXTS)
_LEVELS: Final = 3


def canonical_round_trips(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {items: how many derived items}`; one instance per item."""
    for number in range(axes(use, {"items": 48})["items"][0]):
        yield Instance(slug({"item": number}), partial(_canonical_round_trip, tools, derived_item(f"item {number}")))


def strictness(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {items: how many derived items}`; one instance per item."""
    for number in range(axes(use, {"items": 24})["items"][0]):
        yield Instance(slug({"item": number}), partial(_canonical_strictness, tools, derived_item(f"item {number}")))


def nestings(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {levels: how many containers, kind: array or map}`."""
    for point in grid(axes(use, {"levels": [1, 255, 256, 257], "kind": ["array", "map"]})):
        yield Instance(slug(point), partial(_canonical_nesting, tools, point["levels"], point["kind"]))


def derived_item(name: str, levels: int = _LEVELS) -> Any:
    """The native item behind a name: a map or an array near the root, anything further down."""
    kinds = ("map", "array") if levels == _LEVELS else ("map", "map", "array", "scalar", "bytes")
    kind = derived_choice(f"{name} kind", kinds)
    count = derived_number(f"{name} count", 5)
    if kind == "scalar" or (levels == 0 and kind in ("map", "array")):
        return derived_choice(f"{name} scalar", _SCALARS)
    if kind == "bytes":
        return derived_bytes(f"{name} bytes", derived_choice(f"{name} size", (0, 1, 23, 24, 32)))
    if kind == "array":
        return [derived_item(f"{name} {place}", levels - 1) for place in range(count)]
    keys = (derived_choice(f"{name} {place} key", _TEXTS) for place in range(count))
    return {key: derived_item(f"{name} {key}", levels - 1) for key in keys}


def reordered(item: Any) -> Any:
    """The same item with the pairs of every map in the opposite order."""
    if isinstance(item, dict):
        return {key: reordered(inner) for key, inner in reversed(item.items())}
    return [reordered(inner) for inner in item] if isinstance(item, list) else item


def _canonical_round_trip(tools: Tools, item: Any) -> LawTalk:
    given, backwards = tools.call(ENCODE, {"item": item}), tools.call(ENCODE, {"item": reordered(item)})
    encoded, again = yield from tools.ask([given, backwards])
    must_equal(encoded, again, "with the pairs of every map in the opposite order", backwards)
    check = tools.call(VALIDATE, {"candidate": encoded["canonical"]})
    (validated,) = yield from tools.ask([check])
    must_equal({"valid": True, "digest": encoded["digest"]}, validated, "what was encoded", check)


def _canonical_nesting(tools: Tools, levels: int, kind: str) -> LawTalk:
    item: Any = True
    for _ in range(levels):
        item = [item] if kind == "array" else {"": item}
    data = (b"\x81" if kind == "array" else b"\xa1\x60") * levels + b"\xf5"
    write, check = tools.call(ENCODE, {"item": item}), tools.call(VALIDATE, {"candidate": data})
    if levels > MAX_DEPTH:
        yield from tools.ask_refused([write])
        (validated,) = yield from tools.ask([check])
        must_equal("TOO_DEEP", validated.get("reason", "valid"), f"{levels} levels", check)
        return
    encoded, validated = yield from tools.ask([write, check])
    must_equal(data, encoded["canonical"], f"{levels} levels", write)
    must_equal({"valid": True, "digest": encoded["digest"]}, validated, f"{levels} levels", check)


def _canonical_strictness(tools: Tools, item: Any) -> LawTalk:
    (encoded,) = yield from tools.ask([tools.call(ENCODE, {"item": item})])
    near = _near(encoded["canonical"])
    calls = [tools.call(VALIDATE, {"candidate": candidate}) for candidate in near]
    answers = yield from tools.ask(calls)
    for candidate, call, answer in zip(near, calls, answers, strict=True):
        must(answer["valid"] == is_canonical(candidate), f"{candidate.hex()} is judged wrongly", call)
        if answer["valid"]:
            must_equal(sha256(candidate).digest(), answer["digest"], "the digest of changed bytes", call)
        else:
            must(answer["offset"] <= len(candidate), "the offset lies behind the bytes", call)


def _near(data: bytes) -> list[bytes]:
    """Every bit flipped, every byte left out, every beginning, and one byte more."""
    places = range(len(data))
    flipped = [data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for at in places for bit in range(8)]
    return [*flipped, *(data[:at] + data[at + 1 :] for at in places), *(data[:at] for at in places), data + b"\0"]


LAWS: Final = (
    Law(
        "checkpoint-round-trip",
        "A checkpoint is the same bytes whatever the order of its fields, and after any number of restores.",
        (SERIALIZE, RESTORE),
        round_trips,
    ),
    Law(
        "checkpoint-blob-damage",
        "A checkpoint with one byte changed, cut off or added is never restored.",
        (SERIALIZE, RESTORE),
        damages,
    ),
    Law(
        "checkpoint-identity",
        "A checkpoint of another tenant, run, token, trace, data, plan, binary or profile is never restored.",
        (SERIALIZE, RESTORE),
        identities,
    ),
    Law(
        "canonical-round-trip",
        "Canonical bytes do not depend on the order in which pairs are given, and validate under the same digest.",
        (ENCODE, VALIDATE),
        canonical_round_trips,
    ),
    Law(
        "canonical-nesting",
        "Containers stand in one another up to 256 levels, and not deeper.",
        (ENCODE, VALIDATE),
        nestings,
    ),
    Law(
        "canonical-strictness",
        "Bytes near canonical ones are refused, or are the canonical bytes of another item under another digest.",
        (ENCODE, VALIDATE),
        strictness,
    ),
)
