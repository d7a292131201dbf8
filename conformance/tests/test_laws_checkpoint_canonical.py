"""The laws of canonical bytes go red for encoders and readers that are wrong in one way."""

from __future__ import annotations

from hashlib import sha256

from conformance.codec.canonical import encode_canonical
from conformance.contract.item import head
from conformance.tests.spoilt_backend import Memory, Native, Sin, Wrong, breaks, each_of
from conformance.trial.laws.checkpoint_canonical import ENCODE, VALIDATE


def keys_as_given(inputs: Native, result: Native, memory: Memory) -> Native:
    item = inputs["item"]
    if not isinstance(item, dict):
        return result
    pairs = b"".join(encode_canonical(key) + encode_canonical(inner) for key, inner in item.items())
    data = head(5, len(item)) + pairs
    return {"canonical": data, "digest": sha256(data).digest()}


def salted_digest(inputs: Native, result: Native, memory: Memory) -> Native:
    return {**result, "digest": sha256(result["canonical"] + b"salt").digest()}


def everything_valid(inputs: Native, result: Native, memory: Memory) -> Native:
    return {"valid": True, "digest": sha256(inputs["candidate"]).digest()}


def lenient_about_the_end(inputs: Native, result: Native, memory: Memory) -> Native:
    return everything_valid(inputs, result, memory) if result.get("reason") == "TRAILING_BYTES" else result


def offset_behind(inputs: Native, result: Native, memory: Memory) -> Native:
    return {**result, "offset": len(inputs["candidate"]) + 1} if "offset" in result else result


def salted_validation(inputs: Native, result: Native, memory: Memory) -> Native:
    return {**result, "digest": bytes(32)} if "digest" in result else result


def one_digest(inputs: Native, result: Native, memory: Memory) -> Native:
    return {**result, "digest": memory.setdefault("digest", result["digest"])} if "digest" in result else result


CANONICAL: list[Sin] = [
    ("canonical-round-trip", "keys as given", Wrong(answer=keys_as_given, operator=ENCODE), "opposite order"),
    ("canonical-round-trip", "a salt", Wrong(answer=salted_digest, operator=ENCODE), "what was encoded: digest"),
    ("canonical-nesting", "no digest", Wrong(answer=salted_validation, operator=VALIDATE), "levels: digest"),
    ("canonical-nesting", "blind to depth", Wrong(answer=everything_valid, operator=VALIDATE), "257 levels"),
    ("canonical-strictness", "all valid", Wrong(answer=everything_valid, operator=VALIDATE), "judged wrongly"),
    ("canonical-strictness", "no end", Wrong(answer=lenient_about_the_end, operator=VALIDATE), "judged wrongly"),
    ("canonical-strictness", "far offsets", Wrong(answer=offset_behind, operator=VALIDATE), "behind the bytes"),
    ("canonical-strictness", "one digest", Wrong(answer=one_digest, operator=VALIDATE), "digest of changed bytes"),
]


@each_of(CANONICAL)
def test_a_wrong_backend_breaks_the_law(law: str, wrong: Wrong, said: str) -> None:
    assert breaks(law, wrong, said)
