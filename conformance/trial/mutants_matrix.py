"""The kill matrix as a value: which frozen case, law, fuzzed operator or crash workload notices which mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from conformance.contract.mutant import Mutant
from conformance.vectors.case import Case

NOBODY: Final = ""


class Status(StrEnum):
    """What became of a mutant."""

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
    mutant shows that it breaks it. Three fields say what kills it without any case: `laws` (check strings), `fuzz`
    (operators) and `crash` (check strings of workloads); None where that was not tried.
    """

    id: str
    status: Status
    killed: frozenset[str] = frozenset()
    behaviour: str = NOBODY  # equal for mutants that no case tells apart
    reason: str = ""  # where it is not applied or does not run
    broken: Mapping[str, int] = field(default_factory=dict)
    laws: frozenset[str] | None = None
    fuzz: frozenset[str] | None = None
    crash: frozenset[str] | None = None
    sources: str = ""  # a digest of the mutant's own source; equal where only cases can have changed

    @property
    def noticing(self) -> frozenset[str]:
        """The check strings of everything that notices it, of what it is seen to break, too."""
        groups = {"group:{}::{}".format(*id_.split("::", 2)[:2]) for id_ in self.killed}
        fuzzed = {f"fuzz:{operator}" for operator in self.fuzz or ()}
        return frozenset({*groups, *self.broken, *(self.laws or ()), *(self.crash or ()), *fuzzed})

    @property
    def dies(self) -> bool:
        """Whether anything at all kills it."""
        return bool(self.killed or self.laws or self.fuzz or self.crash)

    @property
    def first(self) -> str:
        """The first case, in id order, that kills it."""
        return min(self.killed, default=NOBODY)


@dataclass(frozen=True, slots=True)
class KillMatrix:
    """Every mutant against every case, mutants and cases in id order."""

    cases: tuple[str, ...]
    rows: Mapping[str, MutantRow]
    digests: Mapping[str, str] = field(default_factory=dict)  # of the cases, as they were asked
    reference_only: tuple[str, ...] = ()  # requirements that only tests of the suite's reference hold

    @property
    def kills(self) -> Mapping[str, int]:
        """How many mutants each case kills."""
        counted = Counter(id_ for row in self.rows.values() for id_ in row.killed)
        return {id_: counted[id_] for id_ in self.cases}

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
        while left:
            best = min(self.cases, key=lambda id_: (-len(kills[id_] & left), id_))
            chosen.append(best)
            left -= kills[best]
        return tuple(sorted(chosen))

    def class_of(self, mutant: str) -> tuple[str, ...]:
        """A mutant and those that answer every case as it does."""
        return next((ids for ids in self.classes if mutant in ids), (mutant,))


def evidence_of(matrix: KillMatrix) -> Mapping[str, frozenset[str]] | None:
    """What notices each mutant, by check strings, for lint; None where a row was written without that."""
    rows = [row for row in matrix.rows.values() if row.status is Status.KILLED]
    return {row.id: row.noticing for row in rows} if all(row.sources for row in rows) else None


def believed(matrix: KillMatrix, cases: Iterable[Case], declared: Collection[str] | None = None) -> frozenset[str]:
    """The cases whose column holds for a backend that declares these operators, all where None.

    It holds for a case that is still the one that was asked, and of which nobody else answers any part.
    """
    return frozenset(
        case.id
        for case in cases
        if (not matrix.digests or case.digest.startswith(matrix.digests.get(case.id, "-")))
        and (declared is None or case.operators <= {*declared})
    )


def summary(matrix: KillMatrix) -> dict[str, Any]:
    """How many mutants each kind of check kills by itself, and what hangs on a single case.

    A guard, refusal, postcondition or invariant hangs on a single case where no mutant breaks it in two.
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


def problems(matrix: KillMatrix, mutants: Mapping[str, Mutant]) -> Iterator[str]:
    """One sentence for each thing about a matrix, of all mutants or some, that is red."""
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
                yield f"{row.id} {row.status.value}: {row.reason}"
    for mutant in mutants.values():
        if mutant.equivalent_to not in mutants and mutant.equivalent_to:
            yield f"{mutant.id} is declared equivalent to {mutant.equivalent_to}, which is no mutant"
        elif mutant.equivalent_to:
            yield from _broken_class(matrix, mutant)


def _unshown(row: MutantRow, mutant: Mutant) -> Iterator[str]:
    """What a mutant is there to break, and nothing shows that it does; a workload only where crashes were tried."""
    for text in sorted(set(mutant.breaks) - row.noticing):
        if row.crash is not None or not text.startswith("workload:"):
            yield f"{row.id} is to break {text}, but no check shows that it does"


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
