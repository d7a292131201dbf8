"""The rules on trial: the shipped specification with one deliberate fault at a time, which its rule must find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.contract.source import MalformedContract
from conformance.lint.case_faults import case_faults
from conformance.lint.catalogue import RULES, lint
from conformance.lint.clause_faults import clause_faults
from conformance.lint.evidence_faults import evidence_faults
from conformance.lint.lock_faults import lock_faults
from conformance.lint.mutation import Fault
from conformance.lint.page_faults import page_faults
from conformance.lint.rule import Rule
from conformance.lint.subject import Subject

PER_RULE: Final = 12  # faults tried for each rule unless told; at least ten are asked for


@dataclass(frozen=True, slots=True)
class Score:
    """How many of a rule's seeded faults it found, and the names of those it missed."""

    code: str
    seeded: int
    missed: tuple[str, ...]

    @property
    def caught(self) -> int:
        """How many were found."""
        return self.seeded - len(self.missed)

    def __str__(self) -> str:
        return f"rule {self.code}: caught {self.caught}/{self.seeded}"


def faults(subject: Subject) -> dict[str, tuple[Fault, ...]]:
    """Every fault that can be seeded into the shipped specification, by the rule that must find it."""
    found: dict[str, list[Fault]] = {rule.code: [] for rule in RULES}
    pages = (*page_faults(subject), *lock_faults(subject))
    seeds = (*clause_faults(subject), *case_faults(subject), *pages, *evidence_faults(subject))
    for fault in seeds:
        found[fault.code].append(fault)
    return {code: tuple(some) for code, some in found.items()}


def score(
    subject: Subject,
    seeds: Mapping[str, Sequence[Fault]],
    per_rule: int | None = PER_RULE,
    rules: Sequence[Rule] = RULES,
) -> tuple[Score, ...]:
    """Each rule's score over `per_rule` of its faults, spread over all contracts; None: over all of them.

    `seeds` are the `faults` of the subject, or some of them; `rules` are those that look, so that a missing one scores
    nothing.
    """
    return tuple(
        _scored(subject, code, _spread(some, per_rule or len(some)), [rule for rule in rules if rule.code == code])
        for code, some in seeds.items()
    )


def _scored(subject: Subject, code: str, some: Sequence[Fault], rules: Sequence[Rule]) -> Score:
    before = {finding.message for finding in lint(subject, rules)}
    seeded, missed = 0, []
    for fault in some:
        try:
            faulty = fault.subject()
        except MalformedContract:
            continue  # the contract language has found it already
        seeded += 1
        if all(finding.message in before for finding in lint(faulty, rules)):
            missed.append(fault.name)
    return Score(code, seeded, tuple(missed))


def _spread(items: Sequence[Fault], limit: int) -> list[Fault]:
    count = min(limit, len(items))
    return [items[k * len(items) // count] for k in range(count)]


def lines(scores: Iterable[Score]) -> tuple[str, ...]:
    """The scores as text, with the faults that were missed."""
    told: list[str] = []
    for one in scores:
        told.append(str(one))
        told += [f"    missed: {name}" for name in one.missed]
    return tuple(told)
