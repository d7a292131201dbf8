"""Nothing can be taken out of a shipped contract without lint noticing, beyond a lock that is out of date."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.contract.source import MalformedContract, Path
from conformance.lint.catalogue import RULES
from conformance.tests.contract_parts import parts
from conformance.tests.lint_faults.edits import drop, with_contract, with_library
from conformance.tests.shipped import shipped_library, shipped_subject

# L501 and L502 only say that something changed. What looks at no case comes first: one finding is enough.
_QUICK = ("L106", "L201", "L203", "L202")
_RULES = sorted(
    (rule for rule in RULES if rule.level == "error" and rule.code not in ("L501", "L502")),
    key=lambda rule: _QUICK.index(rule.code) if rule.code in _QUICK else len(_QUICK),
)

OPERATORS = sorted(shipped_library().contracts)


def deletions(operator: str) -> list[tuple[str, Path]]:
    return list(parts(shipped_library().contracts[operator]))


def is_noticed(operator: str, path: Path) -> bool:
    subject = shipped_subject()
    try:
        faulty = with_contract(subject, subject.library.contracts[operator], drop(path))
    except MalformedContract:
        return True  # nothing that is left can be read without it
    return any(True for rule in _RULES for _ in rule.check(faulty))


def test_there_is_something_to_delete_in_every_contract() -> None:
    """But where a method only closes: its one guard is the machine's, which is worded and deleted there."""
    contracts = shipped_library().contracts
    closing = {name for name, one in contracts.items() if one.method is not None and one.method.closes}
    assert {operator for operator in OPERATORS if deletions(operator)} | closing == set(contracts)
    assert deletions("Stream")
    assert sum(len(deletions(operator)) for operator in OPERATORS) > 1000


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_deletion_turns_lint_red(operator: str) -> None:
    assert [name for name, path in deletions(operator) if not is_noticed(operator, path)] == []


def test_an_edit_that_deletes_nothing_leaves_lint_green() -> None:
    subject = shipped_subject()
    changed = {}
    for contract in subject.contracts[::13]:
        again = with_contract(subject, contract, lambda tree: tree).library.contracts[contract.operator]
        assert again is not contract
        changed[contract.operator] = again
    library = replace(subject.library, contracts={**subject.library.contracts, **changed})
    parsed_again = with_library(subject, library, only=changed)
    assert [str(finding) for rule in _RULES for finding in rule.check(parsed_again)] == []
