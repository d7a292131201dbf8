"""The kill matrix as a value: which frozen case notices which deliberate mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from conformance.contract.mutant import Mutant

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
    """One mutant: its status, the ids of the cases that kill it, and a digest of its wrong answers."""

    id: str
    status: Status
    killed: frozenset[str] = frozenset()
    behaviour: str = NOBODY  # equal for mutants that no case tells apart
    reason: str = ""  # where it is not applied or does not run

    @property
    def first(self) -> str:
        """The first case, in id order, that kills it."""
        return min(self.killed, default=NOBODY)


@dataclass(frozen=True, slots=True)
class KillMatrix:
    """Every mutant against every case, mutants and cases in id order."""

    cases: tuple[str, ...]
    rows: Mapping[str, MutantRow]

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


def problems(matrix: KillMatrix, mutants: Mapping[str, Mutant]) -> Iterator[str]:
    """One sentence for each thing about a matrix, of all mutants or some, that is red."""
    if not matrix.cases:
        yield "there is no case to kill a mutant with"
    for row in matrix.rows.values():
        match row.status:
            case Status.SURVIVED:
                yield f"{row.id} survived: no frozen case notices that it {mutants[row.id].sentence}"
            case Status.CONTROL_DEAD:
                yield f"{row.id} is a control, yet {row.first} fails on it"
            case Status.NOT_APPLIED | Status.DOES_NOT_RUN:
                yield f"{row.id} {row.status.value}: {row.reason}"
    for mutant in mutants.values():
        if mutant.equivalent_to not in mutants and mutant.equivalent_to:
            yield f"{mutant.id} is declared equivalent to {mutant.equivalent_to}, which is no mutant"
        elif mutant.equivalent_to:
            yield from _broken_class(matrix, mutant)


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
