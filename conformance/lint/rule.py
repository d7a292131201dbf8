"""The interface of a lint rule, and its findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from conformance.contract.source import Position
from conformance.lint.subject import Subject


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding at file:line:column; `about` is the operator, requirement or ruling that it concerns."""

    position: Position
    code: str
    message: str
    about: str = ""
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.position}: {self.code} {self.message}"


class Rule(Protocol):
    """One rule: a code that never changes, a name, a level (error or warning) and a docstring of one sentence."""

    @property
    def code(self) -> str:
        """Letter L and three digits: 1 symbols, 2 declarations, 3 cases, 4 requirements, 5 governance."""

    @property
    def name(self) -> str:
        """The rule as a few words joined by hyphens."""

    @property
    def level(self) -> str:
        """The SARIF level of its findings."""

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Every place that breaks the rule."""


def sentence(rule: Rule) -> str:
    """The rule in one sentence: its docstring."""
    return " ".join((type(rule).__doc__ or "").split())
