"""The types of the fields that are read from a value (seed 002 §II.F)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeGuard

FieldType = Literal["string", "uint64", "bytes32", "bool", "array<string>", "array<map>"]

MAX_UINT64: Final = 2**64 - 1


def is_string(item: object) -> TypeGuard[str]:
    """Tell whether an item is a Unicode text; a lone surrogate is none."""
    if not isinstance(item, str):
        return False
    try:
        item.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_uint64(item: object) -> TypeGuard[int]:
    """Tell whether an item is an integer from 0 to 2^64 - 1."""
    return isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= MAX_UINT64


def is_bytes32(item: object) -> TypeGuard[bytes]:
    """Tell whether an item is a byte string of exactly 32 bytes (requirement C02)."""
    return isinstance(item, bytes) and len(item) == 32


def is_bool(item: object) -> TypeGuard[bool]:
    """Tell whether an item is true or false."""
    return isinstance(item, bool)


def is_string_array(item: object) -> TypeGuard[list[str]]:
    """Tell whether an item is an array of Unicode texts."""
    return isinstance(item, list) and all(is_string(element) for element in item)


def is_named_map(item: object) -> TypeGuard[dict[str, object]]:
    """Tell whether an item is a map whose keys are distinct Unicode texts."""
    return isinstance(item, dict) and all(is_string(key) for key in item)


def is_map_array(item: object) -> TypeGuard[list[dict[str, object]]]:
    """Tell whether an item is an array of maps with text keys."""
    return isinstance(item, list) and all(is_named_map(element) for element in item)


CHECKS: Final[Mapping[FieldType, Callable[[object], bool]]] = MappingProxyType(
    {
        "string": is_string,
        "uint64": is_uint64,
        "bytes32": is_bytes32,
        "bool": is_bool,
        "array<string>": is_string_array,
        "array<map>": is_map_array,
    }
)
