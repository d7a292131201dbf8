"""One file of a machine taken apart: a source for the machine as a whole, and one for each method, worded as contracts.

Every value keeps the position that it has in the file, so that a mistake is still reported where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.contract.machine import OPEN_HANDLE
from conformance.contract.position import Path, Position
from conformance.contract.source import Source

_COMMON: Final = ("version", "purpose", "source", "equivalence", "purity", "confirmed_by", "failure", "rng", "calls")
_WHOLE: Final = ("state", "invariants", "laws", "vectors", "workloads", "given", "own_roots")
_ABSENT: Final[Mapping[str, Any]] = {"requires": [], "ordering": {}, "vectors": []}


def parts_of(source: Source) -> tuple[Source, ...]:
    """The machine's own source, then its methods' in the order of the file."""
    return (_whole(source), *(_method(source, name) for name in source.value["operations"]))


def _whole(source: Source) -> Source:
    body = source.value
    value: dict[str, Any] = {"contract": body["machine"], "methods": list(body["operations"])}
    places: dict[Path, Path] = {("contract",): ("machine",), ("methods",): ("operations",)}
    for key in (*_COMMON, *_WHOLE):
        if key in body:
            value[key], places[(key,)] = body[key], (key,)
    for key in ("inputs", "outputs"):
        value[key] = {}
    if "handle" in body:
        value["handle"], places[("handle",)] = body["handle"], ("handle",)
    return _part(source, {**_ABSENT, "confirmed_by": [], **value}, places)


def _method(source: Source, name: str) -> Source:
    body, own = source.value, source.value["operations"][name]
    here: Path = ("operations", name)
    value: dict[str, Any] = {"contract": f"{body['machine']}.{name}"}
    places: dict[Path, Path] = {("contract",): here}
    for key in _COMMON:
        if key in body and key not in own:
            value[key], places[(key,)] = body[key], (key,)
    for key, part in own.items():
        value[key], places[(key,)] = part, (*here, key)
    guards = list(own.get("requires", ()))
    if not own.get("opens") or _takes(own):
        guard = {"id": OPEN_HANDLE, "that": "has_state", **body.get("handle", {})}
        places |= {("requires", k + 1): (*here, "requires", k) for k in range(len(guards))}
        places[("requires",)] = places[("requires", 0)] = ("handle",)
        guards = [guard, *guards]
    value["requires"] = guards
    return _part(source, {**_ABSENT, "confirmed_by": [], "state": "none", **value}, places)


def _takes(own: Mapping[str, Any]) -> bool:
    return any(isinstance(one, dict) and one.get("type") == "handle" for one in own.get("inputs", {}).values())


def _part(source: Source, value: Mapping[str, Any], places: Mapping[Path, Path]) -> Source:
    """A source whose values stand at `places`, new path to old, with everything below them."""
    values: dict[Path, Position] = {(): source.at(places[("contract",)])}
    keys: dict[Path, Position] = {}
    by_old: dict[Path, list[Path]] = {}
    for new, old in places.items():
        by_old.setdefault(old, []).append(new)
    longest = max(map(len, by_old))
    for found, known in ((values, source.values), (keys, source.keys)):
        for path, position in known.items():
            for length in range(1, min(len(path), longest) + 1):
                for new in by_old.get(path[:length], ()):
                    found.setdefault((*new, *path[length:]), position)
        for new, old in places.items():
            found[new] = source.key_at(old) if new == ("contract",) else found.get(new, source.at(old))
    return Source(source.file, dict(value), values, keys, source.text)
