"""Byte strings near another: a few bytes changed, or, where they are a CBOR item, a few parts of it.

A decoder refuses random bytes at the first byte. A change inside the item gets further: its heads stay valid, and a
digest of a changed part is computed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, islice
from random import Random
from typing import Any, Final

from conformance.codec.cbor import Float, IllFormed, Incomplete, decode, encode_canonical
from conformance.codec.selfdescribing import plain_map
from conformance.contract.canonical import HEAD_SIZES, argument_at, encode_item, head, long_head
from conformance.contract.types import Value
from conformance.contract.yaml.source import ValuePath
from conformance.trial.fuzz.seed import LONGEST
from conformance.vectors.place import ABSENT, Place, at, degenerates, distinct_places, places, put

Change = Callable[[Any], Any]
_LARGEST: Final = 1 << 17  # bytes that are read as an item
_SHOWN: Final = 6  # heads of an item that are spoilt one by one
_COUNTS: Final = (2**31, 2**63)  # announced, and negative in a signed number of their size
_NO_TEXT: Final = (b"\xed\xa0\x80", b"\xc0\x80", b"\xff", b"\xe2\x82")  # a surrogate, overlong, no text, cut off
_HASH: Final = 32
_AROUND: Final = 2  # parts before and after the middle of an item that are changed
_SLACK: Final = 4_000  # characters by which the heads around a part may change


def near_bytes(data: bytes, random: Random, change: Change | None, tame: bool = False) -> bytes:
    """Bytes near `data`. `change` changes one part of the CBOR item in them; None treats them as plain bytes.

    After a `tame` change an item is still a canonical item.
    """
    if change is not None and (tame or random.random() < 0.75):
        item = item_in(data)
        if item is not None:
            spoils = not tame and random.random() < 0.15
            return _refused_encoding(data, random) if spoils else _changed_item(item[0], random, change, tame)
    if not data:
        return random.randbytes(random.randrange(1, 4))
    place = random.randrange(len(data))
    match random.randrange(7):
        case 0:
            return data[:place] + data[place + 1 :]
        case 1:
            return data[:place] + random.randbytes(1) + data[place:]
        case 2:
            return data[:place]
        case 3:
            return data + random.choice((b"\0", b"\xff", data[-1:], data))
        case 4:
            return data[:place] + bytes([(data[place] + random.choice((-1, 1))) % 256]) + data[place + 1 :]
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def degenerate_items(data: bytes) -> Iterator[tuple[Place, Iterator[bytes]]]:
    """Where the bytes are a CBOR item: each part, and the same item with the degenerate values for that part."""
    if (item := item_in(data)) is not None:
        seals = cache(partial(_seals, item[0]))
        told = len(repr(data))
        for place in distinct_places(Value(), item[0]):
            if told > LONGEST and told - len(repr(_part(place))) > LONGEST + _SLACK:
                continue  # with any other value there, the item is too long to be asked
            yield place, _degenerates(item[0], place, seals)
        heads = islice(_heads(data), _SHOWN)
        spoilt = chain.from_iterable(_spoils(data, *one) for one in heads)
        yield Place((), "head", Value(), item[0]), spoilt


def middle_parts_changed(item: Any) -> Iterator[bytes]:
    """The bytes of an item with one of a few parts near its middle changed, to a part with as many bytes."""
    parts = [place for place in places(Value(), item) if not isinstance(place.value, dict | list | tuple)]
    middle = len(parts) // 2
    for place in parts[max(middle - _AROUND, 0) : middle + _AROUND]:
        size = len(encode_item(place.value))
        alike = (value for value in degenerates(place) if value is not ABSENT and len(encode_item(value)) == size)
        yield from (with_part(item, place.path, value) for value in islice(alike, 1))


def with_part(item: Any, path: ValuePath, value: Any) -> bytes:
    """The bytes of an item with another value at a path, and every digest of a part in it made right again."""
    return resealed(item, put(item, path, value))


def resealed(item: Any, changed: Any) -> bytes:
    """The bytes of a changed item, with every digest of a part made right again that was right before."""
    return _canonical(_sealed(_seals(item), changed))


def _part(place: Place) -> bytes:
    return encode_item(place.path[-1]) + (encode_item(place.value) if place.is_there else b"")


def _degenerates(item: Any, place: Place, seals: Callable[[], list[tuple[Place, ValuePath]]]) -> Iterator[bytes]:
    for value in degenerates(place):
        yield _canonical(_sealed(seals(), put(item, place.path, value)))


def item_in(data: bytes) -> list[Any] | None:
    """The self-describing value in the bytes, as a list of one item; None if they are not one."""
    if not data or len(data) > _LARGEST:
        return None
    try:
        item, end = decode(data)
        return [_plain(item)] if end == len(data) else None
    except (IllFormed, Incomplete, TypeError):
        return None


def _plain(item: Any) -> Any:
    match item:
        case None | bool() | int() | str() | bytes():
            return item
        case Float(width=8):
            return item.number
        case list():
            return [_plain(one) for one in item]
        case dict() | tuple():
            pairs = item.items() if isinstance(item, dict) else item
            return plain_map([(_plain(key), _plain(value)) for key, value in pairs])
    raise TypeError(f"{type(item).__name__} is no self-describing value")


def _changed_item(item: Any, random: Random, change: Change, tame: bool) -> bytes:
    inside = list(places(Value(), item))
    place = random.choice([*inside, Place((), "", Value(), item)])
    new = ABSENT if place.optional and not tame and random.random() < 0.15 else change(place.value)
    if not place.path:
        return encode_item(new)
    whole = put(item, place.path, new)
    whole = _sealed(_seals(item), whole)
    if tame or random.random() < 0.8:
        try:
            return encode_canonical(whole)
        except (TypeError, ValueError):
            pass
    return encode_item(whole)


def _seals(item: Any) -> list[tuple[Place, ValuePath]]:
    """The digests in an item of parts of it, each with the path of its part."""
    inside = [place for place in places(Value(), item) if place.is_there]
    seals = [place for place in inside if isinstance(place.value, bytes) and len(place.value) == _HASH]
    if not seals:
        return []
    parts = {hashlib.sha256(encode_item(place.value)).digest(): place.path for place in inside}
    return [(seal, parts[seal.value]) for seal in seals if seal.value in parts]


def _sealed(seals: Sequence[tuple[Place, ValuePath]], changed: Any) -> Any:
    """The changed item with every digest of one of its parts computed again."""
    for seal, part in seals:
        try:
            if at(changed, seal.path) == seal.value:
                changed = put(changed, seal.path, hashlib.sha256(_canonical(at(changed, part))).digest())
        except (KeyError, IndexError, TypeError):
            continue  # the change removed the seal, the part, or a container of either
    return changed


def _canonical(value: Any) -> bytes:
    try:
        return encode_canonical(value)
    except (TypeError, ValueError):
        return encode_item(value)


def _refused_encoding(data: bytes, random: Random) -> bytes:
    """The same item with one part that a strict reader refuses."""
    start, end, major, argument = random.choice(list(_heads(data)))
    return random.choice(_spoils(data, start, end, major, argument))


def _spoils(data: bytes, start: int, end: int, major: int, argument: int) -> list[bytes]:
    """The item with another head at one place: longer than needed, of indefinite length, of another kind, tagged."""
    before, rest = data[:start], data[end:]
    found = [before + b"\xc1" + data[start:], before + b"\xf7" + rest, before + b"\xf9\x7e\x00" + rest]
    found += [data + b"\0", data + b"\n"]
    if major == 7:
        return [*found, before + bytes([data[start] ^ 1]) + rest]
    found.append(before + long_head(major, argument, {1: 24, 2: 25, 3: 26}.get(end - start, 27)) + rest)
    found += [before + head(other, argument) + rest for other in (0, 1, 2, 3, 4, 5) if other != major]
    if major in (2, 3, 4, 5):
        found.append(before + bytes([major << 5 | 31]) + rest + b"\xff")
        found += [before + head(major, count) + rest for count in _COUNTS]
    if major in (4, 5):
        # What is wrong inside comes before the end that is missing.
        found += [before + head(major, count) + b"\xc1" + rest for count in _COUNTS]
    if major == 3:
        found += [before + head(3, argument + len(odd)) + odd + rest for odd in _NO_TEXT]
    return found


def _heads(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Start, end, major type and argument of every head of a well-formed item of definite lengths."""
    where = 0
    while where < len(data):
        major, argument = data[where] >> 5, argument_at(data, where)
        end = where + HEAD_SIZES[data[where] & 31]
        yield where, end, major, argument
        where = end + (argument if major in (2, 3) else 0)
