"""What stands in place of a wire value: `{"from": "step.output"}` for an answer, `{"root": name}` for a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_reference(value: Any) -> bool:
    """Whether an earlier step's answer is meant."""
    return isinstance(value, Mapping) and value.keys() == {"from"}


def is_root(value: Any) -> bool:
    """Whether a folder is meant that the harness makes."""
    return isinstance(value, Mapping) and value.keys() == {"root"} and isinstance(value["root"], str)


def is_placeholder(value: Any) -> bool:
    """Whether either is meant."""
    return is_reference(value) or is_root(value)
