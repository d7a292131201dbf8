"""A lint rule, its findings, and the subject that it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.yaml.source import Position
from conformance.lint.call import Evaluator, FrozenCall, UnreadableCase, calls_of
from conformance.vectors.case import Case
from conformance.vectors.frozen.lock import Lock

T = TypeVar("T")


class SharedEvaluators:
    """The evaluators and calls that similar subjects share."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[Case, Codebook, tuple[FrozenCall, ...] | UnreadableCase]] = {}  # by id(case)
        self._callers: dict[int, tuple[tuple[Case, ...], Mapping[str, list[Case]]]] = {}  # by id(tuple)
        self._evaluators: dict[str, list[Evaluator]] = {}
        self._said: dict[tuple[Any, str], tuple[Contract, Any]] = {}  # of the last contract of each operator

    def evaluator(self, contract: Contract) -> Evaluator:
        """An evaluator with the contract's variables."""
        evaluators = self._evaluators.setdefault(contract.operator, [])
        for evaluator in evaluators:
            if evaluator.serves(contract):
                return evaluator
        evaluators.append(Evaluator(contract))
        return evaluators[-1]

    def once(self, say: Callable[[Contract], T], contract: Contract) -> T:
        """What a function says of a contract; it is not asked again while the contract stays as it is."""
        known = self._said.get((say, contract.operator))
        if known is None or known[0] is not contract:
            known = self._said[say, contract.operator] = (contract, say(contract))
        found: T = known[1]
        return found

    def calls(self, case: Case, codebook: Codebook) -> tuple[FrozenCall, ...]:
        """The calls of a case; raises UnreadableCase."""
        known = self._calls.get(id(case))
        if known is None or known[1] is not codebook:
            try:
                found: tuple[FrozenCall, ...] | UnreadableCase = tuple(calls_of(case, codebook))
            except UnreadableCase as error:
                found = error
            known = self._calls[id(case)] = (case, codebook, found)
        if isinstance(known[2], UnreadableCase):
            raise known[2]
        return known[2]

    def callers(self, cases: tuple[Case, ...], operator: str) -> Sequence[Case]:
        """The cases, out of some, that call an operator."""
        known = self._callers.get(id(cases))
        if known is None:
            found: dict[str, list[Case]] = {}
            for case in cases:
                for name in case.operators:
                    found.setdefault(name, []).append(case)
            known = self._callers[id(cases)] = (cases, found)
        return known[1].get(operator, ())


@dataclass(frozen=True, slots=True)
class LintTarget:
    """A library with its frozen cases, by operator.

    The caller gives the parts that lint cannot import: `known_laws`; `documents`, by path the text of the tests and
    benchmarks that requirements name (None outside a checkout); `evidence`, by mutant the strings of the checks that
    notice it (None without a kill matrix); `unusable`, by mutant why a patch does not apply. `only` names
    the contracts to judge. `step` is called by the rules that judge contract after contract, once for each.
    """

    library: Library
    cases: Mapping[str, tuple[Case, ...]]
    lock: Lock | None
    known_laws: frozenset[str]
    documents: Mapping[str, str] | None
    codebook: Codebook = field(repr=False)
    cache: SharedEvaluators = field(repr=False)
    only: frozenset[str] | None = None
    evidence: Mapping[str, frozenset[str]] | None = None
    unusable: Mapping[str, str] = field(default_factory=dict)
    step: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    @property
    def contracts(self) -> tuple[Contract, ...]:
        """The contracts to judge: all, or those that `only` names."""
        contracts = self.library.contracts
        return tuple(contracts[name] for name in sorted(contracts) if self.only is None or name in self.only)

    def evaluator(self, contract: Contract) -> Evaluator:
        """The evaluator of the contract's expressions."""
        return self.cache.evaluator(contract)

    def calls(self, operator: str, unsure: bool = False) -> tuple[FrozenCall, ...]:
        """Every readable frozen call of an operator, in the cases of all operators, in the order of the corpus.

        Calls of a machine whose relevant state is not known are left out, unless `unsure`.
        """
        found: list[FrozenCall] = []
        contract = self.library.contracts.get(operator)
        for cases in self.cases.values():
            for case in self.cache.callers(cases, operator):
                try:
                    found += (call for call in self.cache.calls(case, self.codebook) if call.operator == operator)
                except UnreadableCase:
                    continue  # L108 reports it
        if unsure or contract is None or contract.method is None:
            return tuple(found)
        return tuple(call for call in found if contract.foresees(call.inputs))

    def unreadable(self) -> tuple[UnreadableCase, ...]:
        """The cases that do not fit the types of their operators."""
        found: list[UnreadableCase] = []
        for cases in self.cases.values():
            for case in cases:
                try:
                    self.cache.calls(case, self.codebook)
                except UnreadableCase as error:
                    found.append(error)
        return tuple(found)


def subject_of(
    library: Library,
    cases: Iterable[Case],
    lock: Lock | None = None,
    known_laws: Iterable[str] = (),
    documents: Mapping[str, str] | None = None,
    evidence: Mapping[str, frozenset[str]] | None = None,
) -> LintTarget:
    """The subject made of a library and its frozen cases."""
    by_operator: dict[str, list[Case]] = {}
    for case in cases:
        by_operator.setdefault(case.operator, []).append(case)
    frozen = {operator: tuple(found) for operator, found in sorted(by_operator.items())}
    book, laws = codebook_of(library), frozenset(known_laws)
    return LintTarget(library, frozen, lock, laws, documents, book, SharedEvaluators(), evidence=evidence)


Found = tuple[Position, str, str, str]  # the place, the message, the subject, the hint
FoundIn = tuple[Position, str, str]  # in one contract: the place, the message, the hint


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
    """One rule: a code that never changes, a name, the SARIF level of its findings, one sentence, and its function."""

    code: str  # L and three digits, the first: 1 symbols, 2 declarations, 3 cases, 4 requirements, 5 governance
    name: str
    level: str
    sentence: str
    find: Callable[[LintTarget], Iterator[Found]]
    each_contract: bool = False  # the rule judges one contract after the other

    def check(self, subject: LintTarget) -> Iterator[Finding]:
        """Every place that breaks the rule."""
        for place, message, about, hint in self.find(subject):
            yield Finding(place, self.code, message, about, hint)


def rule(code: str, name: str, level: str = "error") -> Callable[[Callable[[LintTarget], Iterator[Found]]], Rule]:
    """Make a function the rule whose sentence is its docstring."""
    return lambda find: Rule(code, name, level, _sentence(find), find)


def contract_rule(code: str, name: str) -> Callable[[Callable[[LintTarget, Contract], Iterator[FoundIn]]], Rule]:
    """Make a function that judges one contract a rule; its findings are about the contract's operator."""

    def with_find(find: Callable[[LintTarget, Contract], Iterator[FoundIn]]) -> Rule:
        def each(subject: LintTarget) -> Iterator[Found]:
            for contract in subject.contracts:
                for place, message, hint in find(subject, contract):
                    yield place, message, contract.operator, hint
                subject.step()

        return Rule(code, name, "error", _sentence(find), each, each_contract=True)

    return with_find


def _sentence(function: Callable[..., object]) -> str:
    return " ".join((function.__doc__ or "").split())
