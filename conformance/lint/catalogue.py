"""Every rule, in the order of the codes."""

from __future__ import annotations

from typing import Final

from conformance.lint.axes import AxesWalked
from conformance.lint.boundaries import BoundariesCrossed
from conformance.lint.checks import ChecksMutual, ChecksResolve
from conformance.lint.coverage import LinesCarried
from conformance.lint.evidence import GuardsTwice, MutantsBreak, ReferenceOnly
from conformance.lint.files import FilesLookedAt
from conformance.lint.forbidden import NamesPermitted
from conformance.lint.governance import LockCurrent, VersionsGoverned
from conformance.lint.guards import EdgeCasesReached, GuardsAgree, GuardsReached
from conformance.lint.limits import LimitsHaveUnits
from conformance.lint.ordering import OrderDeclared
from conformance.lint.postconditions import PostconditionsBite, PostconditionsHold
from conformance.lint.randomness import RandomnessLocal
from conformance.lint.requirements import ProseIsProse, RequirementsTested
from conformance.lint.rule import Rule
from conformance.lint.state import StateTotal
from conformance.lint.symbols import CodesRegistered, LawsKnown, OperatorsResolve, RequirementsResolve, RulingsResolve
from conformance.lint.usage import GroupsHaveCases, NamesUsed, NamesWellFormed

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
