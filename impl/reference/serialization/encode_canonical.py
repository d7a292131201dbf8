"""The canonical bytes of a value, and their digest."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from impl.failure import default_failure
from impl.reference import canonical_cbor
from impl.types import Value, bytes32

OPERATOR: Final = "UML_OS.Serialization.EncodeCanonical_v1"


@dataclass(frozen=True, slots=True)
class Encoded:
    """Hold the canonical bytes of a value and their SHA-256."""

    canonical: bytes
    digest: bytes32


def encode_canonical(*, item: Value) -> Encoded:
    """Encode a value as canonical CBOR.

    A value outside the profile is CONTRACT_VIOLATION: an integer beyond 64 bits, a float that is not finite, a map key
    that is no text or stands twice, a text that is not Unicode, more than 256 levels of nesting
    (seed 002 §II.F, §0.Z; requirements C06, C49; rulings CA07, CA09).
    """
    try:
        canonical = canonical_cbor.encode_strictly(item)
    except canonical_cbor.NotCanonical:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR) from None
    return Encoded(canonical=canonical, digest=sha256(canonical).digest())
