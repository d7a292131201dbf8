"""Mappings and modules that are made at the first access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar

__all__ = ["DeferredMapping", "LazyMapping", "LazyModule", "files_digest", "np", "sqlite3"]

K = TypeVar("K")
V = TypeVar("V")


class LazyMapping(Mapping[str, V]):
    """Values by name, each made at its first use; safe to use from any thread.

    `notes` has facts about each value that are known before it is made. `digest` is of the files that all come from.
    """

    def __init__(self, notes: Mapping[str, Any], make: Callable[[str], V], digest: str = "") -> None:
        self.notes: Final = notes
        self.digest: Final = digest
        self._make = make
        self._made: dict[str, V] = {}
        self._lock = RLock()  # reentrant, because making one value may need another

    def __getitem__(self, name: str) -> V:
        if name not in self._made:
            with self._lock:
                if name not in self._made:
                    if name not in self.notes:
                        raise KeyError(name)
                    self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self.notes

    def __iter__(self) -> Iterator[str]:
        return iter(self.notes)

    def __len__(self) -> int:
        return len(self.notes)

    def __repr__(self) -> str:
        return f"LazyMapping({', '.join(self.notes)})"


class DeferredMapping(Mapping[K, V]):
    """A mapping that is made as a whole at its first use; safe to use from any thread."""

    def __init__(self, make: Callable[[], Mapping[K, V]]) -> None:
        self._make = make
        self._made: Mapping[K, V] | None = None
        self._lock = RLock()

    def _all(self) -> Mapping[K, V]:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def __getitem__(self, name: K) -> V:
        return self._all()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[K]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> Any:
        """The pairs of the mapping; the dict itself gives them faster than this class could."""
        return self._all().items()


class LazyModule:
    """A module that is imported at the first use of one of its names: NumPy takes a fifth of a short command's time."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)  # later uses do not call this method
        return found


if TYPE_CHECKING:
    import sqlite3

    import numpy as np
else:
    np, sqlite3 = LazyModule("numpy"), LazyModule("sqlite3")


def files_digest(values: Mapping[str, Any]) -> str:
    """The digest of the files from which a mapping was read; empty if it was not read from files."""
    return values.digest if isinstance(values, LazyMapping) else ""
