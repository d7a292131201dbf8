"""Tables of callables that cost nothing before one of them is asked for."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any


class Deferred(Mapping[str, Callable[..., Any]]):
    """Callables by name, of which only the names are known until one is asked for.

    A backend holds every family and is mostly asked about one; importing all of them doubles the start of a process
    (measured: 106 ms against 50 ms). KeyError for an unknown name, ImportError or AttributeError for a wrong place.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    @abstractmethod
    def module(self, name: str) -> str:
        """Return the full name of the module that holds a callable."""

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Entries(Deferred):
    """Functions with their places, `module:function` below one package."""

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        super().__init__(places)
        self._package = package

    def __getitem__(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(self.module(name)), self._places[name].partition(":")[2])
        return found

    def module(self, name: str) -> str:
        """Return the full name of the module that holds a function."""
        return f"{self._package}.{self._places[name].partition(':')[0]}"


class Machine(Deferred):
    """Methods by their full names, bound to one object of one class, `module:Class`, made for the first of them."""

    def __init__(self, place: str, methods: Mapping[str, str]) -> None:
        super().__init__(methods)
        self._place = place
        self._state: object | None = None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        attribute = self._places[name]
        if self._state is None:
            module, _, kind = self._place.partition(":")
            self._state = getattr(import_module(module), kind)()
        method: Callable[..., Any] = getattr(self._state, attribute)
        return method

    def module(self, name: str) -> str:
        """Return the full name of the module that holds the class, the same for every method."""
        return self._place.partition(":")[0]
