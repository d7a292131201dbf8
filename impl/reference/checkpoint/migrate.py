"""A header moved to another version of its schema, with a certificate that says so."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from impl.reference.checkpoint.fields import Fault, refuse_any
from impl.reference.checkpoint.report import MIGRATION_CERTIFICATE, encode_certificate
from impl.reference.checkpoint.schema import (
    SCHEMAS,
    Header,
    checkpoint_hash_of,
    header_faults,
    in_canonical_order,
    limit_faults,
    parse_version,
)
from impl.types import Value, bytes32

OPERATOR: Final = "UML_OS.Checkpoint.Migrate_v1"


@dataclass(frozen=True, slots=True)
class MigratedHeader:
    """Hold the header in its new version, and the signed certificate of the migration."""

    header: Value
    certificate: bytes


def migrate(
    *, header: Value, from_version: str, to_version: str, signing_key: bytes32, migration_policy_hash: bytes32
) -> MigratedHeader:
    """Migrate a header along a registered migration and certify it.

    Every field but checkpoint_schema_version stays as it is. Fails with the first reason that applies
    (seed 002 §II.K; requirements C42, C43; rulings CA33, CA34).
    """
    refuse_any(OPERATOR, [*_version_faults(from_version, to_version), *_source_faults(header, from_version)], header)
    assert isinstance(header, dict)
    target: Header = in_canonical_order({**header, "checkpoint_schema_version": to_version})
    refuse_any(OPERATOR, limit_faults(header), header)
    refuse_any(OPERATOR, limit_faults(target), header)
    payload = {
        "from_schema_version": from_version,
        "to_schema_version": to_version,
        "source_hash": checkpoint_hash_of(header),
        "target_hash": checkpoint_hash_of(target),
        "migration_operator": SCHEMAS[to_version].migration_operator,
        "migration_policy_hash": migration_policy_hash,
    }
    return MigratedHeader(header=target, certificate=encode_certificate(MIGRATION_CERTIFICATE, payload, signing_key))


def _version_faults(from_version: str, to_version: str) -> Iterator[Fault]:
    for name, text in {"from_version": from_version, "to_version": to_version}.items():
        if parse_version(text) is None:
            yield Fault(name, "BAD_VERSION")
        elif text not in SCHEMAS:
            yield Fault(name, "INCOMPATIBLE_VERSION")
    if to_version in SCHEMAS and from_version not in SCHEMAS[to_version].migration_supported_from:
        yield Fault("to_version", "INCOMPATIBLE_VERSION")


def _source_faults(header: Value, from_version: str) -> Iterator[Fault]:
    if from_version not in SCHEMAS:
        return
    yield from header_faults(header, from_version)
    if isinstance(header, dict) and header.get("checkpoint_schema_version") != from_version:
        yield Fault("checkpoint_schema_version", "INCOMPATIBLE_VERSION")
