"""A header moved to another version of its schema, and the certificate that says so."""

from hashlib import sha256
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.report import MIGRATION_CERTIFICATE, decode_certificate, is_certified
from impl.tests.checkpoint.checkpoint_calls import OTHER_PUBLIC_KEY, PUBLIC_KEY, SIGNING_KEY, call, pinned_header

POLICY = sha256(b"policy").digest()


def migration(**changes: Any) -> dict[str, Any]:
    params = {
        "header": pinned_header(),
        "from_version": "1.0.0",
        "to_version": "1.1.0",
        "signing_key": SIGNING_KEY,
        "migration_policy_hash": POLICY,
    }
    return {**params, **changes}


def test_only_the_schema_version_changes() -> None:
    answer = call("Migrate", **migration())
    assert answer["header"] == pinned_header(checkpoint_schema_version="1.1.0")


def test_the_certificate_holds_the_six_fields_of_the_seed_and_is_signed() -> None:
    parts = decode_canonical(call("Migrate", **migration())["certificate"])
    assert isinstance(parts, list)
    certificate_format, payload, signature = parts
    assert certificate_format == "migration_certificate_v1"
    assert payload == {
        "from_schema_version": "1.0.0",
        "to_schema_version": "1.1.0",
        "source_hash": sha256(encode_canonical(pinned_header())).digest(),
        "target_hash": sha256(encode_canonical(pinned_header(checkpoint_schema_version="1.1.0"))).digest(),
        "migration_operator": "UML_OS.Checkpoint.Migrate_v1",
        "migration_policy_hash": POLICY,
    }
    Ed25519PublicKey.from_public_bytes(PUBLIC_KEY).verify(signature, encode_canonical(payload))
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(PUBLIC_KEY).verify(signature, encode_canonical({**payload, "added": 1}))


def test_a_certificate_is_believed_under_its_own_key_and_unaltered_only() -> None:
    content = call("Migrate", **migration())["certificate"]
    certificate = decode_certificate(content, MIGRATION_CERTIFICATE)
    assert certificate is not None
    assert is_certified(certificate, PUBLIC_KEY)
    assert not is_certified(certificate, OTHER_PUBLIC_KEY)
    assert decode_certificate(content, "run_certificate_v1") is None
    assert decode_certificate(content + b"\x00", MIGRATION_CERTIFICATE) is None
    for offset in range(len(content)):
        altered = decode_certificate(
            content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :], MIGRATION_CERTIFICATE
        )
        assert altered is None or not is_certified(altered, PUBLIC_KEY)
