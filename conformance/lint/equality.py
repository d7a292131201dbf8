"""Whether two native values are the same, where arrays may stand anywhere in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def alike(one: Any, other: Any) -> bool:
    """Whether two native values are equal; arrays are where dtype, shape and bytes are."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return (
            isinstance(one, np.ndarray)
            and isinstance(other, np.ndarray)
            and (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)
