"""Whether bytes are canonical, and if not, where and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Literal

from impl.failure import default_failure
from impl.reference import canonical_cbor
from impl.reference.canonical_cbor import NotCanonical, decode_canonical
from impl.types import Value, bytes32, uint64

OPERATOR: Final = "UML_OS.Serialization.EncodeCanonical_v1"


@dataclass(frozen=True, slots=True)
class Encoded:
    """Hold the canonical bytes of a value and their SHA-256."""

    canonical: bytes
    digest: bytes32


def encode_canonical(*, item: Value) -> Encoded:
    """Encode a value as canonical CBOR.

    A value outside the profile is CONTRACT_VIOLATION: an integer beyond 64 bits, another NaN than the one, a map key
    that is no text or occurs twice, a text that is not Unicode, more than 256 levels of nesting
    (seed 002 §II.F, §0.Z; requirements C06, C49; rulings CA07, CA09).
    """
    try:
        canonical = canonical_cbor.encode_strictly(item)
    except canonical_cbor.NotCanonical:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR) from None
    return Encoded(canonical=canonical, digest=sha256(canonical).digest())


Violation = Literal[
    "TRUNCATED",
    "TRAILING_BYTES",
    "NOT_SHORTEST",
    "INDEFINITE_LENGTH",
    "RESERVED_LENGTH",
    "KEY_NOT_TEXT",
    "DUPLICATE_KEY",
    "KEY_ORDER",
    "TAG",
    "SIMPLE_VALUE",
    "FLOAT_NOT_BINARY64",
    "NAN_NOT_CANONICAL",
    "TEXT_NOT_UTF8",
    "TOO_DEEP",
]

VIOLATIONS: Final[Mapping[str, Violation]] = MappingProxyType(
    {
        "truncated": "TRUNCATED",
        "trailing bytes": "TRAILING_BYTES",
        "longer than the shortest form": "NOT_SHORTEST",
        "indefinite length": "INDEFINITE_LENGTH",
        "reserved length": "RESERVED_LENGTH",
        "map key not text": "KEY_NOT_TEXT",
        "map key twice": "DUPLICATE_KEY",
        "map keys out of order": "KEY_ORDER",
        "tag": "TAG",
        "simple value": "SIMPLE_VALUE",
        "float not binary64": "FLOAT_NOT_BINARY64",
        "another NaN": "NAN_NOT_CANONICAL",
        "text not UTF-8": "TEXT_NOT_UTF8",
        "nested too deeply": "TOO_DEEP",
    }
)


@dataclass(frozen=True, slots=True)
class Validation:
    """Hold the digest of canonical bytes, or the first violation and its offset in bytes."""

    valid: bool
    reason: Violation | None = None
    offset: uint64 | None = None
    digest: bytes32 | None = None


def validate_canonical(*, candidate: bytes) -> Validation:
    """Say whether bytes are the canonical CBOR of one value (seed 002 §II.F; requirement C07; ruling CA07).

    The violation is the first that a reader meets from left to right: of each item its first byte, its depth, the rest
    of its head, its content, and of a key its place among the keys. The offset is that of the item's first byte, and
    of the first byte after the item where there are too many.
    """
    try:
        decode_canonical(candidate)
    except NotCanonical as violation:
        return Validation(valid=False, reason=VIOLATIONS[violation.reason], offset=violation.offset)
    return Validation(valid=True, digest=sha256(candidate).digest())
