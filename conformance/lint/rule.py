"""A lint rule, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conformance.contract.model import Contract
from conformance.contract.source import Position
from conformance.lint.subject import Subject

Found = tuple[Position, str, str, str]  # the place, the message, what it is about, the hint
FoundIn = tuple[Position, str, str]  # of one contract: the place, the message, the hint


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


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a code that never changes, a name, the SARIF level of its findings, one sentence, and its function.

    The code is the letter L and three digits: 1 symbols, 2 declarations, 3 cases, 4 requirements, 5 governance.
    """

    code: str
    name: str
    level: str
    sentence: str
    find: Callable[[Subject], Iterator[Found]]
    each_contract: bool = False  # it judges contract after contract

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Every place that breaks the rule."""
        for place, message, about, hint in self.find(subject):
            yield Finding(place, self.code, message, about, hint)


def rule(code: str, name: str, level: str = "error") -> Callable[[Callable[[Subject], Iterator[Found]]], Rule]:
    """Make a function the rule whose sentence is its docstring."""
    return lambda find: Rule(code, name, level, _sentence(find), find)


def contract_rule(
    code: str, name: str, level: str = "error"
) -> Callable[[Callable[[Subject, Contract], Iterator[FoundIn]]], Rule]:
    """The same of a function that judges one contract; its findings are about the contract's operator."""

    def made(find: Callable[[Subject, Contract], Iterator[FoundIn]]) -> Rule:
        def each(subject: Subject) -> Iterator[Found]:
            for contract in subject.contracts:
                for place, message, hint in find(subject, contract):
                    yield place, message, contract.operator, hint
                subject.step()

        return Rule(code, name, level, _sentence(find), each, each_contract=True)

    return made


def _sentence(function: Callable[..., object]) -> str:
    return " ".join((function.__doc__ or "").split())
