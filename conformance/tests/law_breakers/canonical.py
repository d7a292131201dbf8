"""The laws of canonical bytes go red for encoders and readers that are wrong in one way."""

from __future__ import annotations

from hashlib import sha256

from checks.laws.checkpoint import ENCODE, VALIDATE
from conformance.codec.cbor import encode_canonical
from conformance.contract.canonical import head
from conformance.tests.law_breakers.spoilt import Memory, Native, Sin, answers


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


SINS: list[Sin] = [
    answers("canonical-round-trip", "keys as given", ENCODE, keys_as_given, "opposite order"),
    answers("canonical-round-trip", "a salt", ENCODE, salted_digest, "what was encoded: digest"),
    answers("canonical-nesting", "no digest", VALIDATE, salted_validation, "levels: digest"),
    answers("canonical-nesting", "blind to depth", VALIDATE, everything_valid, "257 levels"),
    answers("canonical-strictness", "all valid", VALIDATE, everything_valid, "judged wrongly"),
    answers("canonical-strictness", "no end", VALIDATE, lenient_about_the_end, "judged wrongly"),
    answers("canonical-strictness", "far offsets", VALIDATE, offset_behind, "after the bytes"),
    answers("canonical-strictness", "one digest", VALIDATE, one_digest, "digest of changed bytes"),
]
