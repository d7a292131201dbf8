"""One place of an input changed at random: near the value there, or as the rest of the input suggests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import numpy as np

from conformance.codec.selfdescribing import plain_map
from conformance.contract.types import (
    FIXED_BYTES,
    INTEGER_RANGES,
    Enum,
    ListOf,
    MapOf,
    Scalar,
    Tensor,
    Type,
    Value,
)
from conformance.trial.fuzz.near_bytes import near_bytes
from conformance.trial.fuzz.seed import Vocabulary
from conformance.trial.generator import Native
from conformance.vectors.place import ABSENT, Place, degenerates, empty_value, put, texts

_SEEN: Final = 0.25  # share of changes that take the value of an example at the same leaf
_DEGENERATE: Final = 0.1
_LETTERS: Final = "ab zA0_-./\x01\x7f\u00e9\u0301\u20ac\ue000\uffff\U0001f600\U0010ffff"
_DELTAS: Final = (-2, -1, -1, 0, 0, 1, 1, 2)


def mutated(native: Native, random: Random, words: Vocabulary, tame: bool = False) -> Native:
    """The input with one place changed; the same state of `random` gives the same change.

    A guard refuses a `tame` change less often: no value is left out, and none changes its kind.
    """
    found: dict[str, list[Place]] = {}
    for place in words.inside.all(native):
        found.setdefault(place.key, []).append(place)
    if not found:
        return native
    place = random.choice(found[random.choice(list(found))])
    others = [one for some in found.values() for one in some if one.is_there]
    changed: Native = put(native, place.path, _Change(random, words, others, tame).of(place))
    return changed


class _Change:
    """The ways to change a value; `others` are the values elsewhere in the same input."""

    def __init__(self, random: Random, words: Vocabulary, others: Sequence[Place], tame: bool) -> None:
        self.random, self.words, self.others, self.tame = random, words, others, tame

    def of(self, place: Place) -> Any:
        """Another value for a place, or ABSENT; now and then the same again."""
        random = self.random
        if not place.is_there:
            seen = self.words.at(place.key)
            return (
                random.choice(seen) if seen and random.random() < 0.7 else self.changed(place, empty_value(place.type))
            )
        if self.tame:
            return self.changed(place, place.value)
        if place.optional and random.random() < 0.15:
            return ABSENT
        luck = random.random()
        if luck < _SEEN and (seen := self.words.at(place.key)):
            return random.choice(seen)
        if luck > 1 - _DEGENERATE and (odd := list(degenerates(place))):
            return random.choice(odd)
        return self.changed(place, place.value)

    def changed(self, place: Place, value: Any) -> Any:
        """Another value of the place's type, near `value`."""
        match place.type:
            case Scalar("bool"):
                return not value
            case Scalar("string"):
                return self.text(value)
            case Scalar("bytes"):
                return near_bytes(value, self.random, self.self_describing, self.tame)
            case Scalar(name) if name in INTEGER_RANGES:
                return self.integer(value, *INTEGER_RANGES[name])
            case Scalar(name) if name in FIXED_BYTES:
                return self.fixed(value)
            case Scalar(name):
                return self.number(value, name)
            case Enum(values):
                return self.random.choice(values)
            case ListOf(item):
                return self.listed(place, item, value)
            case MapOf(item):
                return self.mapped(place, item, value)
            case Tensor():
                return self.tensor(value)
            case Value():
                return self.self_describing(value, place.key)
        return value

    # -- numbers

    def integer(self, value: int, low: int, high: int) -> int:
        """A number beside this one, beside what the contract mentions, or related to another number of the input."""
        random = self.random
        step = random.choice(_DELTAS)
        match random.randrange(8):
            case 0 | 1:
                found = value + (step or 1)
            case 2 if self.words.numbers:
                found = random.choice(self.words.numbers) + step
            case 3 if others := self.integers():
                found = random.choice(others) + step
            case 4 if others := self.integers():
                found = random.choice(others) * random.choice((2, 3, random.choice(others))) + step
            case 5 if others := self.integers():
                found = random.choice(others) // max(1, random.choice((2, 3, abs(random.choice(others))))) + step
            case 6:
                found = (1 << random.randrange(high.bit_length() + 1)) + random.choice((*_DELTAS, 3, 10))
            case _:
                found = random.getrandbits(random.randrange(1, high.bit_length() + 1))
        if low < 0 and random.random() < 0.2:
            found = -found
        return found if low <= found <= high else random.choice((low, high, low + 1, high - 1))

    def integers(self) -> list[int]:
        return [one.value for one in self.others if type(one.value) is int]

    def number(self, value: float, name: str) -> float:
        random = self.random
        match random.randrange(4):
            case 0:
                return -value
            case 1:
                dtype = np.dtype(name).type
                with np.errstate(all="ignore"):
                    return float(np.nextafter(dtype(value), dtype(random.choice((-math.inf, math.inf)))))
            case 2:
                return float(np.dtype(name).type(random.choice((0.5, 2.0, 3.0, 0.1)) * random.randint(-20, 20)))
        bits = random.getrandbits(8 * np.dtype(name).itemsize)
        drawn = np.frombuffer(bits.to_bytes(np.dtype(name).itemsize, "little"), dtype=name)[0]
        return 0.0 if np.isnan(drawn) else float(drawn)

    # -- texts and bytes

    def text(self, value: str) -> str:
        """A text with one letter changed, one that is nearly equal, or a word of the contract or of the input."""
        random = self.random
        match random.randrange(6):
            case 0 if self.words.words:
                return random.choice(self.words.words)
            case 1 if others := [one.value for one in self.others if type(one.value) is str]:
                return str(random.choice(others))
            case 2:
                return random.choice(list(texts(value)))
        at, letter = random.randrange(len(value) + 1), random.choice(_LETTERS)
        kind = random.randrange(4)
        if kind == 0 and value:
            return value[:at] + value[at + 1 :]
        if kind == 1 and at < len(value):
            near = chr((ord(value[at]) + random.choice((-1, 1))) % 0x110000)
            return value[:at] + (letter if "\ud800" <= near <= "\udfff" else near) + value[at + 1 :]
        return value[:at] + letter + value[at + (kind == 2) :]

    def fixed(self, value: bytes) -> bytes:
        random = self.random
        others = [one.value for one in self.others if type(one.value) is bytes and len(one.value) == len(value)]
        match random.randrange(4):
            case 0 if others:
                return bytes(random.choice(others))
            case 1:
                return random.randbytes(len(value))
        at = random.randrange(len(value))
        return value[:at] + bytes([value[at] ^ 1 << random.randrange(8)]) + value[at + 1 :]

    # -- values with parts

    def listed(self, place: Place, item: Type, value: Sequence[Any]) -> list[Any]:
        random, items = self.random, list(value)
        at, other = random.randrange(len(items) + 1), random.randrange(len(items) + 1)
        kind = random.randrange(7)
        if kind == 0 and items:
            return items[:at] + items[at + 1 :]
        if kind == 1 and len(items) > 1:
            at, other = random.sample(range(len(items)), 2)
            items[at], items[other] = items[other], items[at]
            return items
        if kind == 2 and items:
            return [*items[:at], random.choice(items), *items[at:]]
        if kind == 3 and len(items) > 1:
            return items[::-1] if random.random() < 0.3 else items[min(at, other) : max(at, other) + 1]
        if kind == 4 and items:
            return [*items, *items[: random.randrange(1, 14)]]
        return [*items[:at], self.item(place, item, items), *items[at:]]

    def item(self, place: Place, item: Type, items: Sequence[Any]) -> Any:
        """One more item of a list or map."""
        key = f"{place.key}.*"
        seen = self.words.at(key) or items
        base = self.random.choice(list(seen)) if seen else empty_value(item)
        return self.changed(Place((), key, item, base), base) if self.random.random() < 0.6 else base

    def mapped(self, place: Place, item: Type, value: dict[str, Any]) -> dict[str, Any]:
        random = self.random
        keys = sorted(value)
        kind = random.randrange(5)
        if not keys or kind == 0:
            fresh = random.choice(keys) if keys else random.choice(("", "a", "k", *self.words.words))
            return {**value, self.text(fresh): self.item(place, item, [value[key] for key in keys])}
        key = random.choice(keys)
        if kind == 1:
            return {name: one for name, one in value.items() if name != key}
        if kind == 2:
            other = random.choice(keys)
            return {**value, key: value[other], other: value[key]}
        near = random.choice(list(texts(key))) if kind == 3 else self.text(key)
        kept = {name: one for name, one in value.items() if name != key or random.random() < 0.5}
        return {**kept, near: value[key]}

    def tensor(self, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        random = self.random
        kind = random.randrange(8)
        if kind == 0 and value.ndim and len(value):
            return value[:-1].copy()
        if kind == 1 and value.ndim and len(value):
            return np.concatenate([value, value[random.randrange(len(value)) :][:1]])
        if kind == 2 and value.ndim == 2:
            return np.ascontiguousarray(value.T)
        if not value.size:
            return value
        copy = value.copy()
        flat, at = copy.reshape(-1), random.randrange(value.size)
        if kind in (3, 4):
            other = random.randrange(value.size)
            flat[at], flat[other] = flat[other].copy(), flat[at].copy()
        elif value.dtype.kind == "b":
            flat[at] = not flat[at]
        elif value.dtype.kind == "f":
            flat[at] = self.number(float(flat[at]), value.dtype.name)
        else:
            flat[at] = self.integer(int(flat[at]), *INTEGER_RANGES[value.dtype.name])
        return copy

    def self_describing(self, value: Any, key: str = "") -> Any:
        """A self-describing value, near `value`; mostly of the same kind, so that it is looked into further."""
        random = self.random
        if self.tame or random.random() < 0.6:
            match value:
                case bool() | None:
                    return value
                case int() if not isinstance(value, bool):
                    return self.integer(value, 0, 2**64 - 1)
                case bytes() if value:
                    return self.fixed(value)
        place = Place((), key, Value(), value)
        match value:
            case bool() | None:
                return random.choice((None, False, True, 0, 1, "", b""))
            case int():
                return self.integer(value, -(2**64), 2**64 - 1)
            case float():
                return self.number(value, "float64")
            case str():
                return self.text(value)
            case bytes():
                return self.fixed(value) if value and random.random() < 0.6 else near_bytes(value, random, None)
            case list():
                return self.listed(place, Value(), value)
            case dict():
                return self.mapped(place, Value(), value)
        return self.pairs(list(value))

    def pairs(self, pairs: list[tuple[Any, Any]]) -> Any:
        """A map whose keys are no distinct texts, with one pair changed."""
        if not pairs:
            return {}
        at = self.random.randrange(len(pairs))
        key, value = pairs[at]
        changed = (key, self.self_describing(value))
        if self.random.random() < 0.5:
            changed = (self.self_describing(key), value)
        others = pairs[:at] + pairs[at + 1 :]
        return plain_map(self.random.choice((others, [*others, changed], [*pairs, pairs[at]], pairs[::-1])))
