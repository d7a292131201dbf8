"""A mapping whose values are made when they are asked for, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import RLock
from typing import Any, Final, TypeVar

V = TypeVar("V")


class Shelf(Mapping[str, V]):
    """Values by name; `notes` say of each what can be known without it, `digest` what all were made from."""

    def __init__(self, notes: Mapping[str, Any], make: Callable[[str], V], digest: str = "") -> None:
        self.notes: Final = notes
        self.digest: Final = digest
        self._make = make
        self._made: dict[str, V] = {}
        self._lock = RLock()  # one value may need another

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
        return f"Shelf({', '.join(self.notes)})"


class Later(Mapping[str, V]):
    """A mapping that is made as a whole when it is first looked at."""

    def __init__(self, make: Callable[[], Mapping[str, V]]) -> None:
        self._make = make
        self._made: Mapping[str, V] | None = None
        self._lock = RLock()

    def _all(self) -> Mapping[str, V]:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def __getitem__(self, name: str) -> V:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def digest_of_shelf(values: Mapping[str, Any]) -> str:
    """What values were made from, where they came straight from files; nothing for any other mapping."""
    return values.digest if isinstance(values, Shelf) else ""
