"""Finds the leaves of a wire value, which have the same names in all values of a type, and changes or turns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

from conformance.codec.scalar import WIDE
from conformance.contract.suggest import nearest
from conformance.contract.types import INTEGER_RANGES, ListOf, MapOf, Scalar, Struct, Type, Value
from conformance.vectors.compact import MARK, is_marker, is_recipe, recipe


def is_reference(value: Any) -> bool:
    """Whether a wire value is a reference to an earlier step's answer."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("from"), str)


def is_root(value: Any) -> bool:
    """Whether a wire value represents a folder that the harness makes."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("root"), str)


def named_roots(inputs: Mapping[str, Any]) -> set[str]:
    """The names of the roots that the inputs of a call have."""
    return {value["root"] for value in inputs.values() if is_root(value)}


def is_damaged(value: Any) -> bool:
    """Whether a wire value represents damaged bytes of an earlier step's answer."""
    return isinstance(value, dict) and len(value) == 3 and value.keys() == {"damaged", "format", "edit"}


def is_placeholder(value: Any) -> bool:
    """Whether a wire value is a reference, a root or damaged bytes."""
    return is_reference(value) or is_root(value) or is_damaged(value)


def reference(text: str, form: str = "", edit: str = "") -> dict[str, Any]:
    """The wire form of a reference to an earlier step's answer, damaged if a format is named."""
    return {"damaged": {"from": text}, "format": form, "edit": edit} if form else {"from": text}


def contains_value(value: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether a wire value, or any part of it, is a wanted one."""
    if wanted(value):
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(contains_value(part, wanted) for part in parts)


class UnknownPath(Exception):
    """A dotted path leads to nothing of the type; `hint` names what the type has instead."""

    def __init__(self, path: str, hint: str) -> None:
        super().__init__(path)
        self.path, self.hint = path, hint


def type_at(type_: Type, path: str) -> Type:
    """The type at a dotted path; map keys and list indices are steps too. Raises UnknownPath.

    Every part of a self-describing value is self-describing too.
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
    """The part of a wire or native value at a dotted path; raises KeyError if there is none."""
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
    """A copy of a wire value with another part at a dotted path; parts off the path are shared."""
    step, _, rest = path.partition(".")
    if isinstance(value, list):
        copied = list(value)
        copied[int(step)] = replaced(value[int(step)], rest, part) if rest else part
        return copied
    return {**value, step: replaced(value.get(step, {}), rest, part) if rest else part}


INTEGER: Final = Scalar("integer")  # an integer of any size inside a self-describing value
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
class LeafOccurrence:
    """One occurrence of a leaf: its place, its type, its value, and the steps that lead to it."""

    place: str
    type: Type | Optional
    value: Any
    steps: tuple[str | int, ...]


def spots(
    type_: Type, wire: Any, place: str = "", steps: tuple[str | int, ...] = ()
) -> Iterator[LeafOccurrence]:
    """Every leaf occurrence of a wire value. Lists and maps are leaves too, and so are their items.

    A marker of a long list, text or tensor is not entered. `place` and `steps` lead to the value.
    """
    match type_:
        case _ if is_marker(wire) or is_placeholder(wire):
            yield LeafOccurrence(place, type_, wire, steps)
        case Struct():
            for member in type_.fields:
                here = f"{place}.{member.name}" if place else member.name
                if member.optional:
                    yield LeafOccurrence(f"{here}?", Optional(member.name, member.type), wire, steps)
                if member.name in wire and not member.volatile:
                    yield from spots(member.type, wire[member.name], here, (*steps, member.name))
        case ListOf(item):
            yield LeafOccurrence(place, type_, wire, steps)
            if isinstance(wire, list):
                for k, element in enumerate(wire):
                    yield from spots(item, element, f"{place}[]", (*steps, k))
        case MapOf(item) if isinstance(wire, dict):
            yield LeafOccurrence(place, type_, wire, steps)
            yield LeafOccurrence(f"{place}{{key}}", KEY, wire, steps)
            for key, element in wire.items():
                yield from spots(item, element, f"{place}{{}}", (*steps, key))
        case Value():
            yield from _inside(wire, place, steps, 0)
        case _:
            yield LeafOccurrence(place, type_, wire, steps)


def _inside(wire: Any, place: str, steps: tuple[str | int, ...], depth: int) -> Iterator[LeafOccurrence]:
    if not isinstance(wire, dict) or len(wire) != 1 or depth > _DEEPEST:
        return
    ((kind, part),) = wire.items()
    if kind not in _KINDS:
        return
    yield LeafOccurrence(f"{place}~{kind}", _KINDS[kind], part, (*steps, kind))
    if kind == "map" and isinstance(part, list):
        yield LeafOccurrence(f"{place}~{{key}}", KEY, part, (*steps, kind))
        for k, (key, item) in enumerate(part):
            name = key.get("text") if isinstance(key, dict) else None
            step = f".{name}" if isinstance(name, str) and name.isidentifier() else "{}"
            yield from _inside(item, f"{place}{step}", (*steps, kind, k, 1), depth + 1)
    elif kind == "array" and isinstance(part, list):
        for k, item in enumerate(part):
            yield from _inside(item, f"{place}[]", (*steps, kind, k), depth + 1)


def rewritten(type_: Type, wire: Any, place: str, change: Callable[[Any], Any]) -> Any:
    """The wire value with `change` applied wherever the leaf `place` occurs; the value itself if nothing changes."""
    leaves = ((spot, change(spot.value)) for spot in spots(type_, wire) if spot.place == place)
    changes = [(spot.steps, new) for spot, new in leaves if new != spot.value]
    return changed(wire, changes)


def put(value: Any, steps: Sequence[str | int], part: Any) -> Any:
    """A copy of a wire value with another part at the end of some steps; parts off the path are shared."""
    return changed(value, [(steps, part)])


def changed(value: Any, changes: Iterable[tuple[Sequence[str | int], Any]]) -> Any:
    """A copy of a wire value with other parts at some paths; parts on none of the paths are shared.

    Raises LookupError or TypeError where a path leads nowhere.
    """
    below: dict[str | int, list[tuple[Sequence[str | int], Any]]] = {}
    for path, part in changes:
        if not path:
            return part
        below.setdefault(path[0], []).append((path[1:], part))
    if not below:
        return value
    # Each container is copied once: to copy the path to each of 65,537 items would take hours.
    copied: Any = list(value) if isinstance(value, list) else dict(value)
    for step, some in below.items():
        copied[step] = changed(value[step], some)
    return copied


_ANY: Final = (-(2**63), 2**64 - 1)  # of an integer inside a self-describing value
_LONGEST: Final = 5_000  # letters, bytes or items that are turned
_LEAST: Final = 300  # even a short value is turned up to this length
_STEPS: Final = (-11, -4, -3, -2, -1, 1, 2, 3, 4, 11)  # limits are off by one, two, three or ten
_GROWN: Final = ("text", "noise", "numbers", "list")  # recipes whose count is a length
_POWERS: Final = (4, 7, 8, 15, 16, 24, 31, 32, 48, 53, 62, 63)
_LENGTHS: Final = (0, 1, 3, 8, 16, 31, 32, 33, 64, 128, 255, 256, 257)


@dataclass(frozen=True, slots=True)
class LeafRange:
    """The dial of a leaf; `now` is its value or length, `low` and `high` its bounds."""

    spot: LeafOccurrence
    now: int
    low: int
    high: int
    counts: bool  # whether the dial turns a length, not a number

    def value(self, place: int) -> Any:
        """The wire value of the leaf with the dial at a place."""
        if is_recipe(self.spot.value):
            body = {name: part for name, part in self.spot.value[MARK].items() if name != "sha256"}
            return recipe(**{**body, "count": place})
        if not self.counts:
            return str(place) if isinstance(self.spot.value, str) else place
        match self.spot.type:
            case Scalar("bytes"):
                return "".join(islice(cycle(_pairs(self.spot.value) or ["00"]), place))
            case Scalar():
                return "".join(islice(cycle(self.spot.value or "a"), place))
        return list(islice(cycle(self.spot.value), place))

    def places(self) -> list[int]:
        """The first places to try: near its value, the ends, and common limits of programs; nearest first."""
        now = self.now
        found = {self.low, self.high, 2 * now, now // 2, 0, 1, *(now + step for step in _STEPS)}
        if not is_recipe(self.spot.value):
            found |= {*_LENGTHS} if self.counts else {-1, now + 100, *(2**power for power in _POWERS)}
        inside = [place for place in found - {now} if self.low <= place <= self.high]
        return sorted(inside, key=lambda place: (abs(place - now), place))


def dial_of(spot: LeafOccurrence) -> LeafRange | None:
    """The dial of a leaf occurrence; None where it has none."""
    value = spot.value
    if is_recipe(value):
        body = value[MARK]
        count = int(body["count"])
        return LeafRange(spot, count, 0, 2 * count, counts=True) if body["generator"] in _GROWN else None
    match spot.type:
        case Scalar(name) if name in INTEGER_RANGES or name == "integer":
            low, high = INTEGER_RANGES.get(name, _ANY)
            if (name in (*WIDE, "integer") and isinstance(value, str)) or type(value) is int:
                return LeafRange(spot, int(value), low, high, counts=False)
        case Scalar("bytes") if isinstance(value, str) and len(value) <= 2 * _LONGEST:
            return LeafRange(spot, len(value) // 2, 0, _next_length(len(value) // 2), counts=True)
        case Scalar("string") if isinstance(value, str) and len(value) <= _LONGEST:
            return LeafRange(spot, len(value), 0, _next_length(len(value)), counts=True)
        case ListOf() if isinstance(value, list) and 0 < len(value) <= _LONGEST:
            return LeafRange(spot, len(value), 0, _next_length(len(value)), counts=True)
    return None


def _next_length(length: int) -> int:
    return max(_LEAST, 2 * length)


def beside(spot: LeafOccurrence) -> Iterator[Any]:
    """Values that differ from a leaf's own value in one part, besides those of its dial."""
    value = spot.value
    match spot.type:
        case Scalar("bool"):
            yield not value
        case Scalar("string") if isinstance(value, str):
            yield from (value.swapcase(), value[1:], value[::-1], f"{value} ", f"{value}\u00e9", value.replace("_", ""))
        case Scalar(name) if isinstance(value, str) and name.startswith("bytes"):
            yield from _flipped(value)
        case ListOf() if isinstance(value, list):
            yield from (value[1:], value[::-1], [*value, *value[:1]], [*value[1:2], *value[:1], *value[2:]])
    if isinstance(value, dict) and not isinstance(spot.type, Scalar):
        for name in list(value)[:4]:
            yield {key: one for key, one in value.items() if key != name}


def _pairs(text: str) -> list[str]:
    return [text[k : k + 2] for k in range(0, len(text), 2)]


def _flipped(text: str) -> Iterator[str]:
    """The bytes with one bit of one byte flipped: each byte of a digest, only the ends of a longer text."""
    size = len(text) // 2
    for at in range(size) if size <= 32 else (*range(9), size // 2, *range(size - 9, size)):
        for bit in (0, 7) if at in (0, size - 1) else (at % 8,):
            changed = int(text[2 * at : 2 * at + 2], 16) ^ 1 << bit
            yield f"{text[: 2 * at]}{changed:02x}{text[2 * at + 2 :]}"


def with_texts(value: Any, changed: Callable[[str], Any], keys: bool = False) -> Any:
    """A wire value with other texts; the keys of its maps are changed as well if `keys`."""
    match value:
        case str():
            return changed(value)
        case dict():
            parts = ((with_texts(key, changed) if keys else key, part) for key, part in value.items())
            return {key: with_texts(part, changed, keys) for key, part in parts}
        case list():
            return [with_texts(part, changed, keys) for part in value]
    return value
