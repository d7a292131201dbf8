"""The leaves of a wire value: every place with one value, named alike in all values of a type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.contract.suggest import nearest
from conformance.contract.types import ListOf, MapOf, Scalar, Struct, Type, Value
from conformance.vectors.compact import is_marker


def is_reference(value: Any) -> bool:
    """Whether an earlier step's answer is meant."""
    return isinstance(value, Mapping) and value.keys() == {"from"} and isinstance(value["from"], str)


def is_root(value: Any) -> bool:
    """Whether a folder is meant that the harness makes."""
    return isinstance(value, Mapping) and value.keys() == {"root"} and isinstance(value["root"], str)


def is_damaged(value: Any) -> bool:
    """Whether damaged bytes of an earlier step's answer are meant."""
    return isinstance(value, Mapping) and value.keys() == {"damaged", "format", "edit"}


def is_placeholder(value: Any) -> bool:
    """Whether any of the three is meant."""
    return is_reference(value) or is_root(value) or is_damaged(value)


def reference(text: str, form: str = "", edit: str = "") -> dict[str, Any]:
    """The wire form of a reference to what an earlier step answered, damaged where a format is named."""
    return {"damaged": {"from": text}, "format": form, "edit": edit} if form else {"from": text}


def anywhere(value: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether a wire value, or any part of it, is a wanted one."""
    if wanted(value):
        return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(anywhere(part, wanted) for part in parts)


class UnknownPath(Exception):
    """A dotted path leads to nothing of the type; `hint` names what the type has instead."""

    def __init__(self, path: str, hint: str) -> None:
        super().__init__(path)
        self.path, self.hint = path, hint


def type_at(type_: Type, path: str) -> Type:
    """The type at a dotted path; map keys and list indices are steps too. Raises UnknownPath.

    What lies inside a self-describing value is one again, whatever its steps.
    """
    steps = path.split(".")
    for depth, step in enumerate(steps):
        match type_:
            case Struct():
                found = next((member.type for member in type_.fields if member.name == step), None)
                if found is None:
                    place = ".".join(steps[:depth]) or "the top"
                    known = [member.name for member in type_.fields]
                    raise UnknownPath(path, nearest(step, known, f"at {place} there are: {', '.join(known)}"))
                type_ = found
            case MapOf(item):
                type_ = item
            case ListOf(item) if step.isdigit():
                type_ = item
            case Value():
                return type_
            case _:
                raise UnknownPath(path, f"{'.'.join(steps[:depth])} is {type_}, which has no part {step!r}")
    return type_


def value_at(value: Any, path: str) -> Any:
    """The part of a wire or native value at a dotted path; raises KeyError where there is none."""
    for step in path.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (LookupError, TypeError, ValueError):
            raise KeyError(path) from None
    return value


def same_type(left: Type, right: Type) -> bool:
    """Whether two types have the same wire form: names and documentation of structs do not matter."""
    match left, right:
        case ListOf(a), ListOf(b):
            return same_type(a, b)
        case MapOf(a), MapOf(b):
            return same_type(a, b)
        case Struct(), Struct():
            theirs = {member.name: member.type for member in right.fields}
            return {member.name for member in left.fields} == theirs.keys() and all(
                same_type(member.type, theirs[member.name]) for member in left.fields
            )
    return left == right


def replaced(value: Any, path: str, part: Any) -> Any:
    """A copy of a wire value with another part at a dotted path; what is not on the path is shared."""
    step, _, rest = path.partition(".")
    if isinstance(value, list):
        copied = list(value)
        copied[int(step)] = replaced(value[int(step)], rest, part) if rest else part
        return copied
    return {**value, step: replaced(value.get(step, {}), rest, part) if rest else part}


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
    """The presence of a member that may be absent; its place is the struct, `name` is the member."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Spot:
    """One occurrence of a leaf: its place, its type, its value, and the steps that lead to it."""

    place: str
    type: Type | Optional
    value: Any
    steps: tuple[str | int, ...]


def spots(type_: Type, wire: Any) -> Iterator[Spot]:
    """Every leaf occurrence of a wire value. Lists and maps are leaves too, and so are their items.

    A marker of a long list, text or tensor is not entered.
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
