"""Every rule is documented and finds the faults that it is for, each put into a copy of the shipped specification.

That the shipped specification passes every rule is what `tally lint` tells, which CI runs, and `tally run` asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

from conformance.contract.yaml.source import MalformedContract
from conformance.contract.yaml.source import ValuePath as Place
from conformance.lint import checks
from conformance.lint.catalogue import RULES, lint
from conformance.lint.coverage import coverage_findings, coverage_lines
from conformance.tests.contract_parts import parts
from conformance.tests.lint_faults import faults, outcomes, spread
from conformance.tests.lint_faults.compiled import digested_once, forget
from conformance.tests.lint_faults.edits import Fault, drop, with_contract, with_library
from conformance.tests.processes import python
from conformance.tests.shipped import shipped_library, shipped_subject
from conformance.tests.small_corpus import rule_with

CODES = [rule.code for rule in RULES]
PER_RULE = 12  # of the faults of all contracts and pages; at least ten must be readable
# A fault there takes seconds, as it evaluates hundreds of cases; other contracts have every kind of fault as well.
LONG = ("Stream", "UML_OS.Data.NextBatch_v2", "Batch.LinearizeCells")


@cache
def shipped_faults() -> Mapping[str, tuple[Fault, ...]]:
    return faults(shipped_subject())


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """What lint has evaluated, a gigabyte, is forgotten: each later fork would copy its page table."""
    with digested_once():
        yield
    shipped_faults.cache_clear()
    shipped_subject.cache_clear()
    forget()


@pytest.mark.parametrize("code", CODES)
def test_a_rule_finds_every_fault_that_it_is_for(code: str) -> None:
    some = spread([fault for fault in shipped_faults()[code] if not fault.name.startswith(LONG)], PER_RULE)
    found = outcomes(some, [rule_with(code)])
    assert [name for name, is_found in found if not is_found] == []
    assert len(found) >= 10


def test_a_postcondition_must_equate_state_that_the_caller_keeps() -> None:
    some = [fault for fault in shipped_faults()["L202"] if fault.name.endswith("bounded and not equated")]
    assert len(some) == 2
    assert [is_found for _, is_found in outcomes(some, [rule_with("L202")])] == [True, True]


def test_a_lock_that_is_out_of_date_in_any_way_is_found() -> None:
    """One contract has the same faults as the next, and an even step meets two kinds of five alone."""
    some = {fault.name.partition(": ")[2]: fault for fault in shipped_faults()["L502"]}
    assert len(some) == 5
    assert [name for name, is_found in outcomes(some.values(), [rule_with("L502")]) if not is_found] == []


def test_a_fault_is_missed_without_its_rule() -> None:
    found = outcomes(spread(shipped_faults()["L110"], PER_RULE), [])
    assert {is_found for _, is_found in found} == {False}


def test_findings_come_in_the_same_order_whatever_the_order_of_the_rules() -> None:
    page = shipped_faults()["L106"][0].subject()
    assert page is not None
    rules = [rule_with(code) for code in ("L104", "L106", "L107", "L401", "L402")]
    assert lint(page, rules) == lint(page, reversed(rules))


# -- every rule is documented, and findings are the same in every process


def test_codes_and_names_are_unique_and_every_rule_is_one_sentence() -> None:
    assert sorted(set(CODES)) == CODES
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"L\d{3}", rule.code)
        assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", rule.name)
        assert rule.level in ("error", "warning")
        assert re.fullmatch(r"[^a-z ].*\.", rule.sentence), rule.sentence


_PROGRAM = """
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from conformance.lint.output import as_json
from conformance.lint.catalogue import lint
from conformance.tests.small_corpus import subject
sys.stdout.write(as_json(lint(subject(Path(sys.argv[1])))))
"""


def test_findings_do_not_hang_on_the_hash_seed(tmp_path: Path) -> None:
    told = [python("-c", _PROGRAM, str(tmp_path / seed), PYTHONHASHSEED=seed).stdout for seed in "12"]
    assert told[0].count('"code"') > len(RULES) + 3
    assert told[0] == told[1]


def test_every_line_of_every_source_is_carried_or_excluded_with_a_reason() -> None:
    library = shipped_library()
    assert list(coverage_findings(library)) == []
    told = [line.split(".md: ")[0] for line in coverage_lines(library)]
    assert sorted(told) == sorted(page.seed for page in library.requirements.values())


# -- what is taken out of a shipped contract is noticed, beyond a lock that is out of date


# L501 and L502 only say that something changed. What looks at no case comes first: one finding is enough.
_QUICK = ("L106", "L201", "L203", "L202")
_RULES = sorted(
    (rule for rule in RULES if rule.level == "error" and rule.code not in ("L501", "L502")),
    key=lambda rule: _QUICK.index(rule.code) if rule.code in _QUICK else len(_QUICK),
)

OPERATORS = sorted(shipped_library().contracts)


def deletions(operator: str) -> list[tuple[str, Place]]:
    return list(parts(shipped_library().contracts[operator]))


def is_noticed(operator: str, path: Place) -> bool:
    subject = shipped_subject()
    try:
        faulty = with_contract(subject, subject.library.contracts[operator], drop(path))
    except MalformedContract:
        return True  # nothing that is left can be read without it
    with patch.object(checks, "_meant_hint", lambda *_: ""):  # the nearest word takes as long as the rest
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
