"""The kill matrix on disk: canonical and compact, so that a change of it can be reviewed.

Cases stand by group with the first digits of their digests. A mutant's kills are places in the sorted list of a group:
"0-3,7", or "*" for all of them. What was not tried has no key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from conformance.trial.mutants_matrix import KillMatrix, MutantRow, Status, summary
from conformance.vectors.jsontext import json_text

FORMAT: Final = 2
FILE: Final = "kill-matrix.json"
_KINDS: Final = ("laws", "fuzz", "crash")
_ALONE: Final = "requirements_of_the_reference_only"


class UnreadableMatrix(Exception):
    """The committed kill matrix is missing or not of this format; says which file and the next step."""


def matrix_text(matrix: KillMatrix) -> str:
    """The text of reports/kill-matrix.json."""
    groups = _grouped(matrix.cases)
    digests = matrix.digests
    return json_text(
        {
            "format": FORMAT,
            "cases": {
                group: {slug: digests.get(f"{group}::{slug}", "") for slug in slugs} for group, slugs in groups.items()
            },
            "mutants": {row.id: _row_record(row, groups) for row in matrix.rows.values()},
            "classes": [list(ids) for ids in matrix.classes],
            "killing_set": list(matrix.killing_set),
            "summary": summary(matrix),
        }
    )


def matrix_from(text: str) -> KillMatrix:
    """The matrix that a text holds; raises KeyError, TypeError or ValueError where it holds none."""
    record = json.loads(text)
    if record["format"] != FORMAT:
        raise ValueError(f"format {record['format']!r}")
    groups = {group: sorted(slugs) for group, slugs in record["cases"].items()}
    cases = sorted(f"{group}::{slug}" for group, slugs in groups.items() for slug in slugs)
    rows = {id_: _row_from(id_, body, groups) for id_, body in sorted(record["mutants"].items())}
    digests = {
        f"{group}::{slug}": digest
        for group, slugs in record["cases"].items()
        for slug, digest in slugs.items()
        if digest
    }
    return KillMatrix(tuple(cases), rows, digests, tuple(record.get("summary", {}).get(_ALONE, ())))


def merged(committed: KillMatrix, fresh: KillMatrix) -> KillMatrix:
    """The committed matrix with the rows of a run of some mutants in the place of its own.

    Its other rows are kept as they are; cases that are gone leave them.
    """
    kept = {
        id_: replace(row, killed=row.killed & set(fresh.cases))
        for id_, row in committed.rows.items()
        if id_ not in fresh.rows
    }
    # A case that the kept rows were not asked keeps no digest, so that `--changed` asks it.
    old = committed.digests
    digests = {id_: digest for id_, digest in fresh.digests.items() if old.get(id_) == digest}
    rows = dict(sorted({**kept, **fresh.rows}.items()))
    return KillMatrix(fresh.cases, rows, digests if kept else fresh.digests, fresh.reference_only)


def read_matrix(file: Path) -> KillMatrix:
    """The committed matrix; raises UnreadableMatrix."""
    try:
        return matrix_from(file.read_text("utf-8"))
    except (OSError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UnreadableMatrix(f"{file}: {error!r:.200}\n    hint: run `tally mutants --write`") from None


def changes(committed: KillMatrix, fresh: KillMatrix) -> Iterator[str]:
    """One sentence for each mutant whose row differs, and for cases that came or went."""
    for id_ in sorted(committed.rows.keys() | fresh.rows.keys()):
        old, new = committed.rows.get(id_), fresh.rows.get(id_)
        if old is None or new is None:
            yield f"{id_} is {'new' if old is None else 'gone'}"
        elif old.status is not new.status:
            yield f"{id_} was {old.status.value}, is {new.status.value}"
        elif old.killed != new.killed:
            yield f"{id_} was killed by {len(old.killed)} cases, is killed by {len(new.killed)}"
        elif old.behaviour != new.behaviour:
            yield f"{id_} is killed by the same cases but answers otherwise"
        elif old.broken != new.broken:
            yield f"{id_} breaks other parts of contracts than it did"
        else:
            yield from _changed_kinds(old, new)
    came, went = set(fresh.cases) - set(committed.cases), set(committed.cases) - set(fresh.cases)
    if came or went:
        yield f"{len(came)} cases came, {len(went)} went"
    if committed.reference_only != fresh.reference_only:
        yield "other requirements than before rest on tests of the reference alone"


def _changed_kinds(old: MutantRow, new: MutantRow) -> Iterator[str]:
    for kind in _KINDS:
        before, now = getattr(old, kind), getattr(new, kind)
        if before is None and now is not None:
            yield f"{new.id} was not tried by {kind} yet"
        elif now is not None and before != now:
            yield f"{new.id} was killed by {len(before)} of {kind}, is killed by {len(now)}"


def _grouped(cases: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for id_ in cases:
        operator, group, slug = id_.split("::", 2)
        groups.setdefault(f"{operator}::{group}", []).append(slug)
    return {group: sorted(slugs) for group, slugs in groups.items()}


def _row_record(row: MutantRow, groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    record: dict[str, Any] = {"status": row.status.value}
    if row.reason:
        record["reason"] = row.reason
    if row.killed:
        by = {
            group: _places([k for k, slug in enumerate(slugs) if f"{group}::{slug}" in row.killed], len(slugs))
            for group, slugs in groups.items()
        }
        by = {group: places for group, places in by.items() if places}
        record |= {"killed": len(row.killed), "first": row.first, "by": by, "behaviour": row.behaviour}
    if row.broken:
        record["broken"] = dict(row.broken)
    record |= {kind: sorted(found) for kind in _KINDS if (found := getattr(row, kind)) is not None}
    if row.sources:
        record["sources"] = row.sources
    return record


def _row_from(id_: str, body: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> MutantRow:
    killed = frozenset(
        f"{group}::{groups[group][k]}"
        for group, places in body.get("by", {}).items()
        for k in _numbers(places, len(groups[group]))
    )
    kinds = {kind: frozenset(body[kind]) for kind in _KINDS if kind in body}
    return MutantRow(
        id_,
        Status(body["status"]),
        killed,
        body.get("behaviour", ""),
        body.get("reason", ""),
        body.get("broken", {}),
        **kinds,
        sources=body.get("sources", ""),
    )


def _places(numbers: Sequence[int], count: int) -> str:
    """Ascending numbers as ranges."""
    if len(numbers) == count:
        return "*"
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def _numbers(places: str, count: int) -> Iterator[int]:
    if places == "*":
        yield from range(count)
        return
    for part in places.split(","):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)
