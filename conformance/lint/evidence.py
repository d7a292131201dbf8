"""L411 to L413: what the specification asks for rests on mutants that break it, on two calls, and on any backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from conformance.contract.model import Clause, Contract
from conformance.contract.requirement import Requirement
from conformance.lint.call import Call
from conformance.lint.finding import Finding
from conformance.lint.reference import check_of, check_text, claimable, guard_text
from conformance.lint.subject import Subject

KINDS: Final = ("P", "S", "F", "X")  # of requirements that something a backend does can break
MOST_REFERENCE_ONLY: Final = 5  # rows of all families together
_CLAUSES: Final = ("guard", "refuses", "ensures", "invariant")


class MutantsBreak:
    """Every requirement of kind P, S, F or X, guard, refusal and postcondition is broken by a mutant that dies."""

    code, name, level = "L411", "mutants-break", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Requirements and clauses that no mutant of the kill matrix breaks; nothing where there is no matrix."""
        if subject.evidence is None:
            return
        for family in subject.library.requirements.values():
            for row in family.requirements:
                if row.kind in KINDS and not row.excluded and not row.reference_only:
                    yield from self._row(subject, subject.evidence, row)
        broken = frozenset(text for found in subject.evidence.values() for text in found)
        for contract in subject.contracts:
            implied = {clause.id: clause for clause in (*contract.ensures, *contract.invariants)}
            for kind, name, _, position in claimable(contract):
                if kind not in _CLAUSES or check_text(contract, kind, name) in broken:
                    continue
                clause = implied.get(name) if kind in ("ensures", "invariant") else None
                if clause is not None and clause.implied_by:
                    yield from self._implied(contract, clause, set(implied))
                    continue
                message = f"no mutant breaks {kind} {name!r}"
                hint = "add one to mutants.yaml, with a case that kills it, and run `tally mutants ID --write`"
                yield Finding(position, self.code, message, contract.operator, hint)

    def _row(self, subject: Subject, evidence: Mapping[str, frozenset[str]], row: Requirement) -> Iterator[Finding]:
        workloads = {text for text in row.checks if check_of(text).kind == "workload"}
        wanted = workloads if row.kind == "X" and workloads else set(row.checks)
        naming = [id_ for id_, one in subject.library.mutants.items() if row.id in one.requirements]
        if any(evidence.get(id_, frozenset()) & wanted for id_ in naming):
            return
        if not naming:
            message, hint = f"no mutant breaks {row.id}", "add one to mutants.yaml that names it"
        else:
            message = f"no check that {row.id} names kills a mutant that breaks it"
            hint = f"{', '.join(naming[:3])} {'break' if naming[1:] else 'breaks'} it: name a check that kills one"
        yield Finding(row.position, self.code, message, row.id, hint)

    def _implied(self, contract: Contract, clause: Clause, known: set[str]) -> Iterator[Finding]:
        for id_ in clause.implied_by:
            if id_ not in known - {clause.id}:
                message = f"postcondition {clause.id!r} is implied by {id_!r}, which the contract does not have"
                hint = "name another clause of this contract"
                yield Finding(clause.position, self.code, message, contract.operator, hint)


class GuardsTwice:
    """Every guard decides two frozen calls, so that none hangs on a single one."""

    code, name, level = "L412", "guards-twice", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Guards that are the first that is not true in a single call; nothing where there is no kill matrix."""
        calls: dict[str, list[Call]] = {}
        for contract in subject.contracts if subject.evidence is not None else ():
            desk = subject.desk(contract)
            for call in subject.calls(contract.operator):
                if guard := desk.refusal(contract.requires, call):
                    calls.setdefault(guard_text(contract, guard.id), []).append(call)
        for contract in subject.contracts:
            for kind, name, _, position in claimable(contract):
                found = calls.get(check_text(contract, kind, name), [])
                if kind == "guard" and len(found) == 1:
                    message = f"guard {name!r} hangs on one call, in {found[0]}"
                    hint = "add a case that it refuses for another value"
                    yield Finding(position, self.code, message, contract.operator, hint)


class ReferenceOnly:
    """A requirement that only tests of the suite's reference check says why, and there are at most five of them."""

    code, name, level = "L413", "reference-only", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Rows without the mark, marked rows that any backend is held to, and rows beyond the fifth."""
        marked = 0
        for family in subject.library.requirements.values():
            for row in family.requirements:
                alone = is_reference_only(row)
                if alone and not row.reference_only:
                    message = f"only tests of the reference check {row.id}, so no other backend is held to it"
                    hint = "add a group, law or workload, or say why there is none: `reference_only: reason`"
                    yield Finding(row.position, self.code, message, row.id, hint)
                elif row.reference_only and not alone:
                    message = f"{row.id} is marked reference_only, but a check of any backend carries it"
                    yield Finding(row.position, self.code, message, row.id, "remove the mark")
                marked += alone
                if alone and marked > MOST_REFERENCE_ONLY:
                    message = f"{row.id} is row {marked} that only tests of the reference check"
                    hint = f"at most {MOST_REFERENCE_ONLY} may stay: add a check of any backend"
                    yield Finding(row.position, self.code, message, row.id, hint)


def is_reference_only(row: Requirement) -> bool:
    """Whether a requirement that a backend can break rests on tests of the suite's reference alone."""
    kinds = {check_of(text).kind for text in row.checks}
    return row.kind in KINDS and not row.excluded and "test" in kinds and kinds <= {"test", "lint", "bench"}
