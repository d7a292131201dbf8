"""Nothing can be taken out of a shipped contract without lint noticing, beyond a lock that is out of date."""

from __future__ import annotations

import pytest

from conformance.contract.position import MalformedContract
from conformance.lint.catalogue import RULES
from conformance.lint.mutation import Path, drop, with_contract
from conformance.tests.contract_parts import parts
from conformance.tests.shipped import shipped_library, shipped_subject

# L501 and L502 only say that something changed. What looks at no case comes first: one finding is enough.
_QUICK = ("L106", "L201", "L203", "L202")
_RULES = sorted(
    (rule for rule in RULES if rule.level == "error" and rule.code not in ("L501", "L502")),
    key=lambda rule: _QUICK.index(rule.code) if rule.code in _QUICK else len(_QUICK),
)


DELETIONS = [
    pytest.param(contract.operator, path, id=f"{contract.operator}: {name}")
    for contract in shipped_library().contracts.values()
    for name, path in parts(contract)
]


def test_there_is_something_to_delete_in_every_contract() -> None:
    """But where a method only closes: its one guard is the machine's, which is worded and deleted there."""
    contracts = shipped_library().contracts
    closing = {name for name, one in contracts.items() if one.method is not None and one.method.closes}
    touched = {str(parameter.values[0]) for parameter in DELETIONS}
    assert touched | closing == set(contracts)
    assert "Stream" in touched


@pytest.mark.parametrize(("operator", "path"), DELETIONS)
def test_a_deletion_turns_lint_red(operator: str, path: Path) -> None:
    subject = shipped_subject()
    try:
        faulty = with_contract(subject, subject.library.contracts[operator], drop(path))
    except MalformedContract:
        return  # nothing that is left can be read without it
    assert any(True for rule in _RULES for _ in rule.check(faulty))


def test_an_edit_that_deletes_nothing_leaves_lint_green() -> None:
    subject = shipped_subject()
    for contract in subject.contracts:
        same = with_contract(subject, contract, lambda tree: tree)
        assert [str(finding) for rule in _RULES for finding in rule.check(same)] == []
