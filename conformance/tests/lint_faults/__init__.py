"""Deliberate faults of a specification, by the lint rule that must find them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.contract.yaml.source import MalformedContract
from conformance.lint.catalogue import RULES, lint
from conformance.lint.rule import LintTarget, Rule
from conformance.tests.lint_faults.cases import case_faults
from conformance.tests.lint_faults.clauses import clause_faults
from conformance.tests.lint_faults.edits import Fault
from conformance.tests.lint_faults.evidence import evidence_faults
from conformance.tests.lint_faults.lock import lock_faults
from conformance.tests.lint_faults.pages import page_faults


def faults(subject: LintTarget) -> dict[str, tuple[Fault, ...]]:
    """Every fault that one edit of the subject makes, by the code of the rule that must find it."""
    found: dict[str, list[Fault]] = {rule.code: [] for rule in RULES}
    for makers in (clause_faults, case_faults, page_faults, lock_faults, evidence_faults):
        for fault in makers(subject):
            found[fault.code].append(fault)
    return {code: tuple(some) for code, some in found.items()}


def spread(some: Sequence[Fault], limit: int) -> list[Fault]:
    """At most `limit` of the faults, evenly from the whole sequence, and so from all contracts."""
    count = min(limit, len(some))
    return [some[k * len(some) // count] for k in range(count)]


def outcomes(some: Iterable[Fault], rules: Sequence[Rule]) -> list[tuple[str, bool]]:
    """The name of each fault, and whether the rules find anything; they must find nothing without the faults.

    Left out are faults that the contract language refuses, and faults that change nothing.
    """
    found: list[tuple[str, bool]] = []
    for fault in some:
        try:
            faulty = fault.subject()
        except MalformedContract:
            continue
        if faulty is not None:
            found.append((fault.name, bool(lint(faulty, rules))))
    return found
