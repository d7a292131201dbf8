"""Edits of a subject: a contract, a requirement page or the corpus differs in one place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from conformance.codec.codebook import codebook_of
from conformance.contract.family import SequenceDeclaration, coverage_from, requirements_from, sequences_from
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.parse import contract_from
from conformance.contract.yaml.source import ValuePath
from conformance.lint.call import memory_of
from conformance.lint.rule import LintTarget
from conformance.tests.lint_faults.compiled import compiled_once, functions_of
from conformance.vectors.case import Case


@dataclass(frozen=True, slots=True)
class Fault:
    """One deliberate fault, which the rule `code` must find.

    `subject` makes the faulty subject when the test asks for it, because that may evaluate every case of a contract. It
    makes none if the fault would change nothing.
    """

    code: str
    name: str
    subject: Callable[[], LintTarget | None]


class Tree:
    """A parsed file that edits change at paths; the parts that no edit changes are shared with the file."""

    def __init__(self, value: Any) -> None:
        self.value = copy.copy(value)

    def at(self, path: ValuePath) -> Any:
        """A copy of the value at a path."""
        value = self.value
        for step in path:
            value = value[step]
        return copy.deepcopy(value)

    def put(self, path: ValuePath, value: Any) -> Tree:
        """Put a value at a path; missing mappings above it are made."""
        self._copied(path[:-1], missing={})[path[-1]] = value
        return self

    def drop(self, path: ValuePath) -> Tree:
        """Remove the value at a path."""
        del self._copied(path[:-1])[path[-1]]
        return self

    def add(self, path: ValuePath, *items: Any) -> Tree:
        """Append items to the list at a path; a missing list is made."""
        self._copied(path, missing=[]).extend(items)
        return self

    def _copied(self, path: ValuePath, missing: Any = None) -> Any:
        """The container at a path, copied, as is every container above it; `missing` replaces an absent one."""
        container = self.value
        for step in path:
            absent = missing is not None and isinstance(container, dict) and step not in container
            container[step] = copy.copy(missing if absent else container[step])
            container = container[step]
        return container


Edit = Callable[[Tree], Tree]


def put(path: ValuePath, value: Any) -> Edit:
    """The edit that puts a value at a path."""
    return lambda tree: tree.put(path, value)


def drop(path: ValuePath) -> Edit:
    """The edit that removes the value at a path."""
    return lambda tree: tree.drop(path)


def add(path: ValuePath, *items: Any) -> Edit:
    """The edit that appends items to the list at a path."""
    return lambda tree: tree.add(path, *items)


def with_library(subject: LintTarget, library: Library, only: Iterable[str] | None) -> LintTarget:
    """The subject with another library; `only` names the contracts to judge.

    If no type changed, it keeps the codebook, and with it every call that was read and evaluated already.
    """
    codebook = subject.codebook if _same_types(subject.library, library) else codebook_of(library)
    changed = replace(subject, library=library, codebook=codebook)
    return changed if only is None else replace(changed, only=frozenset(only))


def _same_types(one: Library, other: Library) -> bool:
    return one.contracts.keys() == other.contracts.keys() and all(
        mine is (yours := other.contracts[name]) or _types(mine) == _types(yours)
        for name, mine in one.contracts.items()
    )


def _types(contract: Contract) -> object:
    return contract.inputs, contract.outputs, memory_of(contract)


def with_contract(subject: LintTarget, contract: Contract, edit: Edit) -> LintTarget:
    """The subject with one contract edited and parsed again; judges that contract only. Raises MalformedContract."""
    source = replace(contract.source, value=edit(Tree(contract.source.value)).value)
    library = subject.library
    machine = contract.machine if contract.method is not None else None
    with compiled_once():
        changed = contract_from(source, contract.family, library.types, functions_of(library.errors), machine)
    # An operator that the edit renames keeps its place under its old name: the rules judge the contract's own name.
    contracts = {**library.contracts, contract.operator: changed}
    return with_library(subject, replace(library, contracts=contracts), {contract.operator})


def with_requirements(subject: LintTarget, family: str, edit: Edit) -> LintTarget:
    """The subject with one requirements.yaml edited."""
    source = subject.library.requirements[family].source
    page = requirements_from(replace(source, value=edit(Tree(source.value)).value), family)
    return with_tables(subject, requirements={**subject.library.requirements, family: page})


def with_coverage(subject: LintTarget, family: str, edit: Edit) -> LintTarget:
    """The subject with one coverage.yaml edited."""
    source = subject.library.coverage[family].source
    page = coverage_from(replace(source, value=edit(Tree(source.value)).value), family)
    return with_tables(subject, coverage={**subject.library.coverage, family: page})


def with_sequences(subject: LintTarget, declaration: SequenceDeclaration, edit: Edit) -> LintTarget:
    """The subject with the sequences.yaml of one declaration edited; its other sequences are left out."""
    source = replace(declaration.source, value=edit(Tree(declaration.source.value)).value)
    place = declaration.path[-1]
    changed = next(one for one in sequences_from(source) if one.path[-1] == place)
    return with_tables(subject, sequences={declaration.operator: changed})


def with_tables(subject: LintTarget, **tables: Any) -> LintTarget:
    """The subject with other tables than contracts in its library (requirements, errors, rulings, mutants)."""
    return replace(subject, library=replace(subject.library, **tables))


def with_cases(subject: LintTarget, operator: str, cases: Iterable[Case]) -> LintTarget:
    """The subject with other cases of one operator; judges that operator only."""
    return replace(subject, cases={**subject.cases, operator: tuple(cases)}, only=frozenset({operator}))


def without_cases(subject: LintTarget, operator: str, dropped: Callable[[Case], bool]) -> LintTarget:
    """The subject whose corpus lacks some cases of any operator; judges `operator` only."""
    kept = {
        name: tuple(case for case in cases if not dropped(case)) if any(map(dropped, cases)) else cases
        for name, cases in subject.cases.items()
    }
    return replace(subject, cases=kept, only=frozenset({operator}))
