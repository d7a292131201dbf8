"""Texts in the form of a version, MAJOR.MINOR.PATCH: around every version that examples mention, one part at a time.

This finds operators that compare whole versions where only one part counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from conformance.contract.types import Value
from conformance.trial.fuzz.near_bytes import item_in, with_part
from conformance.trial.fuzz.seed import Places
from conformance.trial.generator import Native
from conformance.vectors.place import Path, Place, distinct_places, put

_VERSION: Final = re.compile(r"(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})", re.ASCII)
_STEPS: Final = (1, -1, 2, 10)
_LARGEST: Final = 4_000  # bytes of an item that is looked into
Leaf = tuple[Place, Path | None]  # inside bytes, the path of the part


def is_version(value: Any) -> bool:
    """Whether a value is a text of three numbers with dots between them."""
    return isinstance(value, str) and _VERSION.fullmatch(value) is not None


def near_versions(known: Iterable[str]) -> list[str]:
    """Every known version, and those with one of its parts a little greater or less, each once."""
    found: dict[str, None] = {}
    for version in known:
        parts = [int(part) for part in version.split(".")]
        found[version] = None
        for step in _STEPS:
            for k in (2, 1, 0):
                if parts[k] + step >= 0:
                    found[".".join(str(part + step * (n == k)) for n, part in enumerate(parts))] = None
    return list(found)


def versions(inside: Places, natives: Iterable[Native], words: Iterable[str]) -> Iterator[Native]:
    """For every leaf that is a version, in an input or a CBOR item in its bytes, the first input that has it with
    every near version there; every digest of a part of the item is right again.

    The known versions are those at the leaf in any of the inputs, and those among `words`.
    """
    first: dict[str, tuple[Native, Leaf]] = {}
    known: dict[str, dict[str, None]] = {}
    named = [word for word in words if is_version(word)]
    for native in natives:
        for name, leaf, version in _leaves(inside, native):
            first.setdefault(name, (native, leaf))
            known.setdefault(name, dict.fromkeys(named))[version] = None
    for name, (native, (place, path)) in first.items():
        for version in near_versions(known[name]):
            if path is None:
                yield put(native, place.path, version)
            else:
                found = item_in(place.value)
                assert found is not None
                yield put(native, place.path, with_part(found[0], path, version))


def _leaves(inside: Places, native: Native) -> Iterator[tuple[str, Leaf, str]]:
    for place in inside.first(native):
        if is_version(place.value):
            yield place.key, (place, None), place.value
        if type(place.value) is bytes and len(place.value) <= _LARGEST and (item := item_in(place.value)) is not None:
            for part in distinct_places(Value(), item[0]):
                if is_version(part.value):
                    yield f"{place.key}/{part.key}", (place, part.path), part.value
