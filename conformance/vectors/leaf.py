"""The leaves of a wire value: every place where one value stands, named alike in all values of a type.

A place is a dotted path in which `[]` is every item of a list, `{}` every item of a map and `{key}` the keys of a map.
Inside a self-describing value a text key is a step of its own, so that each field of a header is a leaf; what a place
holds there is a type of its own too: text, integer, float, bytes, array or map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.contract.types import ListOf, MapOf, Scalar, Struct, Type, Value
from conformance.vectors.compact import is_marker
from conformance.vectors.placeholder import is_placeholder

INTEGER: Final = Scalar("integer")  # of a self-describing value: of any size
KEY: Final = Scalar("key")
_DEEPEST: Final = 5  # steps into a self-describing value; below that, its parts are no leaves
_KINDS: Final[Mapping[str, Type]] = {
    "text": Scalar("string"),
    "int": INTEGER,
    "float": Scalar("float64"),
    "bytes": Scalar("bytes"),
    "array": ListOf(Value()),
    "map": MapOf(Value()),
}


@dataclass(frozen=True, slots=True)
class Optional:
    """The presence of a member that may be absent; stands at the struct, `name` is the member."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Spot:
    """One occurrence of a leaf: its place, what it is, what stands there, and the steps that lead to it."""

    place: str
    type: Type | Optional
    value: Any
    steps: tuple[str | int, ...]


def spots(type_: Type, wire: Any) -> Iterator[Spot]:
    """Every leaf occurrence of a wire value. Lists and maps are leaves too, and so are their items.

    A marker that stands for a long list, text or tensor is not entered.
    """
    return _spots(type_, wire, "", ())


def _spots(type_: Type, wire: Any, place: str, steps: tuple[str | int, ...]) -> Iterator[Spot]:
    match type_:
        case _ if is_marker(wire) or is_placeholder(wire):
            yield Spot(place, type_, wire, steps)
        case Struct():
            for member in type_.fields:
                here = f"{place}.{member.name}" if place else member.name
                if member.optional:
                    yield Spot(f"{here}?", Optional(member.name, member.type), wire, steps)
                if member.name in wire and not member.volatile:
                    yield from _spots(member.type, wire[member.name], here, (*steps, member.name))
        case ListOf(item):
            yield Spot(place, type_, wire, steps)
            if isinstance(wire, list):
                for k, element in enumerate(wire):
                    yield from _spots(item, element, f"{place}[]", (*steps, k))
        case MapOf(item) if isinstance(wire, Mapping):
            yield Spot(place, type_, wire, steps)
            yield Spot(f"{place}{{key}}", KEY, wire, steps)
            for key, element in wire.items():
                yield from _spots(item, element, f"{place}{{}}", (*steps, key))
        case Value():
            yield from _inside(wire, place, steps, 0)
        case _:
            yield Spot(place, type_, wire, steps)


def _inside(wire: Any, place: str, steps: tuple[str | int, ...], depth: int) -> Iterator[Spot]:
    if not isinstance(wire, Mapping) or len(wire) != 1 or depth > _DEEPEST:
        return
    ((kind, part),) = wire.items()
    if kind not in _KINDS:
        return
    yield Spot(f"{place}~{kind}", _KINDS[kind], part, (*steps, kind))
    if kind == "map" and isinstance(part, list):
        yield Spot(f"{place}~{{key}}", KEY, part, (*steps, kind))
        for k, (key, item) in enumerate(part):
            name = key.get("text") if isinstance(key, Mapping) else None
            step = f".{name}" if isinstance(name, str) and name.isidentifier() else "{}"
            yield from _inside(item, f"{place}{step}", (*steps, kind, k, 1), depth + 1)
    elif kind == "array" and isinstance(part, list):
        for k, item in enumerate(part):
            yield from _inside(item, f"{place}[]", (*steps, kind, k), depth + 1)


def rewritten(type_: Type, wire: Any, place: str, change: Callable[[Any], Any]) -> Any:
    """The wire value with `change` made wherever the leaf `place` occurs; the value itself where nothing changes."""
    leaves = ((spot, change(spot.value)) for spot in spots(type_, wire) if spot.place == place)
    changes = [(spot.steps, new) for spot, new in leaves if new != spot.value]
    return changed(wire, changes)


def put(value: Any, steps: Sequence[str | int], part: Any) -> Any:
    """A copy of a wire value with another part at some steps; what is not on the way is shared."""
    return changed(value, [(steps, part)])


def changed(value: Any, changes: Iterable[tuple[Sequence[str | int], Any]]) -> Any:
    """A copy of a wire value with other parts at some paths; what is on none of the ways is shared.

    Raises LookupError or TypeError where a path leads nowhere.
    """
    below: dict[str | int, list[tuple[Sequence[str | int], Any]]] = {}
    for path, part in changes:
        if not path:
            return part
        below.setdefault(path[0], []).append((path[1:], part))
    if not below:
        return value
    # Each container is copied once: a copy of the way to each of 65,537 items would take hours.
    copied: Any = list(value) if isinstance(value, list) else dict(value)
    for step, some in below.items():
        copied[step] = changed(value[step], some)
    return copied
