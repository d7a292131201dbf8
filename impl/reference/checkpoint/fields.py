"""The fields of a map, held against their declaration."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from impl.reference.canonical_cbor import NotCanonical, encode_strictly
from impl.reference.checkpoint.field_type import CHECKS, FieldType
from impl.reference.checkpoint.reason import Fault

NOTHING = object()


@dataclass(frozen=True, slots=True)
class Fields:
    """Declare the required and the optional fields of a map, with their types."""

    required: Mapping[str, FieldType]
    optional: Mapping[str, FieldType]


def field_faults(
    item: Mapping[str, object], fields: Fields, *, prefix: str = "", unknown_allowed: bool = False
) -> Iterator[Fault]:
    """Yield at most one fault per field: absent, unknown, null, of another type, or without canonical bytes.

    An absent optional field has no key; a null is no absence (requirements C01-C04; rulings CA10, CA13).
    """
    for name, field_type in fields.required.items():
        if name not in item:
            yield Fault(prefix + name, "MISSING_FIELD")
        else:
            yield from _typed(prefix + name, item[name], field_type)
    for name, field_type in fields.optional.items():
        if name in item:
            yield from _typed(prefix + name, item[name], field_type)
    for name in item:
        if name not in fields.required and name not in fields.optional:
            yield from _unknown(prefix + name, item[name], unknown_allowed)


def _typed(field_path: str, content: object, field_type: FieldType) -> Iterator[Fault]:
    if content is None:
        yield Fault(field_path, "NULL_FIELD")
    elif not CHECKS[field_type](content):
        yield Fault(field_path, "WRONG_TYPE")


def _unknown(field_path: str, content: object, allowed: bool) -> Iterator[Fault]:
    if not allowed:
        yield Fault(field_path, "UNKNOWN_FIELD")
    elif content is None:
        yield Fault(field_path, "NULL_FIELD")
    elif not _is_canonical(content):
        yield Fault(field_path, "NON_CANONICAL")


def _is_canonical(content: object) -> bool:
    try:
        # One level for the map around it, one for the array around that in a blob (ruling CA23).
        encode_strictly([[content]])
    except NotCanonical:
        return False
    return True
