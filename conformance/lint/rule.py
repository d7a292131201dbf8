"""The interface of a lint rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from conformance.lint.finding import Finding
from conformance.lint.subject import Subject


class Rule(Protocol):
    """One rule: a code that never changes, a name, a level (error or warning) and a docstring of one sentence."""

    @property
    def code(self) -> str:
        """Letter L and three digits: 1 symbols, 2 declarations, 3 cases, 4 requirements, 5 governance."""

    @property
    def name(self) -> str:
        """What holds where the rule is silent."""

    @property
    def level(self) -> str:
        """The SARIF level of its findings."""

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Every place that breaks the rule."""


def sentence(rule: Rule) -> str:
    """The rule in one sentence: its docstring."""
    return " ".join((type(rule).__doc__ or "").split())
