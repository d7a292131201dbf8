"""Splits the file of a machine into one source for the machine's own contract and one for each method.

It imports no expression engine: a worker process reads signatures from these sources, and starts 100 ms sooner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.contract.yaml.companions import VALUES
from conformance.contract.yaml.source import Position, Source, ValuePath

OPEN_HANDLE: Final = "open-handle"  # the guard that refuses a handle that is not open
_COMMON: Final = ("version", "purpose", "source", "equivalence", "purity", "confirmed_by", "failure", "rng", "calls")
_WHOLE: Final = (
    "state",
    "invariants",
    "laws",
    "vectors",
    "axes",
    "workloads",
    "given",
    "own_roots",
    "bystanders",
    "fuzz",
)
_ABSENT: Final[Mapping[str, Any]] = {"requires": [], "ordering": {}, "vectors": []}


def parts_of(source: Source) -> tuple[Source, ...]:
    """The machine's own source, then its methods' in the order of the file."""
    file = _File(source, _by_section(source.values), _by_section(source.keys))
    return (_whole(file), *(_method(file, name) for name in source.value["operations"]))


_Sections = Mapping[ValuePath, Sequence[tuple[ValuePath, Position]]]


@dataclass(frozen=True, slots=True)
class _File:
    """The file of a machine with its positions by section, so that each part searches only its own."""

    source: Source
    values: _Sections
    keys: _Sections


def _by_section(places: Mapping[ValuePath, Position]) -> _Sections:
    found: dict[ValuePath, list[tuple[ValuePath, Position]]] = {}
    for path, position in places.items():
        found.setdefault(_section(path), []).append((path, position))
    return found


def _section(path: ValuePath) -> ValuePath:
    """The top-level key of a path; inside an operation, with the operation's name."""
    return path[:2] if path[:1] == ("operations",) else path[:1]


def _whole(file: _File) -> Source:
    body = file.source.value
    value: dict[str, Any] = {"contract": body["machine"], "methods": list(body["operations"])}
    places: dict[ValuePath, ValuePath] = {("contract",): ("machine",), ("methods",): ("operations",)}
    for key in (*_COMMON, *_WHOLE):
        if key in body:
            value[key], places[(key,)] = body[key], (key,)
    for key in ("inputs", "outputs"):
        value[key] = {}
    if "handle" in body:
        value["handle"], places[("handle",)] = body["handle"], ("handle",)
    whole = _part(file, {**_ABSENT, **value}, places)
    return replace(whole, keys={**whole.keys, **dict(file.keys.get((VALUES,), ()))})


def _method(file: _File, name: str) -> Source:
    body, own = file.source.value, file.source.value["operations"][name]
    here: ValuePath = ("operations", name)
    value: dict[str, Any] = {"contract": f"{body['machine']}.{name}"}
    places: dict[ValuePath, ValuePath] = {("contract",): here}
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
    return _part(file, {**_ABSENT, "state": "none", **value}, places)


def _takes(own: Mapping[str, Any]) -> bool:
    return any(isinstance(one, dict) and one.get("type") == "handle" for one in own.get("inputs", {}).values())


def _part(file: _File, value: Mapping[str, Any], places: Mapping[ValuePath, ValuePath]) -> Source:
    """A source with the values at `places`, new path to old, and everything below them."""
    source = file.source
    values: dict[ValuePath, Position] = {(): source.at(places[("contract",)])}
    keys: dict[ValuePath, Position] = {}
    for new, old in places.items():
        for found, known in ((values, file.values), (keys, file.keys)):
            for path, position in known.get(_section(old), ()):
                if path[: len(old)] == old:
                    found.setdefault((*new, *path[len(old) :]), position)
            found[new] = source.key_at(old) if new == ("contract",) else found.get(new, source.at(old))
    return Source(source.file, dict(value), values, keys, source.text)
