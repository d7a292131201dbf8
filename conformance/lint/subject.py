"""What lint looks at: the library, the frozen corpus, the lock, and the few names that stand to its right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.lint.call import Call, Desk, UnreadableCase, calls_of, memory_of
from conformance.vectors.case import Case
from conformance.vectors.lock import Lock


class Bench:
    """The desks and calls that subjects share which differ in little; a memo and nothing else."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[Case, Codebook, tuple[Call, ...] | UnreadableCase]] = {}  # by the case's identity
        self._callers: dict[int, tuple[tuple[Case, ...], Mapping[str, list[Case]]]] = {}  # by the tuple's identity
        self._desks: dict[str, list[Desk]] = {}
        self._witnesses: dict[tuple[str, str], list[tuple[Call, Any]]] = {}

    def desk(self, contract: Contract) -> Desk:
        """The desk that serves a contract."""
        desks = self._desks.setdefault(contract.operator, [])
        for desk in desks:
            if desk.serves(contract):
                return desk
        desks.append(Desk(contract))
        return desks[-1]

    def calls(self, case: Case, codebook: Codebook) -> tuple[Call, ...]:
        """The calls of a case; raises UnreadableCase."""
        known = self._calls.get(id(case))
        if known is None or known[1] is not codebook:
            try:
                found: tuple[Call, ...] | UnreadableCase = tuple(calls_of(case, codebook))
            except UnreadableCase as error:
                found = error
            known = self._calls[id(case)] = (case, codebook, found)
        if isinstance(known[2], UnreadableCase):
            raise known[2]
        return known[2]

    def callers(self, cases: tuple[Case, ...], operator: str) -> Sequence[Case]:
        """Those of some cases that call an operator."""
        known = self._callers.get(id(cases))
        if known is None:
            found: dict[str, list[Case]] = {}
            for case in cases:
                for name in case.operators:
                    found.setdefault(name, []).append(case)
            known = self._callers[id(cases)] = (cases, found)
        return known[1].get(operator, ())

    def witnesses(self, operator: str, text: str) -> list[tuple[Call, Any]]:
        """The wrong results that a postcondition alone is known to have caught, for `L306` to add to."""
        return self._witnesses.setdefault((operator, text), [])


def _same_types(one: Library, other: Library) -> bool:
    mine, yours = one.contracts, other.contracts
    return mine.keys() == yours.keys() and all(
        mine[name] is yours[name]
        or (mine[name].inputs, mine[name].outputs, memory_of(mine[name]))
        == (yours[name].inputs, yours[name].outputs, memory_of(yours[name]))
        for name in mine
    )


@dataclass(frozen=True, slots=True)
class Subject:
    """A library with its frozen cases, by operator.

    `known_laws`, `documents` (path -> text of the tests and benchmarks that requirements name; None where no checkout
    is there to look into) and `evidence` (mutant id -> check strings of all that notices it; None where no kill matrix
    says that) come from the caller, because they stand to the right of lint.
    """

    library: Library
    cases: Mapping[str, tuple[Case, ...]]
    lock: Lock | None
    known_laws: frozenset[str]
    documents: Mapping[str, str] | None
    codebook: Codebook = field(repr=False)
    bench: Bench = field(repr=False)
    only: frozenset[str] | None = None
    evidence: Mapping[str, frozenset[str]] | None = None

    @property
    def contracts(self) -> tuple[Contract, ...]:
        """The contracts under judgement: all of them, or those that `only` names."""
        contracts = self.library.contracts
        return tuple(contracts[name] for name in sorted(contracts) if self.only is None or name in self.only)

    def desk(self, contract: Contract) -> Desk:
        """Where the contract's expressions meet its calls."""
        return self.bench.desk(contract)

    def calls(self, operator: str, unsure: bool = False) -> tuple[Call, ...]:
        """Every readable frozen call of an operator, wherever its case stands, in the corpus' order.

        Left out, unless `unsure`, are calls of a machine in a state of which not everything is known that counts.
        """
        found: list[Call] = []
        contract = self.library.contracts.get(operator)
        for cases in self.cases.values():
            for case in self.bench.callers(cases, operator):
                try:
                    found += (call for call in self.bench.calls(case, self.codebook) if call.operator == operator)
                except UnreadableCase:
                    continue  # L108 says so
        if unsure or contract is None or contract.method is None:
            return tuple(found)
        return tuple(call for call in found if contract.foresees(call.inputs))

    def unreadable(self) -> tuple[UnreadableCase, ...]:
        """The cases that do not fit the types of their operators."""
        found: list[UnreadableCase] = []
        for cases in self.cases.values():
            for case in cases:
                try:
                    self.bench.calls(case, self.codebook)
                except UnreadableCase as error:
                    found.append(error)
        return tuple(found)

    def derive(
        self,
        library: Library | None = None,
        cases: Mapping[str, tuple[Case, ...]] | None = None,
        only: Iterable[str] | None = None,
    ) -> Subject:
        """The same subject with other contracts or cases, sharing what has been evaluated already."""
        changed = self
        if library is not None:
            same = _same_types(self.library, library)
            codebook = self.codebook if same else codebook_of(library, self.codebook)
            changed = replace(self, library=library, codebook=codebook)
        changed = changed if cases is None else replace(changed, cases=cases)
        return changed if only is None else replace(changed, only=frozenset(only))


def subject_of(
    library: Library,
    cases: Iterable[Case],
    lock: Lock | None = None,
    known_laws: Iterable[str] = (),
    documents: Mapping[str, str] | None = None,
    evidence: Mapping[str, frozenset[str]] | None = None,
) -> Subject:
    """The subject made of a library and its frozen cases."""
    by_operator: dict[str, list[Case]] = {}
    for case in cases:
        by_operator.setdefault(case.operator, []).append(case)
    frozen = {operator: tuple(found) for operator, found in sorted(by_operator.items())}
    book, laws = codebook_of(library), frozenset(known_laws)
    return Subject(library, frozen, lock, laws, documents, book, Bench(), evidence=evidence)
