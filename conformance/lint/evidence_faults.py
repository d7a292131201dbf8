"""Faults in what the specification rests on: a clause or row that no mutant breaks, a guard with one call."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from conformance.lint.checks import check_text, claimable
from conformance.lint.mutation import Fault, Tree, with_requirements
from conformance.lint.requirements import KINDS
from conformance.lint.subject import Subject

_TEST = "test:conformance/tests/test_house.py::test_no_module_is_too_long"


def evidence_faults(subject: Subject) -> Iterator[Fault]:
    """Every clause and row whose mutants go unnoticed, every guard left with one call, every row left with a test."""
    for contract in subject.contracts:
        for kind, name, _, _ in claimable(contract):
            text = check_text(contract, kind, name)
            if kind in ("guard", "refuses", "ensures", "invariant"):
                yield Fault("L411", f"{text} broken by no mutant", partial(_without, subject, [text]))
        desk = subject.desk(contract)
        for guard in contract.requires if contract.machine is None else ():
            calls = subject.calls(contract.operator)
            refused = [call.case.id for call in calls if desk.refusal(contract.requires, call) is guard]
            dropped = set(refused[1:]) - set(refused[:1])
            if dropped:
                name = f"{contract.operator}: guard {guard.id} with one call"
                yield Fault("L412", name, partial(_alone, subject, contract.operator, dropped))
    for family, page in subject.library.requirements.items():
        for k, row in enumerate(page.requirements):
            if row.kind in KINDS and row.checks and not row.reference_only:
                yield Fault("L411", f"{row.id} broken by no mutant", partial(_without, subject, row.checks))
                edit = partial(_put_checks, k)
                yield Fault("L413", f"{row.id} on a test alone", partial(with_requirements, subject, family, edit))


def _put_checks(k: int, tree: Tree) -> Tree:
    return tree.put(("requirements", k, "checks"), [_TEST])


def _without(subject: Subject, texts: Collection[str]) -> Subject:
    """The subject with mutants that everything notices but what these check strings mean."""
    everything = {
        check_text(contract, kind, name)
        for contract in subject.library.contracts.values()
        for kind, name, _, _ in claimable(contract)
    }
    return replace(subject, evidence=dict.fromkeys(subject.library.mutants, frozenset(everything - set(texts))))


def _alone(subject: Subject, operator: str, dropped: Collection[str]) -> Subject:
    kept = {name: tuple(case for case in cases if case.id not in dropped) for name, cases in subject.cases.items()}
    return replace(subject.derive(cases=kept, only={operator}), evidence={})
