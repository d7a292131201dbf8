"""The checkpoint header, held against its schema."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from impl.reference.canonical_cbor import decode_canonical, encode_canonical
from impl.reference.checkpoint.field_type import is_named_map, is_string
from impl.reference.checkpoint.fields import field_faults
from impl.reference.checkpoint.reason import Fault
from impl.reference.checkpoint.schema_registry import HEADER, NEWEST, SCHEMAS
from impl.reference.checkpoint.version import Version, parse_version

MAX_HEADER_BYTES: Final = 65_536

Header = dict[str, object]


def header_faults(header: object, schema_version: str = NEWEST) -> list[Fault]:
    """Return everything that is wrong with a header, seen by a reader of one schema version.

    Fields that the reader does not know are accepted from the same MAJOR and a newer MINOR only; another MAJOR is
    incompatible (seed 002 §II.F, §0.K; requirements C01-C05; rulings CA10, CA13, CA14).
    """
    reader = parse_version(schema_version)
    faults = list(_reader_faults(reader))
    if not is_named_map(header):
        return [*faults, Fault("", "WRONG_TYPE")]
    text = header.get("checkpoint_schema_version")
    version = parse_version(text) if is_string(text) else None
    newer = version is not None and reader is not None and _is_newer_minor(version, reader)
    faults += field_faults(header, HEADER, unknown_allowed=newer)
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
