"""Numbers and bytes that a law makes up: derived from a name by SHA-256, so that every run asks the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def derived_bytes(name: str, size: int) -> bytes:
    """The first `size` bytes, at most 32, behind a name."""
    return hashlib.sha256(f"tallystick law {name}".encode()).digest()[:size]


def derived_number(name: str, below: int) -> int:
    """A number in [0, below) behind a name."""
    return int.from_bytes(derived_bytes(name, 16), "big") % below


def derived_choice(name: str, choices: Sequence[T]) -> T:
    """One of the choices, by a name."""
    return choices[derived_number(name, len(choices))]
