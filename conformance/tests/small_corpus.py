"""Frozen cases of the small contract, made by hand, and the subject that lint judges them in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.lint.catalogue import RULES, lint
from conformance.lint.rule import Finding, LintTarget, Rule, subject_of
from conformance.tests.small_spec import CONTRACT, load
from conformance.vectors.case import CallStep, Case, ExpectedFailure, ExpectedResult

OPERATOR = "UML_OS.Data.Halve_v1"
SALT = "00" * 16
FAILURE = ExpectedFailure("CONTRACT_VIOLATION", {"failure_code": "CONTRACT_VIOLATION", "failure_operator": OPERATOR})


def case(slug: str, *steps: CallStep, group: str = "small-numbers") -> Case:
    """A case of the small contract."""
    return Case(f"{OPERATOR}::{group}::{slug}", OPERATOR, group, "A why.", ("N01",), (), "quick", steps)


def step(name: str, inputs: dict[str, Any], outcome: dict[str, Any] | ExpectedFailure) -> CallStep:
    """One call of the small operator; the salt is filled in."""
    expected = outcome if isinstance(outcome, ExpectedFailure) else ExpectedResult(outcome)
    return CallStep(name, OPERATOR, {"salt": SALT, **inputs}, expected)


def halved(whole: int, half: int | None = None) -> Case:
    """The case of one number: its half, or the failure of an odd one."""
    answer: Any = FAILURE if half is None and whole % 2 else {"half": str(whole // 2 if half is None else half)}
    return case(f"whole={whole}", step("call", {"whole": str(whole)}, answer))


GOOD = (halved(0), halved(1), halved(2), halved(6))


def subject(root: Path, contract: str = CONTRACT, cases: Iterable[Case] = GOOD) -> LintTarget:
    """The small specification with these cases."""
    return subject_of(load(root, contract), cases)


def rule_with(code: str) -> Rule:
    """The rule with this code."""
    return {rule.code: rule for rule in RULES}[code]


def found(code: str, judged: LintTarget) -> list[str]:
    """The messages of one rule."""
    findings: tuple[Finding, ...] = lint(judged, [rule_with(code)])
    return [finding.message for finding in findings]
