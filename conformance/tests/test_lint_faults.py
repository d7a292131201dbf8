"""Every rule finds the faults that it is for, each put into a copy of the shipped specification."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from conformance.lint.catalogue import RULES, lint, rule_with
from conformance.tests.lint_faults import faults, outcomes, spread
from conformance.tests.lint_faults.edits import Fault
from conformance.tests.shipped import shipped_subject

CODES = [rule.code for rule in RULES]
PER_RULE = 12  # of the faults of all contracts and pages; at least ten must be readable


@cache
def shipped_faults() -> Mapping[str, tuple[Fault, ...]]:
    return faults(shipped_subject())


@pytest.mark.parametrize("code", CODES)
def test_a_rule_finds_every_fault_that_it_is_for(code: str) -> None:
    some = spread(shipped_faults()[code], PER_RULE)
    found = outcomes(some, [rule_with(code)])
    assert [name for name, is_found in found if not is_found] == []
    assert len(found) >= 10


def test_a_postcondition_must_equate_state_that_the_caller_keeps() -> None:
    some = [fault for fault in shipped_faults()["L202"] if fault.name.endswith("bounded and not equated")]
    assert len(some) == 2
    assert [is_found for _, is_found in outcomes(some, [rule_with("L202")])] == [True, True]


def test_a_fault_is_missed_without_its_rule() -> None:
    found = outcomes(spread(shipped_faults()["L110"], PER_RULE), [])
    assert {is_found for _, is_found in found} == {False}


def test_findings_come_in_the_same_order_whatever_the_order_of_the_rules() -> None:
    page = shipped_faults()["L106"][0].subject()
    assert page is not None
    rules = [rule_with(code) for code in ("L104", "L106", "L107", "L401", "L402")]
    assert lint(page, rules) == lint(page, reversed(rules))
