"""A machine's methods, whose state is made when one of them is first asked for."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any


class Machine(Mapping[str, Callable[..., Any]]):
    """Methods by their full names, bound to one object of one class, `module:Class`.

    KeyError for an unknown name, ImportError or AttributeError for a wrong place.
    """

    def __init__(self, place: str, methods: Mapping[str, str]) -> None:
        self._place = place
        self._methods = dict(methods)
        self._state: object | None = None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        attribute = self._methods[name]
        if self._state is None:
            module, _, kind = self._place.partition(":")
            self._state = getattr(import_module(module), kind)()
        method: Callable[..., Any] = getattr(self._state, attribute)
        return method

    def module(self, name: str) -> str:
        """Return the full name of the module that holds the class, the same for every method."""
        return self._place.partition(":")[0]

    def __contains__(self, name: object) -> bool:
        return name in self._methods

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)
