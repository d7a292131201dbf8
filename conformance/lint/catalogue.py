"""Every rule in the order of the codes, run over one subject."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conformance.lint.checks import ChecksMutual, ChecksResolve
from conformance.lint.coverage import LinesCarried
from conformance.lint.determinism import NamesPermitted, OrderDeclared, RandomnessLocal, StateTotal
from conformance.lint.governance import LockCurrent, VersionsGoverned
from conformance.lint.guards import (
    AxesWalked,
    BoundariesCrossed,
    EdgeCasesReached,
    FilesLookedAt,
    GuardsAgree,
    GuardsReached,
    LimitsHaveUnits,
)
from conformance.lint.names import (
    CodesRegistered,
    GroupsHaveCases,
    LawsKnown,
    NamesUsed,
    NamesWellFormed,
    OperatorsResolve,
    RequirementsResolve,
    RulingsResolve,
)
from conformance.lint.postconditions import PostconditionsBite, PostconditionsHold
from conformance.lint.requirements import GuardsTwice, MutantsBreak, ProseIsProse, ReferenceOnly, RequirementsTested
from conformance.lint.rule import Finding, Rule
from conformance.lint.subject import Subject

_OTHERS: Final[tuple[Rule, ...]] = (
    OperatorsResolve(),
    CodesRegistered(),
    LawsKnown(),
    RequirementsResolve(),
    RulingsResolve(),
    ChecksMutual(),
    GroupsHaveCases(),
    NamesUsed(),
    NamesWellFormed(),
    OrderDeclared(),
    StateTotal(),
    RandomnessLocal(),
    NamesPermitted(),
    GuardsReached(),
    EdgeCasesReached(),
    BoundariesCrossed(),
    GuardsAgree(),
    PostconditionsHold(),
    PostconditionsBite(),
    FilesLookedAt(),
    LimitsHaveUnits(),
    AxesWalked(),
    RequirementsTested(),
    LinesCarried(),
    ProseIsProse(),
    MutantsBreak(),
    GuardsTwice(),
    ReferenceOnly(),
    VersionsGoverned(),
    LockCurrent(),
)
# Requirements may rest on any rule, the one that resolves their checks among them.
_CODES: Final = frozenset({"L106", *(rule.code for rule in _OTHERS)})
RULES: Final[tuple[Rule, ...]] = tuple(sorted((*_OTHERS, ChecksResolve(_CODES)), key=lambda rule: rule.code))


def rule_with(code: str) -> Rule:
    """The rule with this code; raises KeyError."""
    for rule in RULES:
        if rule.code == code:
            return rule
    raise KeyError(code)


def lint(subject: Subject, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Every finding of every rule, once, by file, line, column and code."""
    return tuple(sorted({finding for rule in rules for finding in rule.check(subject)}))
