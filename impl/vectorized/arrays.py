"""A bounded memory of recent results of pure functions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Annotated, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from impl.types import UINT64, ArrayOf

Words: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.intp]

# A contract's list<uint64> that travels as an array.
Uint64Array: TypeAlias = Annotated[NDArray[np.uint64], ArrayOf(UINT64)]


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keep the newest results up to a total weight; what is forgotten is computed again, never different.

    Readers take no lock. The newest result is always kept, however heavy it is.
    """

    __slots__ = ("_limit", "_lock", "_results", "_weigh", "_weight")

    def __init__(self, limit: int, weigh: Callable[[V], int]) -> None:
        self._limit = limit
        self._weigh = weigh
        self._results: dict[K, V] = {}
        self._weight = 0
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return the remembered result, or None."""
        return self._results.get(key)

    def keep(self, key: K, result: V) -> V:
        """Remember a result, forget the oldest ones above the limit, and return the result."""
        with self._lock:
            replaced = self._results.pop(key, None)
            if replaced is not None:
                self._weight -= self._weigh(replaced)
            self._results[key] = result
            self._weight += self._weigh(result)
            while self._weight > self._limit and len(self._results) > 1:
                oldest = self._results.pop(next(iter(self._results)))
                self._weight -= self._weigh(oldest)
        return result
