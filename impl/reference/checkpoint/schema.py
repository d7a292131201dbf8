"""The full report on a header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.fields import (
    Fault,
    Fields,
    FieldType,
    field_faults,
    is_named_map,
    is_string,
    sorted_faults,
)
from impl.types import Value

# Nineteen digits always fit in 64 bits.
NUMBER: Final = "(0|[1-9][0-9]{0,18})"
FORM: Final = re.compile(rf"{NUMBER}\.{NUMBER}\.{NUMBER}")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Hold the three numbers of a version; the order is numerical (ruling CA14)."""

    major: int
    minor: int
    patch: int


def parse_version(text: str) -> Version | None:
    """Return the version of a text without leading zeros, None for any other text (ruling CA14)."""
    match = FORM.fullmatch(text)
    if match is None:
        return None
    return Version(int(match[1]), int(match[2]), int(match[3]))


MIGRATE: Final = "UML_OS.Checkpoint.Migrate_v1"

REQUIRED: Final[Mapping[str, FieldType]] = MappingProxyType(
    {
        "tenant_id": "string",
        "run_id": "string",
        "spec_version": "string",
        "checkpoint_schema_version": "string",
        "replay_token": "bytes32",
        "t": "uint64",
        "manifest_hash": "bytes32",
        "trace_root_hash": "bytes32",
        "sampler_config_hash": "bytes32",
        "tmmu_plan_hash": "bytes32",
        "backend_binary_hash": "bytes32",
        "checkpoint_merkle_root": "bytes32",
        "policy_hash": "bytes32",
        "determinism_profile_hash": "bytes32",
        "dependencies_lock_hash": "bytes32",
        "operator_contracts_root_hash": "bytes32",
        "runtime_env_hash": "bytes32",
        "code_commit_hash": "bytes32",
        "lineage_root_hash": "bytes32",
        "tensors_root_hash": "bytes32",
        "optimizer_state_root_hash": "bytes32",
        "trace_tail_hash_at_checkpoint": "bytes32",
    }
)

OPTIONAL: Final[Mapping[str, FieldType]] = MappingProxyType(
    {
        "dp_accountant_state_root_hash": "bytes32",
        "checkpoint_hash_prev": "bytes32",
    }
)

# What a MINOR version adds: optional fields only (seed 002 §II.F; requirement C04; ruling CA38).
ADDED: Final[Mapping[str, Mapping[str, FieldType]]] = MappingProxyType({"1.1.0": {"source_run_hash": "bytes32"}})


def fields_known(version: Version | None, reader: Version | None) -> Fields:
    """Return the fields that both a header's version and its reader's have; those of 1.0.0 where one is no version."""
    optional = dict(OPTIONAL)
    for text, added in ADDED.items():
        since = parse_version(text)
        if since and version and reader and version >= since and reader >= since:
            optional |= added
    return Fields(REQUIRED, optional)


@dataclass(frozen=True, slots=True)
class Schema:
    """Hold a registered version and its migration controls (seed 002 §II.F)."""

    version: Version
    migration_supported_from: tuple[str, ...]
    migration_operator: str
    migration_invariants: tuple[str, ...]


SCHEMAS: Final[Mapping[str, Schema]] = MappingProxyType(
    {
        "1.0.0": Schema(Version(1, 0, 0), (), MIGRATE, ()),
        "1.1.0": Schema(Version(1, 1, 0), ("1.0.0",), MIGRATE, ("every-other-field-unchanged",)),
    }
)

NEWEST: Final = "1.1.0"


MAX_HEADER_BYTES: Final = 65_536

Header = dict[str, object]


def header_faults(header: object, schema_version: str = NEWEST) -> list[Fault]:
    """Return everything that is wrong with a header, seen by a reader of one schema version.

    Fields that the reader does not know are accepted from the same MAJOR and a newer MINOR only; another MAJOR is
    incompatible (seed 002 §II.F, §0.K; requirements C01-C05; rulings CA10, CA13, CA14, CA38).
    """
    reader = parse_version(schema_version)
    faults = list(_reader_faults(reader))
    if not is_named_map(header):
        return [*faults, Fault("", "WRONG_TYPE")]
    text = header.get("checkpoint_schema_version")
    version = parse_version(text) if is_string(text) else None
    newer = version is not None and reader is not None and _is_newer_minor(version, reader)
    faults += field_faults(header, fields_known(version, reader), unknown_allowed=newer)
    if is_string(text):
        faults += _version_faults(version, reader)
    return faults


def _reader_faults(reader: Version | None) -> Iterator[Fault]:
    if reader is None:
        yield Fault("schema_version", "BAD_VERSION")
    elif reader.major not in {schema.version.major for schema in SCHEMAS.values()}:
        yield Fault("schema_version", "INCOMPATIBLE_VERSION")


def _version_faults(version: Version | None, reader: Version | None) -> Iterator[Fault]:
    if version is None:
        yield Fault("checkpoint_schema_version", "BAD_VERSION")
    elif reader is not None and version.major != reader.major:
        yield Fault("checkpoint_schema_version", "INCOMPATIBLE_VERSION")


def _is_newer_minor(version: Version, reader: Version) -> bool:
    return version.major == reader.major and version.minor > reader.minor


def limit_faults(header: Header) -> Iterator[Fault]:
    """Yield a fault where the canonical bytes of a well-formed header are too many."""
    if len(encode_canonical(header)) > MAX_HEADER_BYTES:
        yield Fault("", "LIMIT_EXCEEDED")


def checkpoint_hash_of(header: Header) -> bytes:
    """Return the SHA-256 of the header's canonical bytes (seed 002 §II.F; requirement C08; rulings CA01, CA02)."""
    return sha256(encode_canonical(header)).digest()


def in_canonical_order(header: Header) -> Header:
    """Return the header with its fields, and those of maps inside it, in the order of the canonical bytes."""
    ordered = decode_canonical(encode_canonical(header))
    assert isinstance(ordered, dict)
    return ordered


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """Hold everything that is wrong with a header, sorted by field path and reason."""

    valid: bool
    errors: list[Fault]


def validate_schema(*, header: Value, schema_version: str) -> SchemaReport:
    """Report every missing, unknown or ill-typed field of a header to a reader of a schema version.

    It never fails (seed 002 §5; requirements C01-C05, C45).
    """
    errors = sorted_faults(header_faults(header, schema_version))
    return SchemaReport(valid=not errors, errors=errors)
