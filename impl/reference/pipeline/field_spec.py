"""One field of a batch: its name, the dtype and the shape of one sample, and a hint on its role."""

import re
from dataclasses import dataclass
from typing import Any, Final

from impl.reference.pipeline.plain_value import is_text, shown
from impl.reference.pipeline.tensors import WIDTHS

MAX_DIMENSION: Final = 2**32
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_KEYS: Final = ("name", "dtype", "shape", "role")


class NotASchema(Exception):
    """A value does not describe fields; says why."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """Describe one field; `shape` is that of one sample, without the batch axis (seed 001, Batch File Format)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: str | None = None

    def same_rows(self, other: "FieldSpec") -> bool:
        """Tell whether both describe the same rows; the role is only a hint."""
        return (self.name, self.dtype, self.shape) == (other.name, other.dtype, other.shape)

    def as_map(self) -> dict[str, Any]:
        """Return the map that stands in metadata and meta.pkl; without a role the key is absent."""
        described: dict[str, Any] = {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}
        if self.role is not None:
            described["role"] = self.role
        return described


def schema_of(described: object) -> tuple[FieldSpec, ...]:
    """Read a list of field maps; NotASchema where it is none, is empty or names a field twice."""
    if not isinstance(described, list) or not described:
        raise NotASchema("the schema is not a list of fields")
    fields = tuple(_field_of(entry) for entry in described)
    if len({field.name for field in fields}) < len(fields):
        raise NotASchema("the schema names a field twice")
    return fields


def is_field_name(name: object) -> bool:
    """Tell whether a text can name a field: it becomes a name inside the archive."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _field_of(entry: object) -> FieldSpec:
    if not isinstance(entry, dict) or not {"name", "dtype", "shape"} <= entry.keys() <= set(_KEYS):
        raise NotASchema("a field is not a map of name, dtype, shape and perhaps role")
    name, dtype, shape, role = (entry.get(key) for key in _KEYS)
    if not is_field_name(name):
        raise NotASchema(f"{shown(name)} is not a name of a field")
    if not isinstance(dtype, str) or dtype not in WIDTHS:
        raise NotASchema(f"field {name} has the dtype {shown(dtype)}")
    if not isinstance(shape, list) or not all(type(size) is int and 0 < size < MAX_DIMENSION for size in shape):
        raise NotASchema(f"field {name} has the shape {shown(shape)}")
    if "role" in entry and not is_text(role):
        raise NotASchema(f"field {name} has the role {shown(role)}")
    return FieldSpec(name=str(name), dtype=dtype, shape=tuple(shape), role=role)
