"""The places of an input: every value in it that can be changed alone, with its type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.contract.types import ListOf, MapOf, Struct, Type, Value, is_place

ABSENT: Final = object()  # in place of a value: there is none
EACH: Final = "*"  # in a leaf's name: any key of a map, any place of a list
_ENDS: Final = 8  # elements of a list that are places, at each end
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """One place: its path, the leaf of the type that it belongs to, and its value.

    A number in a path is a place in a list, or of a pair in a map of pairs. `key` is the path of the type, in which all
    elements of a list and all keys of a map are one; the names inside a self-describing value stay apart.
    """

    path: Path
    key: str
    type: Type
    value: Any = field(repr=False)
    optional: bool = False

    @property
    def is_there(self) -> bool:
        """Whether there is a value."""
        return self.value is not ABSENT


def places(type_: Type, value: Any) -> Iterator[Place]:
    """Every place of a native value but the whole, containers before their parts."""
    yield from _inside(Place((), "", type_, value))


def distinct_places(type_: Type, value: Any) -> tuple[Place, ...]:
    """The first place of every leaf."""
    found: dict[str, Place] = {}
    for place in places(type_, value):
        if place.key not in found or not found[place.key].is_there:
            found[place.key] = place
    return tuple(found.values())


def last_places(type_: Type, value: Any) -> tuple[Place, ...]:
    """The last place of every leaf that has several, where it has a value."""
    first = {place.key: place.path for place in distinct_places(type_, value)}
    last = {place.key: place for place in places(type_, value) if place.is_there}
    return tuple(place for place in last.values() if place.path != first[place.key])


def put(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """A copy of a native value with another value at a path, or nothing there for ABSENT; what is unchanged is shared.

    Raises KeyError or IndexError where the path leads nowhere.
    """
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        copy = dict(value)
        if not rest and new is ABSENT:
            copy.pop(step, None)
        else:
            copy[step] = put(value[step], rest, new) if rest else new
        return copy
    assert isinstance(step, int)
    items = list(value)
    if not rest and new is ABSENT:
        del items[step]
    elif isinstance(value, tuple):
        key, old = items[step]
        items[step] = (key, put(old, rest, new))
    else:
        items[step] = put(items[step], rest, new)
    return tuple(items) if isinstance(value, tuple) else items


def at(value: Any, path: Sequence[str | int]) -> Any:
    """The value at a path of a native value; raises KeyError or IndexError."""
    for step in path:
        value = value[step][1] if isinstance(value, tuple) and isinstance(step, int) else value[step]
    return value


def plain_map(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """A self-describing map in its native form: a dict where its keys are distinct texts, else the pairs."""
    texts = {key for key, _ in pairs if isinstance(key, str)}
    return dict(pairs) if len(texts) == len(pairs) else tuple(pairs)


def _each(holder: Place) -> Iterator[Place]:
    yield holder
    yield from _inside(holder)


def _inside(holder: Place) -> Iterator[Place]:
    value, type_ = holder.value, holder.type
    if value is ABSENT:
        return
    match type_:
        case Struct(fields):
            for member in fields:
                if not is_place(member.type):
                    inner = value.get(member.name, ABSENT)
                    if inner is not ABSENT or member.optional:
                        name = f"{holder.key}.{member.name}" if holder.key else member.name
                        yield from _each(
                            Place((*holder.path, member.name), name, member.type, inner, member.optional)
                        )
        case MapOf(item):
            for key in sorted(value):
                yield from _each(Place((*holder.path, key), f"{holder.key}.{EACH}", item, value[key], True))
        case ListOf(item):
            for k in _ends(len(value)):
                yield from _each(Place((*holder.path, k), f"{holder.key}.{EACH}", item, value[k], True))
        case Value():
            yield from _inside_value(holder)


def _inside_value(holder: Place) -> Iterator[Place]:
    value = holder.value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _each(Place((*holder.path, key), f"{holder.key}.{key}", holder.type, inner, True))
    elif isinstance(value, list | tuple):
        for k in _ends(len(value)):
            inner = value[k][1] if isinstance(value, tuple) else value[k]
            yield from _each(Place((*holder.path, k), f"{holder.key}.{EACH}", holder.type, inner, True))


def _ends(count: int) -> Sequence[int]:
    return range(count) if count <= 2 * _ENDS else (*range(_ENDS), *range(count - _ENDS, count))
