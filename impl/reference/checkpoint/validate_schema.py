"""The full report on a header."""

from dataclasses import dataclass

from impl.reference.checkpoint.header import header_faults
from impl.reference.checkpoint.reason import Fault, sorted_faults
from impl.types import Value


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
