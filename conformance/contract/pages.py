"""Short forms of requirements.yaml and mutants.yaml, written out: checks by operator, mutants by file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.contract.source import MalformedContract, Path, Source

_DOCUMENTS: Final = ("test", "bench", "lint")  # kinds of checks that are of no operator


def written_page(source: Source, kind: str) -> Source:
    """The page of a family as one list of rows in which nothing is inherited; raises MalformedContract."""
    if kind == "requirements" and _has_rows(source, kind):
        return _with_checks(source)
    if kind == "mutants" and _has_rows(source, kind):
        return _without_groups(source)
    return source


def _has_rows(source: Source, key: str) -> bool:
    # What has none is reported by the schema.
    return isinstance(source.value, dict) and isinstance(source.value.get(key), list)


# -- checks: {OPERATOR: {guard: [id]}, test: {FILE: [name]}, lint: [CODE]}


def _with_checks(source: Source) -> Source:
    values = dict(source.values)
    rows: list[Any] = []
    for k, row in enumerate(source.value["requirements"]):
        at: Path = ("requirements", k, "checks")
        if isinstance(row, dict) and isinstance(row.get("checks"), dict):
            checks = list(_checks(source, row["checks"], at))
            values |= {(*at, n): source.at(place) for n, (_, place) in enumerate(checks)}
            row = {**row, "checks": [text for text, _ in checks]}
        rows.append(row)
    return replace(source, value={**source.value, "requirements": rows}, values=values)


def _checks(source: Source, grouped: Mapping[str, Any], at: Path) -> Iterator[tuple[str, Path]]:
    """Every check string of a row, and the place of its name."""
    for key, inner in grouped.items():
        if key == "lint":
            yield from ((f"lint:{name}", place) for name, place in _names(source, inner, (*at, key)))
            continue
        if not isinstance(inner, dict):
            form = f"{{{key}: {{FILE: [name]}}}}" if key in _DOCUMENTS else f"{{{key}: {{guard: [id]}}}}"
            raise MalformedContract([source.problem((*at, key), "C018", f"checks: expected a map below {key}", form)])
        for second, some in inner.items():
            kind, target = (key, second) if key in _DOCUMENTS else (second, key)
            mark = "::" if kind in ("group", "test") else "#"
            for name, place in _names(source, some, (*at, key, second)):
                yield f"{kind}:{target}{mark}{name}", place


def _names(source: Source, names: Any, at: Path) -> Iterator[tuple[str, Path]]:
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise MalformedContract([source.problem(at, "C018", f"checks: expected a list of names below {at[-1]}")])
    yield from ((name, (*at, k)) for k, name in enumerate(names))


# -- mutants: [{file: FILE, mutants: [{id, sentence, find, replace}]}]


def _without_groups(source: Source) -> Source:
    found = list(_mutants(source))
    values = {path: place for path, place in source.values.items() if path[:1] != ("mutants",)}
    keys = {path: place for path, place in source.keys.items() if path[:1] != ("mutants",)}
    values[("mutants",)], keys[("mutants",)] = source.at(("mutants",)), source.key_at(("mutants",))
    moved = {at: ("mutants", k) for k, (_, at) in enumerate(found)}
    for known, places in ((source.values, values), (source.keys, keys)):
        for path, place in known.items():
            if path[:4] in moved or path[:2] in moved:
                size = 4 if path[:4] in moved else 2
                places[(*moved[path[:size]], *path[size:])] = place
    return replace(source, value={**source.value, "mutants": [body for body, _ in found]}, values=values, keys=keys)


def _mutants(source: Source) -> Iterator[tuple[Any, Path]]:
    """Every mutant with the file of its group, and where it is written."""
    for k, entry in enumerate(source.value["mutants"]):
        at: Path = ("mutants", k)
        if not isinstance(entry, dict) or "mutants" not in entry:
            yield _with_patch(entry, ""), at
            continue
        file = entry.get("file")
        if entry.keys() != {"file", "mutants"} or not isinstance(file, str) or not isinstance(entry["mutants"], list):
            message, hint = "expected a group of mutants in one file", "{file: FILE, mutants: [...]}"
            raise MalformedContract([source.problem(at, "C018", message, hint)])
        for n, one in enumerate(entry["mutants"]):
            yield _with_patch(one, file), (*at, "mutants", n)


def _with_patch(entry: Any, file: str) -> Any:
    """A mutant whose patches name their file; `find` and `replace` beside the id are its one patch."""
    if not isinstance(entry, dict):
        return entry
    entry = dict(entry)
    if "patch" not in entry and "find" in entry:
        patch = {key: entry.pop(key) for key in ("file", "find", "replace") if key in entry}
        return {**entry, "patch": {"file": file, **patch} if file else patch}
    if file and isinstance(entry.get("patches"), list):
        entry["patches"] = [{"file": file, **patch} if isinstance(patch, dict) else patch for patch in entry["patches"]]
    return entry
