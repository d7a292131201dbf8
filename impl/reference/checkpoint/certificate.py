"""A certificate: a format, a payload of named fields, and the signature of the payload."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint.field_type import is_named_map
from impl.reference.checkpoint.signature import is_signed, sign

RUN_CERTIFICATE: Final = "run_certificate_v1"
MIGRATION_CERTIFICATE: Final = "migration_certificate_v1"
MAX_CERTIFICATE_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Certificate:
    """Hold the parts of a certificate as they were read."""

    payload: dict[str, object]
    signature: object


def encode_certificate(certificate_format: str, payload: Mapping[str, object], signing_key: bytes) -> bytes:
    """Return the canonical bytes of a certificate, signed (seed 002 §II.J, §II.K; requirement C42)."""
    return encode_canonical([certificate_format, dict(payload), sign(payload, signing_key)])


def decode_certificate(certificate: bytes, certificate_format: str) -> Certificate | None:
    """Return the parts of a certificate of that format, None for any other bytes; the signature is not verified."""
    try:
        parts = decode_canonical(certificate)
    except NotCanonical:
        return None
    if not isinstance(parts, list) or len(parts) != 3 or parts[0] != certificate_format:
        return None
    if not is_named_map(parts[1]):
        return None
    return Certificate(payload=parts[1], signature=parts[2])


def is_certified(certificate: Certificate, public_key: bytes) -> bool:
    """Tell whether the owner of the public key signed exactly this payload (requirement C37)."""
    return is_signed(certificate.payload, certificate.signature, public_key)
