"""All rules over one subject, in one deterministic order."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.lint.catalogue import RULES
from conformance.lint.finding import Finding
from conformance.lint.rule import Rule
from conformance.lint.subject import Subject


def lint(subject: Subject, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Every finding of every rule, once, by file, line, column and code."""
    return tuple(sorted({finding for rule in rules for finding in rule.check(subject)}))
