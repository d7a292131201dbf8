"""Every rule in the order of the codes, run over one subject."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conformance.lint.checks import checks_mutual, checks_resolve
from conformance.lint.coverage import lines_carried
from conformance.lint.determinism import names_permitted, order_declared, randomness_local, state_total
from conformance.lint.governance import lock_current, versions_governed
from conformance.lint.guards import (
    axes_walked,
    boundaries_crossed,
    edge_cases_reached,
    files_looked_at,
    guards_agree,
    guards_reached,
    limits_have_units,
)
from conformance.lint.names import (
    codes_registered,
    groups_have_cases,
    laws_known,
    names_used,
    names_well_formed,
    operators_resolve,
    requirements_resolve,
    rulings_resolve,
)
from conformance.lint.postconditions import postconditions_bite, postconditions_hold
from conformance.lint.requirements import (
    guards_twice,
    mutants_break,
    prose_is_prose,
    reference_only,
    requirements_tested,
)
from conformance.lint.rule import Finding, Rule
from conformance.lint.subject import Subject

_OTHERS: Final[tuple[Rule, ...]] = (
    operators_resolve,
    codes_registered,
    laws_known,
    requirements_resolve,
    rulings_resolve,
    checks_mutual,
    groups_have_cases,
    names_used,
    names_well_formed,
    order_declared,
    state_total,
    randomness_local,
    names_permitted,
    guards_reached,
    edge_cases_reached,
    boundaries_crossed,
    guards_agree,
    postconditions_hold,
    postconditions_bite,
    files_looked_at,
    limits_have_units,
    axes_walked,
    requirements_tested,
    lines_carried,
    prose_is_prose,
    mutants_break,
    guards_twice,
    reference_only,
    versions_governed,
    lock_current,
)
# Requirements may rest on any rule, the one that resolves their checks among them.
_CODES: Final = frozenset({"L106", *(rule.code for rule in _OTHERS)})
RULES: Final[tuple[Rule, ...]] = tuple(sorted((*_OTHERS, checks_resolve(_CODES)), key=lambda rule: rule.code))


def rule_with(code: str) -> Rule:
    """The rule with this code; raises KeyError."""
    for rule in RULES:
        if rule.code == code:
            return rule
    raise KeyError(code)


def lint(subject: Subject, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Every finding of every rule, once, by file, line, column and code."""
    return tuple(sorted({finding for rule in rules for finding in rule.check(subject)}))
