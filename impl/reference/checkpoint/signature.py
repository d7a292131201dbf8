"""Ed25519 signatures (RFC 8032) over the canonical bytes of a payload (ruling CA33)."""

from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from impl.reference.canonical_cbor import encode_canonical


def sign(payload: Mapping[str, object], signing_key: bytes) -> bytes:
    """Return the 64 bytes of signature of a payload by the key whose seed has these 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(signing_key).sign(encode_canonical(payload))


def is_signed(payload: Mapping[str, object], signature: object, public_key: bytes) -> bool:
    """Tell whether a signature is that of the payload by the owner of the public key (requirement C37)."""
    if not isinstance(signature, bytes):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, encode_canonical(payload))
    except (InvalidSignature, ValueError):
        return False
    return True


def public_key_of(signing_key: bytes) -> bytes:
    """Return the 32 bytes of the public key that belongs to a seed."""
    return Ed25519PrivateKey.from_private_bytes(signing_key).public_key().public_bytes_raw()
