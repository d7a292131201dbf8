"""Every rule in the order of the codes, run over one subject; apart from the rules, because it imports them all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conformance.lint import (
    checks,
    coverage,
    determinism,
    governance,
    guards,
    names,
    postconditions,
    requirements,
)
from conformance.lint.rule import Finding, Rule
from conformance.lint.subject import Subject

_MODULES: Final = (checks, coverage, determinism, governance, guards, names, postconditions, requirements)
_OTHERS: Final = [rule for module in _MODULES for rule in vars(module).values() if isinstance(rule, Rule)]
# Requirements may rest on any rule, the one that resolves their checks among them.
_CODES: Final = frozenset({"L106", *(rule.code for rule in _OTHERS)})
RULES: Final = tuple(sorted((*_OTHERS, checks.checks_resolve(_CODES)), key=lambda rule: rule.code))


def rule_with(code: str) -> Rule:
    """The rule with this code; raises KeyError."""
    for rule in RULES:
        if rule.code == code:
            return rule
    raise KeyError(code)


def lint(subject: Subject, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Every finding of every rule, once, by file, line, column and code."""
    return tuple(sorted({finding for rule in rules for finding in rule.check(subject)}))
