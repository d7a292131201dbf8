"""A header moved to another version of its schema, and the certificate that says so."""

from hashlib import sha256
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.failure import ContractFailure
from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.report import MIGRATION_CERTIFICATE, decode_certificate, is_certified
from impl.tests.checkpoint_calls import (
    ABSENT,
    OTHER_PUBLIC_KEY,
    PUBLIC_KEY,
    REPLAY_TOKEN,
    SIGNING_KEY,
    call,
    pinned_header,
    reason,
    refusal,
)
from impl.tests.test_serialization import VALUES

POLICY = sha256(b"policy").digest()


def migration(header: object = None, **changes: Any) -> dict[str, Any]:
    params = {
        "header": pinned_header() if header is None else header,
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


def test_the_migrated_header_does_not_depend_on_the_order_of_insertion() -> None:
    one = call("Migrate", **migration())
    other = call("Migrate", **migration(dict(reversed(pinned_header().items()))))
    assert one == other
    assert list(one["header"]) == list(other["header"])


def test_a_migrated_header_is_serialized_and_restored() -> None:
    blob = call("Serialize", header=call("Migrate", **migration())["header"])["checkpoint_blob"]
    report = call("Restore", checkpoint_blob=blob, expected={})["report"]
    assert report["compatibility_level"] == "exact"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"from_version": "1.0"}, ("BAD_VERSION", "from_version")),
        ({"to_version": "01.1.0"}, ("BAD_VERSION", "to_version")),
        ({"to_version": "1.2.0"}, ("INCOMPATIBLE_VERSION", "to_version")),
        ({"to_version": "1.0.0"}, ("INCOMPATIBLE_VERSION", "to_version")),
        ({"to_version": "2.0.0"}, ("INCOMPATIBLE_VERSION", "to_version")),
        ({"from_version": "1.2.0"}, ("INCOMPATIBLE_VERSION", "from_version")),
        ({"from_version": "1.1.0", "to_version": "1.0.0"}, ("INCOMPATIBLE_VERSION", "checkpoint_schema_version")),
        (
            {"header": pinned_header(checkpoint_schema_version="1.1.0")},
            ("INCOMPATIBLE_VERSION", "checkpoint_schema_version"),
        ),
        ({"header": pinned_header(t=ABSENT)}, ("MISSING_FIELD", "t")),
        ({"header": pinned_header(added=1)}, ("UNKNOWN_FIELD", "added")),
        ({"header": pinned_header(run_id="x" * 65_536)}, ("LIMIT_EXCEEDED", "")),
        ({"header": None}, ("WRONG_TYPE", "")),
        ({"header": []}, ("WRONG_TYPE", "")),
    ],
)
def test_a_migration_that_is_not_registered_is_refused(changes: dict[str, Any], found: tuple[str, str]) -> None:
    assert reason("Migrate", **{**migration(), **changes}) == found


def test_a_failure_is_the_record_of_the_family() -> None:
    assert refusal("Migrate", **migration(to_version="9.9.9")) == {
        "t": 7,
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": "UML_OS.Checkpoint.Migrate_v1",
        "replay_token": REPLAY_TOKEN,
        "reason": "INCOMPATIBLE_VERSION",
        "field_path": "to_version",
    }


VERSIONS = st.sampled_from(["1.0.0", "1.1.0", "", "1.2.0"]) | st.text()


@settings(deadline=None, max_examples=40)
@given(VALUES, VERSIONS, VERSIONS)
def test_any_header_and_versions_are_migrated_or_refused(header: object, from_version: str, to_version: str) -> None:
    with pytest.raises(ContractFailure):
        call("Migrate", **{**migration(), "header": header, "from_version": from_version, "to_version": to_version})
