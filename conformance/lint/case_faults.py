"""Faults in the corpus: cases without which a guard, an edge case or one side of a boundary is tried by nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from conformance.contract.model import Contract
from conformance.lint.call import Call
from conformance.lint.guards import comparisons_of, looks, sides
from conformance.lint.mutation import Fault, put, with_cases, with_contract, without_cases
from conformance.lint.subject import Subject
from conformance.vectors.case import Case


def case_faults(subject: Subject) -> Iterator[Fault]:
    """Every fault that leaves out or misplaces cases."""
    for contract in subject.contracts:
        yield from _reached(subject, contract)
        yield from _edges(subject, contract)
        yield from _boundaries(subject, contract)
        yield from _groups(subject, contract)
        yield from _files(subject, contract)


def _without(code: str, name: str, subject: Subject, operator: str, calls: Collection[Call]) -> Fault:
    dropped = {call.case.id for call in calls}
    return Fault(
        code, f"{operator}: {name}", partial(without_cases, subject, operator, lambda case: case.id in dropped)
    )


def _is_of(group: str, case: Case) -> bool:
    return case.group == group


def _reached(subject: Subject, contract: Contract) -> Iterator[Fault]:
    desk, calls = subject.desk(contract), subject.calls(contract.operator)
    for guard in contract.requires:
        refused = [call for call in calls if desk.refusal(contract.requires, call) is guard]
        yield _without("L301", f"no case for guard {guard.id}", subject, contract.operator, refused)
        through = [call for call in calls if desk.holds(guard.expression.text, call)]
        yield _without("L301", f"no case inside guard {guard.id}", subject, contract.operator, through)


def _edges(subject: Subject, contract: Contract) -> Iterator[Fault]:
    desk, calls = subject.desk(contract), subject.calls(contract.operator)
    for edge in contract.edge_cases:
        met = [call for call in calls if desk.holds(edge.when.text, call)]
        yield _without("L302", f"no case for edge {edge.id}", subject, contract.operator, met)


def _boundaries(subject: Subject, contract: Contract) -> Iterator[Fault]:
    desk, judged = subject.desk(contract), list(subject.calls(contract.operator))
    for guard in contract.requires:
        for comparison in comparisons_of(guard):
            for side, touching in sides(desk, comparison, judged).items():
                name = f"no case where {comparison.text} {side}"
                yield _without("L303", name, subject, contract.operator, touching)
        judged = [call for call in judged if desk.holds(guard.expression.text, call)]


def _groups(subject: Subject, contract: Contract) -> Iterator[Fault]:
    cases = subject.cases.get(contract.operator, ())
    for name in sorted({case.group for case in cases}):
        dropped = partial(without_cases, subject, contract.operator, partial(_is_of, name))
        yield Fault("L108", f"{contract.operator}: group {name} without its cases", dropped)
    if cases:
        twice = partial(with_cases, subject, contract.operator, (*cases, cases[0]))
        yield Fault("L108", f"{contract.operator}: a case twice", twice)
        strayed = (replace(cases[0], id=f"{contract.operator}::elsewhere::x"), *cases[1:])
        yield Fault(
            "L108",
            f"{contract.operator}: a case under another name",
            partial(with_cases, subject, contract.operator, strayed),
        )


def _files(subject: Subject, contract: Contract) -> Iterator[Fault]:
    """An operator that touches files without a case that looks; a pure one said to touch them has none anyway."""
    for group in contract.groups:
        name = f"{contract.operator}: a look at files left out of {group.name}"
        yield Fault("L307", name, partial(_unseen, subject, contract, group.name))


def _unseen(subject: Subject, contract: Contract, kept: str) -> Subject:
    told = with_contract(subject, contract, put(("purity",), "io"))
    blind = [case for case in subject.cases.get(contract.operator, ()) if case.group == kept and not looks(case)]
    return with_cases(told, contract.operator, blind)
