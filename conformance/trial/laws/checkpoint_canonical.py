"""Laws of canonical bytes: one byte string per meaning, and no other byte string passes for one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import Any, Final

from conformance.contract.model import Contract, LawUse
from conformance.contract.profile import MAX_DEPTH, is_canonical
from conformance.trial.laws.derived import derived_bytes, derived_choice, derived_number
from conformance.trial.laws.grid import axes, grid, slug
from conformance.trial.laws.law import Instance, Law, LawTalk, Tools
from conformance.trial.laws.relation import must, must_equal

ENCODE: Final = "UML_OS.Serialization.EncodeCanonical_v1"
VALIDATE: Final = "UML_OS.Serialization.ValidateCanonical_v1"
# Both sides of changes of head width, on either side of zero, and what binary64 cannot hold.
_INTEGERS: Final = (0, 23, 24, 255, 256, 2**16, 2**32 - 1, 2**53 + 1, 2**64 - 1, -1, -24, -25, -(2**63) - 1, -(2**64))
_FLOATS: Final = (0.0, -0.0, 1.0, 1.5, 1 / 3, 65504.0, 5e-324, 1.7976931348623157e308)
# U+FFFD and U+1F600 stand in the opposite order in UTF-16; 23 and 24 letters differ in the width of their heads.
_TEXTS: Final = ("", "a", "b", "aa", "B", "é", "界", "\ufffd", "\U0001f600", "\0", "k" * 23, "k" * 24)
_SCALARS: Final = (None, False, True, *_INTEGERS, *_FLOATS, *_TEXTS)
_LEVELS: Final = 3


def round_trips(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
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
        "canonical-round-trip",
        "Canonical bytes do not depend on the order in which pairs are given, and validate under the same digest.",
        (ENCODE, VALIDATE),
        round_trips,
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
