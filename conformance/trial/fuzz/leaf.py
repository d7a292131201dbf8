"""The places of an input that can be changed one at a time, and the values worth trying there."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

from conformance.contract.model import Contract
from conformance.contract.types import (
    FIXED_BYTES,
    INTEGER_RANGES,
    Enum,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Tensor,
    Type,
)

Path = tuple[str, ...]
EACH: Final = "*"  # stands in a path for any key of a map
ABSENT: Final = object()
_LITERAL = re.compile(r"(?<![\w.\"'])(\d+)u?\b")
_TEXT = re.compile(r"[\"']([^\"']*)[\"']")
# One to four bytes in UTF-8, a combining and a private character; a range over all of Unicode takes 3 s to build. NUL
# stays out, since text with it cannot be judged.
_CHARACTERS: Final = st.sampled_from("ab zA0_-./\x01\x7f\u00e9\u0301\u20ac\ue000\uffff\U0001f600\U0010ffff")
_MAGNITUDES: Final = (16, 1 << 8, 1 << 16, 1 << 32)  # a number drawn from all of uint64 is never a likely size
_LONGEST: Final = 6  # elements of a generated list or map; longer ones come from the frozen cases


@dataclass(frozen=True, slots=True)
class Leaf:
    """A path through structs and maps, the type there, and a strategy for native values (ABSENT where allowed)."""

    path: Path
    type: Type
    values: Any = field(repr=False)
    optional: bool = False


def leaves_of(contract: Contract, seeds: Sequence[Mapping[str, Any]]) -> tuple[Leaf, ...]:
    """Every place of the contract's inputs, with strategies that favour what guards and frozen cases mention."""
    maker = _Maker(contract, seeds)
    return tuple(maker.leaves(contract.inputs, (), list(seeds)))


def values_at(native: Any, path: Path) -> Iterator[Any]:
    """Every value at a path of a native input."""
    if not path:
        yield native
    elif isinstance(native, dict):
        for key in native if path[0] == EACH else [path[0]]:
            if key in native:
                yield from values_at(native[key], path[1:])


def changed(native: dict[str, Any], leaf: Leaf, draw: Any) -> dict[str, Any] | None:
    """A copy of an input with another value at a leaf; None where the leaf's holder is not there."""
    whole = copy.deepcopy(native)
    holder: Any = whole
    for step in leaf.path[:-1]:
        key = draw(st.sampled_from(sorted(holder))) if step == EACH and holder else step
        if not isinstance(holder, dict) or key not in holder:
            return None
        holder = holder[key]
    last = leaf.path[-1]
    if last == EACH:
        if not holder:
            return None
        last = draw(st.sampled_from(sorted(holder)))
    value = draw(leaf.values)
    if value is ABSENT:
        holder.pop(last, None)
    else:
        holder[last] = value
    return whole


class _Maker:
    def __init__(self, contract: Contract, seeds: Sequence[Mapping[str, Any]]) -> None:
        texts = [clause.expression.text for clause in contract.requires]
        texts += [let.expression.text for let in contract.environment.lets]
        texts += [expression.text for expression in contract.domain]
        texts += [edge.when.text for edge in contract.edge_cases]
        self.numbers = sorted({int(number) for text in texts for number in _LITERAL.findall(text)})
        self.words = sorted({word for text in texts for word in _TEXT.findall(text)})
        self.seeds = seeds

    def leaves(self, type_: Type, path: Path, seen: list[Any], optional: bool = False) -> Iterator[Leaf]:
        if isinstance(type_, Struct):
            if optional:
                yield self.leaf(type_, path, seen, optional)
            for member in type_.fields:
                inside = [one[member.name] for one in seen if isinstance(one, dict) and member.name in one]
                yield from self.leaves(member.type, (*path, member.name), inside, member.optional)
            return
        yield self.leaf(type_, path, seen, optional)
        if isinstance(type_, MapOf):
            items = [item for one in seen if isinstance(one, dict) for item in one.values()]
            yield from self.leaves(type_.item, (*path, EACH), items)

    def leaf(self, type_: Type, path: Path, seen: list[Any], optional: bool) -> Leaf:
        values = self.values(type_, seen)
        return Leaf(path, type_, st.one_of(values, st.just(ABSENT)) if optional else values, optional)

    def values(self, type_: Type, seen: Sequence[Any]) -> Any:
        known = _distinct(seen)
        generated = self.generated(type_, known)
        return st.one_of(st.sampled_from(known), generated) if known else generated

    def generated(self, type_: Type, known: Sequence[Any]) -> Any:
        match type_:
            case Scalar("bool"):
                return st.booleans()
            case Scalar("string"):
                words = st.sampled_from(self.words) if self.words else st.nothing()
                return st.one_of(words, st.text(_CHARACTERS, max_size=8))
            case Scalar(name) if name in INTEGER_RANGES:
                return self.integers(name, [value for value in known if isinstance(value, int)])
            case Scalar(name) if name in FIXED_BYTES:
                return st.binary(min_size=FIXED_BYTES[name], max_size=FIXED_BYTES[name])
            case Scalar("bytes"):
                return st.one_of(st.binary(max_size=40), _damaged([value for value in known if value]))
            case Scalar(name):
                return _FLOATS[name]
            case Enum(values):
                return st.sampled_from(values)
            case ListOf(item):
                parts = [part for one in known for part in one]
                return st.lists(self.values(item, parts), max_size=_LONGEST)
            case MapOf(item):
                keys = _distinct([key for one in known for key in one])
                parts = [part for one in known for part in one.values()]
                fresh = st.text(_CHARACTERS, max_size=4)
                names = st.one_of(st.sampled_from(keys), fresh) if keys else fresh
                return st.dictionaries(names, self.values(item, parts), max_size=_LONGEST)
            case Struct():
                return self.struct(type_, known)
            case Tensor():
                return st.sampled_from(known) if known else st.nothing()
        return _SELF_DESCRIBING

    def integers(self, name: str, known: Sequence[int]) -> Any:
        low, high = INTEGER_RANGES[name]
        near = {n + d for n in (*self.numbers, *known, low, high) for d in (-1, 0, 1) if low <= n + d <= high}
        magnitudes = [limit for limit in _MAGNITUDES if limit < high]
        ranges = [st.integers(max(low, -limit), limit) for limit in magnitudes]
        return st.one_of(*ranges, st.sampled_from(sorted(near)), st.integers(low, high))

    def struct(self, struct: Struct, known: Sequence[Any]) -> Any:
        required: dict[str, Any] = {}
        optional: dict[str, Any] = {}
        for member in struct.fields:
            seen = [one[member.name] for one in known if member.name in one]
            (optional if member.optional else required)[member.name] = self.values(member.type, seen)
        return st.fixed_dictionaries(required, optional=optional)


def _distinct(values: Sequence[Any], most: int = 64) -> list[Any]:
    """Distinct values in their first order; the shortest first, so that shrinking goes towards them."""
    found = {repr(value): value for value in values}
    return [found[key] for key in sorted(found, key=lambda text: (len(text), text))][:most]


def _damaged(known: Sequence[bytes]) -> Any:
    if not known:
        return st.nothing()

    def damage(original: bytes, place: int, kind: str, byte: int) -> bytes:
        at = place % len(original)
        if kind == "replace":
            return original[:at] + bytes([byte]) + original[at + 1 :]
        return original[:at] + bytes([byte]) + original[at:] if kind == "insert" else original[:at] + original[at + 1 :]

    kinds = st.sampled_from(["replace", "insert", "delete"])
    return st.builds(damage, st.sampled_from(list(known)), st.integers(0, 2**16), kinds, st.integers(0, 255))


_FLOATS: Final = {
    "float16": st.floats(width=16, allow_nan=False),
    "float32": st.floats(width=32, allow_nan=False),
    "float64": st.floats(width=64, allow_nan=False),
}
_SELF_DESCRIBING: Final = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**64), 2**64 - 1),
        st.floats(allow_nan=False),
        st.text(_CHARACTERS, max_size=6),
        st.binary(max_size=6),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(_CHARACTERS, max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
