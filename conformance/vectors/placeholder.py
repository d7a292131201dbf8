"""What stands in place of a wire value: `{"from": "step.output"}` for an answer, `{"root": name}` for a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def is_reference(value: Any) -> bool:
    """Whether an earlier step's answer is meant."""
    return isinstance(value, Mapping) and value.keys() == {"from"} and isinstance(value["from"], str)


def is_root(value: Any) -> bool:
    """Whether a folder is meant that the harness makes."""
    return isinstance(value, Mapping) and value.keys() == {"root"} and isinstance(value["root"], str)


def is_placeholder(value: Any) -> bool:
    """Whether either is meant."""
    return is_reference(value) or is_root(value)


def anywhere(value: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether a wire value, or any part of it, is a wanted one."""
    if wanted(value):
        return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(anywhere(part, wanted) for part in parts)
