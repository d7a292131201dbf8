"""Faults in the evidence: a clause or row that no mutant breaks, a row with only a test."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from conformance.lint.checks import check_text, claimable
from conformance.lint.requirements import KINDS
from conformance.lint.rule import LintTarget
from conformance.tests.lint_faults.edits import Fault, put, with_requirements

_TEST = "test:conformance/tests/house/test_house.py::test_no_module_is_too_long"


def evidence_faults(subject: LintTarget) -> Iterator[Fault]:
    """Each clause and row without its mutants, and each row with only a test."""
    for contract in subject.contracts:
        for kind, name, _, _ in claimable(contract):
            text = check_text(contract, kind, name)
            if kind in ("guard", "refuses", "ensures", "invariant"):
                yield Fault("L411", f"{text} broken by no mutant", partial(_without, subject, [text]))
    for id_ in subject.library.mutants:
        yield Fault("L414", f"{id_} without its text", partial(replace, subject, unusable={id_: "it is there 0 times"}))
    for family, page in subject.library.requirements.items():
        for k, row in enumerate(page.requirements):
            if row.kind in KINDS and row.checks and not row.reference_only:
                yield Fault("L411", f"{row.id} broken by no mutant", partial(_without, subject, row.checks))
                edit = put(("requirements", k, "checks"), [_TEST])
                yield Fault("L413", f"{row.id} on a test alone", partial(with_requirements, subject, family, edit))


def _without(subject: LintTarget, texts: Collection[str]) -> LintTarget:
    """The subject in which every check but these notices every mutant."""
    everything = {
        check_text(contract, kind, name)
        for contract in subject.library.contracts.values()
        for kind, name, _, _ in claimable(contract)
    }
    return replace(subject, evidence=dict.fromkeys(subject.library.mutants, frozenset(everything - set(texts))))
