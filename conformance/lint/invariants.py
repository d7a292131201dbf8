"""The machine's part of L305 and L306: what every operation leaves satisfies the invariants, and each one bites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.contract.model import Contract
from conformance.lint.corruption import corruptions
from conformance.lint.finding import Finding
from conformance.lint.machines import invariant_calls
from conformance.lint.subject import Subject

_STATES: Final = 40  # different states of a machine that are corrupted


def broken(subject: Subject, contract: Contract, code: str) -> Iterator[Finding]:
    """Invariants that the state after a frozen call breaks, one finding for each."""
    told: set[str] = set()
    for call in invariant_calls(subject, contract) if contract.invariants else ():
        for clause in contract.broken_invariants(call.after):
            if clause.id not in told:
                told.add(clause.id)
                message = f"invariant {clause.id!r} is not true after {call}, where the state is {call.after}"
                hint = "correct the invariant, or what the operation makes of the state"
                yield Finding(clause.position, code, message, contract.operator, hint)


def toothless(subject: Subject, contract: Contract, code: str) -> Iterator[Finding]:
    """Invariants that no state breaks which differs from a reached one in a single variable, or never alone."""
    if contract.machine is None or not contract.invariants:
        return
    states = {repr(sorted(call.after.items())): call.after for call in invariant_calls(subject, contract)}
    pending = {clause.id: clause for clause in contract.invariants}
    company: dict[str, set[str]] = {}
    for state in list(states.values())[:_STATES]:
        for _, wrong in corruptions(contract.machine.state, state):
            found = {clause.id for clause in contract.broken_invariants(wrong)}
            if len(found) == 1:
                pending.pop(found.pop(), None)
            for id_ in found:
                company.setdefault(id_, found - {id_})
    for id_, clause in pending.items():
        message = f"no corrupted state breaks invariant {id_!r}"
        hint = "it says nothing: relate the variables to each other, or to a bound"
        if others := sorted(company.get(id_, ())):
            message = f"whatever breaks invariant {id_!r} breaks {', '.join(others)} as well"
            hint = "remove it, or narrow the other"
        yield Finding(clause.position, code, message, contract.operator, hint)
