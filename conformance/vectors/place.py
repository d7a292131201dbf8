"""The places of an input: every value in it that can be changed alone, with its type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from conformance.contract.types import ListOf, MapOf, Scalar, Struct, Type, Value, is_place

ABSENT: Final = object()  # in place of a value: there is none
EACH: Final = "*"  # in a leaf's name: any key of a map, any place of a list
_ENDS: Final = 8  # elements of a list that are places, at each end
Path = tuple[str | int, ...]


class Place(NamedTuple):  # not a dataclass, which takes twice the time to make: a run makes half a million
    """One place: its path, the leaf of the type that it belongs to, and its value.

    A number in a path is a place in a list, or of a pair in a map of pairs. `key` is the path of the type, in which all
    elements of a list and all keys of a map are one; the names inside a self-describing value stay apart.
    """

    path: Path
    key: str
    type: Type
    value: Any
    optional: bool = False

    @property
    def is_there(self) -> bool:
        """Whether there is a value."""
        return self.value is not ABSENT


def places(type_: Type, value: Any) -> Iterator[Place]:
    """Every place of a native value but the whole, containers before their parts."""
    found: list[Place] = []
    _collect(Place((), "", type_, value), found)
    return iter(found)


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


def _collect(holder: Place, found: list[Place]) -> None:
    for step, name, type_, value, optional in _parts(holder.type, holder.value):
        place = Place((*holder.path, step), f"{holder.key}.{name}" if holder.key else name, type_, value, optional)
        found.append(place)
        if not isinstance(type_, Scalar) and value is not ABSENT:
            _collect(place, found)


def _parts(type_: Type, value: Any) -> Sequence[tuple[str | int, str, Type, Any, bool]]:
    """The parts of a value: the step to each, its step in the key, type, value, and whether it may be absent."""
    match type_:
        case Struct(fields):
            return [
                (member.name, member.name, member.type, value.get(member.name, ABSENT), member.optional)
                for member in fields
                if (member.optional or member.name in value) and not is_place(member.type)
            ]
        case MapOf(item):
            return [(key, EACH, item, value[key], True) for key in sorted(value)]
        case ListOf(item):
            return [(k, EACH, item, value[k], True) for k in _ends(len(value))]
        case Value() if isinstance(value, dict):
            return [(key, key, type_, inner, True) for key, inner in value.items()]
        case Value() if isinstance(value, list | tuple):
            parts = [pair[1] for pair in value] if isinstance(value, tuple) else value
            return [(k, EACH, type_, parts[k], True) for k in _ends(len(value))]
    return ()


def _ends(count: int) -> Sequence[int]:
    return range(count) if count <= 2 * _ENDS else (*range(_ENDS), *range(count - _ENDS, count))
