"""The open objects of a machine by their handles."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from impl.failure import default_failure
from impl.reference.pipeline.refusal import Refusal

Held = TypeVar("Held")


class Handles(Generic[Held]):
    """Give every opened object a handle of its own; a handle is never given twice."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._given = 0

    def keep(self, item: Held) -> str:
        """Return a new handle of an object."""
        self._given += 1
        handle = str(self._given)
        self._held[handle] = item
        return handle

    def find(self, handle: str, method: str) -> Held:
        """Return the object of a handle; CONTRACT_VIOLATION for one that is not open."""
        if handle not in self._held:
            raise default_failure("CONTRACT_VIOLATION", method)
        return self._held[handle]

    def close(self, handle: str, method: str) -> None:
        """Forget a handle; CONTRACT_VIOLATION for one that is not open."""
        self.find(handle, method)
        del self._held[handle]


def given(settings: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the settings that are not absent, by name."""
    return {name: value for name in names if (value := getattr(settings, name)) is not None}


@contextmanager
def refusals(method: str) -> Iterator[None]:
    """Answer a refusal with the failure record of a method."""
    try:
        yield
    except Refusal as refusal:
        raise default_failure(refusal.code, method) from refusal
