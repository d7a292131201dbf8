"""What changed between two corpora, by operator and requirement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.vectors.case import Case
from conformance.vectors.record import case_record


@dataclass(frozen=True, slots=True)
class Change:
    """The cases of one operator that changed and test one requirement; one of several requirements stands in each."""

    operator: str
    requirement: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]  # another question or another answer
    reworded: tuple[str, ...]  # the same digest under other prose, requirements or profile

    def __str__(self) -> str:
        counts = [f"{len(ids)} {word}" for word, ids in self.parts() if ids]
        return f"{self.operator} {self.requirement}: {', '.join(counts)}"

    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The four lists with their names."""
        return (
            ("added", self.added),
            ("removed", self.removed),
            ("changed", self.changed),
            ("reworded", self.reworded),
        )


def diff(old: Iterable[Case], new: Iterable[Case]) -> tuple[Change, ...]:
    """The changes from `old` to `new`, sorted by operator and requirement."""
    before, after = {case.id: case for case in old}, {case.id: case for case in new}
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for id_ in sorted(before.keys() | after.keys()):
        kind = _kind(before.get(id_), after.get(id_))
        if not kind:
            continue
        for case in (before.get(id_), after.get(id_)):
            for requirement in case.requirements if case is not None else ():
                ids = found.setdefault((case.operator, requirement), {}).setdefault(kind, [])  # type: ignore[union-attr]
                if id_ not in ids:
                    ids.append(id_)
    return tuple(_change(*key, kinds) for key, kinds in sorted(found.items()))


def _kind(old: Case | None, new: Case | None) -> str:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    if old.digest != new.digest:
        return "changed"
    return "reworded" if case_record(old) != case_record(new) else ""


def _change(operator: str, requirement: str, kinds: Mapping[str, list[str]]) -> Change:
    return Change(
        operator,
        requirement,
        *(tuple(kinds.get(kind, ())) for kind in ("added", "removed", "changed", "reworded")),
    )
