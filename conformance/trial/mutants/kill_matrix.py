"""The kill matrix, which says which check kills which mutant: the value, and its file on disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Final

from conformance.contract.family import Mutant
from conformance.contract.wording import counted
from conformance.trial.committed_reports import read_report
from conformance.vectors.case import Case
from conformance.vectors.jsontext import json_text

NO_CASE: Final = ""


class Status(StrEnum):
    """The status of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    CONTROL_ALIVE = "control alive"
    CONTROL_DEAD = "control dead"
    NOT_APPLIED = "not applied"
    DOES_NOT_RUN = "does not run"


@dataclass(frozen=True, slots=True)
class MutantRow:
    """One mutant: its status, the ids of the cases that kill it, and a digest of its wrong answers.

    `broken` counts, for each guard, refusal, postcondition and invariant by its check string, the cases in which the
    mutant shows that it breaks it. Three fields say what kills it besides cases: `laws` (check strings), `fuzz`
    (operators) and `crash` (check strings of workloads); None if that was not tried.
    """

    id: str
    status: Status
    killed: frozenset[str] = frozenset()
    behaviour: str = ""  # equal for mutants that no case tells apart
    reason: str = ""  # if it is not applied or does not run
    broken: Mapping[str, int] = field(default_factory=dict)
    laws: frozenset[str] | None = None
    fuzz: frozenset[str] | None = None
    crash: frozenset[str] | None = None
    sources: str = ""  # a digest of the mutant's own source; equal where only cases can have changed
    clauses: str = ""  # a digest of the clauses that `broken` was read with

    @property
    def noticed_by(self) -> frozenset[str]:
        """The check strings of everything that notices the mutant or that it is seen to break."""
        groups = {"group:{}::{}".format(*id_.split("::", 2)[:2]) for id_ in self.killed}
        fuzzed = {f"fuzz:{operator}" for operator in self.fuzz or ()}
        return frozenset({*groups, *self.broken, *(self.laws or ()), *(self.crash or ()), *fuzzed})

    @property
    def dies(self) -> bool:
        """Whether any check kills the mutant."""
        return bool(self.killed or self.laws or self.fuzz or self.crash)

    @property
    def first(self) -> str:
        """The first case, in id order, that kills it."""
        return min(self.killed, default=NO_CASE)


@dataclass(frozen=True, slots=True)
class KillMatrix:
    """Every mutant against every case, mutants and cases in id order."""

    cases: tuple[str, ...]
    rows: Mapping[str, MutantRow]
    digests: Mapping[str, str] = field(default_factory=dict)  # of the cases, as they were asked
    reference_only: tuple[str, ...] = ()  # requirements that only tests of the suite's reference check

    @property
    def classes(self) -> tuple[tuple[str, ...], ...]:
        """The groups of two or more mutants that answer every case alike."""
        alike: dict[str, list[str]] = {}
        for row in self.rows.values():
            if row.behaviour:
                alike.setdefault(row.behaviour, []).append(row.id)
        return tuple(sorted(tuple(sorted(ids)) for ids in alike.values() if len(ids) > 1))

    @property
    def killing_set(self) -> tuple[str, ...]:
        """A small set of cases that together still kill every killed mutant: greedy, ties by case id."""
        left = {row.id for row in self.rows.values() if row.killed}
        kills: dict[str, set[str]] = {id_: set() for id_ in self.cases}
        for row in self.rows.values():
            for id_ in row.killed:
                kills[id_].add(row.id)
        chosen: list[str] = []
        heap = sorted((-len(killed), id_) for id_, killed in kills.items())
        while left:
            # A case never kills more of the rest than before. If the first number is right, it is the best.
            number, best = heappop(heap)
            if (now := -len(kills[best] & left)) == number:
                chosen.append(best)
                left -= kills[best]
            else:
                heappush(heap, (now, best))
        return tuple(sorted(chosen))

    def class_of(self, mutant: str) -> tuple[str, ...]:
        """A mutant and those that answer every case as it does."""
        return next((ids for ids in self.classes if mutant in ids), (mutant,))


def evidence_of(matrix: KillMatrix) -> Mapping[str, frozenset[str]] | None:
    """The check strings that notice each mutant, for lint; None if a row was written without them."""
    rows = [row for row in matrix.rows.values() if row.status is Status.KILLED]
    return {row.id: row.noticed_by for row in rows} if all(row.sources for row in rows) else None


def believed(matrix: KillMatrix, cases: Iterable[Case], declared: Collection[str] | None = None) -> frozenset[str]:
    """The cases whose column is valid for a backend that declares these operators (None: all operators).

    It is valid for a case that did not change since, and whose calls the backend answers without a stand-in.
    """
    return frozenset(
        case.id
        for case in cases
        if (not matrix.digests or case.digest.startswith(matrix.digests.get(case.id, "-")))
        and (declared is None or case.operators <= {*declared})
    )


def matrix_summary(matrix: KillMatrix) -> dict[str, Any]:
    """How many mutants each kind of check kills alone, and what rests on a single case.

    A guard, refusal, postcondition or invariant rests on a single case where no mutant breaks it in two.
    """
    rows = [row for row in matrix.rows.values() if row.status in (Status.KILLED, Status.SURVIVED)]
    most: dict[str, int] = {}
    for row in rows:
        for text, count in row.broken.items():
            most[text] = max(most.get(text, 0), count)
    tried = [row for row in rows if row.laws is not None and row.fuzz is not None]
    return {
        "mutants": len(rows),
        "killed_by_vectors": sum(bool(row.killed) for row in rows),
        "killed_by_laws": sum(bool(row.laws) for row in rows),
        "killed_by_fuzzing": sum(bool(row.fuzz) for row in rows),
        "killed_by_laws_or_fuzzing": sum(bool(row.laws or row.fuzz) for row in tried),
        "killed_by_crashes": sum(bool(row.crash) for row in rows),
        "tried_on_laws_and_fuzzing": len(tried),
        "mutants_on_a_single_case": sorted(row.id for row in rows if len(row.killed) == 1 and not row.fuzz),
        "clauses_on_a_single_case": sorted(text for text, count in most.items() if count == 1),
        "requirements_of_the_reference_only": list(matrix.reference_only),
    }


def matrix_problems(matrix: KillMatrix, mutants: Mapping[str, Mutant]) -> Iterator[str]:
    """One sentence for each problem that makes a matrix of all or some mutants red."""
    if not matrix.cases:
        yield "there is no case to kill a mutant with"
    for row in matrix.rows.values():
        match row.status:
            case Status.SURVIVED:
                yield f"{row.id} survived: no frozen case notices that it {mutants[row.id].sentence}"
            case Status.KILLED:
                yield from _unshown(row, mutants[row.id])
            case Status.CONTROL_DEAD:
                yield f"{row.id} is a control, yet {row.first} fails on it"
            case Status.NOT_APPLIED | Status.DOES_NOT_RUN:
                where = mutants[row.id].position
                yield f"{row.id} {row.status.value}: {row.reason}\n    hint: correct the mutant at {where}"
    for mutant in mutants.values():
        if mutant.equivalent_to not in mutants and mutant.equivalent_to:
            yield f"{mutant.id} is declared equivalent to {mutant.equivalent_to}, which is no mutant"
        elif mutant.equivalent_to:
            yield from _broken_class(matrix, mutant)


def _unshown(row: MutantRow, mutant: Mutant) -> Iterator[str]:
    """One sentence for each thing that a mutant must break and no check shows; workloads only if crashes were tried."""
    for text in sorted(set(mutant.breaks) - row.noticed_by):
        if row.crash is not None or not text.startswith("workload:"):
            yield f"{row.id} must break {text}, but no check shows that it does"


def _broken_class(matrix: KillMatrix, mutant: Mutant) -> Iterator[str]:
    this, other = matrix.rows.get(mutant.id), matrix.rows.get(mutant.equivalent_to)
    # A run of some mutants only may leave one of the two out.
    if this is not None and other is not None and this.behaviour != other.behaviour:
        told = min(this.killed ^ other.killed, default="a case that kills both, with other answers")
        yield f"{mutant.id} is declared equivalent to {other.id}, but {told} tells them apart"


def undeclared_classes(matrix: KillMatrix, mutants: Mapping[str, Mutant]) -> tuple[tuple[str, ...], ...]:
    """The groups of mutants that answer alike without all but one being declared equivalent to another of the group."""

    def declared(ids: tuple[str, ...]) -> bool:
        return sum(mutants[id_].equivalent_to in ids for id_ in ids if mutants[id_].equivalent_to) >= len(ids) - 1

    return tuple(ids for ids in matrix.classes if not declared(ids))


FORMAT: Final = 2
_KINDS: Final = ("laws", "fuzz", "crash")
_ALONE: Final = "requirements_of_the_reference_only"


def matrix_text(matrix: KillMatrix) -> str:
    """The text of reports/kill-matrix.json."""
    groups = _grouped(matrix.cases)
    places = {f"{group}::{slug}": (group, k) for group, slugs in groups.items() for k, slug in enumerate(slugs)}
    digests = matrix.digests
    return json_text(
        {
            "format": FORMAT,
            "cases": {
                group: {slug: digests.get(f"{group}::{slug}", "") for slug in slugs} for group, slugs in groups.items()
            },
            "mutants": {row.id: _row_record(row, groups, places) for row in matrix.rows.values()},
            "classes": [list(ids) for ids in matrix.classes],
            "killing_set": list(matrix.killing_set),
            "summary": matrix_summary(matrix),
        }
    )


def _matrix(record: Mapping[str, Any]) -> KillMatrix:
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


def merged_matrix(committed: KillMatrix, fresh: KillMatrix) -> KillMatrix:
    """The committed matrix, with its rows replaced by those of a run of some mutants.

    The other rows are kept, without the cases that no longer exist.
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
    """The committed matrix; raises UnreadableReport."""
    return read_report(file, FORMAT, _matrix, "tally mutants --write")


def matrix_changes(committed: KillMatrix, fresh: KillMatrix) -> Iterator[str]:
    """One sentence for each mutant whose row differs, and for cases that came or went.

    A mutant that cannot be tried must be corrected first: `matrix_problems` says so.
    """
    for id_ in sorted(committed.rows.keys() | fresh.rows.keys()):
        old, new = committed.rows.get(id_), fresh.rows.get(id_)
        if old is None or new is None:
            yield f"{id_} is {'new' if old is None else 'gone'}"
        elif new.status in (Status.NOT_APPLIED, Status.DOES_NOT_RUN):
            continue
        elif old.status is not new.status:
            yield f"{id_} was {old.status.value}, is {new.status.value}"
        elif old.killed != new.killed:
            yield f"{id_} was killed by {counted(len(old.killed), 'case')}, is killed by {len(new.killed)}"
        elif old.behaviour != new.behaviour:
            yield f"{id_} is killed by the same cases but answers otherwise"
        elif old.broken != new.broken:
            yield f"{id_} breaks other parts of contracts than it did"
        else:
            yield from _changed_kinds(old, new)
    came, went = set(fresh.cases) - set(committed.cases), set(committed.cases) - set(fresh.cases)
    if came or went:
        yield f"{counted(len(came), 'case')} came, {len(went)} went"
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


def _row_record(
    row: MutantRow, groups: Mapping[str, Sequence[str]], places: Mapping[str, tuple[str, int]]
) -> dict[str, Any]:
    record: dict[str, Any] = {"status": row.status.value}
    if row.reason:
        record["reason"] = row.reason
    if row.killed:
        killed: dict[str, list[int]] = {}
        for group, k in sorted(places[id_] for id_ in row.killed if id_ in places):
            killed.setdefault(group, []).append(k)
        by = {group: _places(numbers, len(groups[group])) for group, numbers in killed.items()}
        record |= {"killed": len(row.killed), "first": row.first, "by": by, "behaviour": row.behaviour}
    if row.broken:
        record["broken"] = dict(row.broken)
    record |= {kind: sorted(found) for kind in _KINDS if (found := getattr(row, kind)) is not None}
    record |= {name: found for name in ("sources", "clauses") if (found := getattr(row, name))}
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
        clauses=body.get("clauses", ""),
    )


def _places(numbers: Sequence[int], count: int) -> str:
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
