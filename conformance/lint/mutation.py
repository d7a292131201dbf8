"""A subject with one deliberate fault: a contract, requirement page or corpus that differs in one place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.contract.family import coverage_from, requirements_from
from conformance.contract.functions import FUNCTIONS
from conformance.contract.model import Contract
from conformance.contract.parse import contract_from
from conformance.contract.registry import registry_functions
from conformance.lint.subject import Subject
from conformance.vectors.case import Case

Path = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Fault:
    """One deliberate fault, which the rule `code` must find; `subject` makes the faulty subject when it is asked."""

    code: str
    name: str
    subject: Callable[[], Subject]


class Tree:
    """A parsed file that edits change at paths; what an edit does not touch is shared with the file, not copied."""

    def __init__(self, value: Any) -> None:
        self.value = copy.copy(value)

    def at(self, path: Path) -> Any:
        """A copy of the value at a path."""
        value = self.value
        for step in path:
            value = value[step]
        return copy.deepcopy(value)

    def put(self, path: Path, value: Any) -> Tree:
        """Put a value at a path, making the mapping above it where there is none."""
        self._holder(path[:-1], missing={})[path[-1]] = value
        return self

    def drop(self, path: Path) -> Tree:
        """Take away what stands at a path."""
        del self._holder(path[:-1])[path[-1]]
        return self

    def add(self, path: Path, *items: Any) -> Tree:
        """Append items to the list at a path, making it where there is none."""
        self._holder(path, missing=[]).extend(items)
        return self

    def _holder(self, path: Path, missing: Any = None) -> Any:
        """The container at a path, no longer shared, nor those above it; where a map has no such key, `missing`."""
        holder = self.value
        for step in path:
            known = missing if isinstance(holder, dict) and missing is not None and step not in holder else holder[step]
            holder[step] = copy.copy(known)
            holder = holder[step]
        return holder


Edit = Callable[[Tree], Tree]


def put(path: Path, value: Any) -> Edit:
    """The edit that puts a value at a path."""
    return lambda tree: tree.put(path, value)


def drop(path: Path) -> Edit:
    """The edit that takes away what stands at a path."""
    return lambda tree: tree.drop(path)


def add(path: Path, *items: Any) -> Edit:
    """The edit that appends items to the list at a path."""
    return lambda tree: tree.add(path, *items)


def with_contract(subject: Subject, contract: Contract, edit: Edit) -> Subject:
    """The subject with one contract edited and parsed again; judges that contract only. Raises MalformedContract."""
    source = replace(contract.source, value=edit(Tree(contract.source.value)).value)
    library = subject.library
    functions = (*FUNCTIONS, *registry_functions(library.errors))
    machine = contract.machine if contract.method is not None else None
    changed = contract_from(source, contract.family, library.types, functions, machine)
    # An operator keeps its place under its old name when the edit renames it: the rules judge the contract's own.
    contracts = {**library.contracts, contract.operator: changed}
    return subject.derive(library=replace(library, contracts=contracts), only={contract.operator})


def with_requirements(subject: Subject, family: str, edit: Edit) -> Subject:
    """The subject with one requirements.yaml edited."""
    page = subject.library.requirements[family]
    source = replace(page.source, value=edit(Tree(page.source.value)).value)
    pages = {**subject.library.requirements, family: requirements_from(source, family)}
    return subject.derive(library=replace(subject.library, requirements=pages))


def with_coverage(subject: Subject, family: str, edit: Edit) -> Subject:
    """The subject with one coverage.yaml edited."""
    page = subject.library.coverage[family]
    source = replace(page.source, value=edit(Tree(page.source.value)).value)
    pages = {**subject.library.coverage, family: coverage_from(source, family)}
    return subject.derive(library=replace(subject.library, coverage=pages))


def with_library(subject: Subject, **changes: Any) -> Subject:
    """The subject with other tables in its library (errors, rulings, mutants)."""
    return subject.derive(library=replace(subject.library, **changes))


def without_cases(subject: Subject, operator: str, dropped: Callable[[Case], bool]) -> Subject:
    """The subject whose corpus lacks some cases of any operator; judges `operator` only."""
    kept = {name: tuple(case for case in cases if not dropped(case)) for name, cases in subject.cases.items()}
    return subject.derive(cases=kept, only={operator})


def with_cases(subject: Subject, operator: str, cases: Iterable[Case]) -> Subject:
    """The subject with other cases of one operator; judges that operator only."""
    return subject.derive(cases={**subject.cases, operator: tuple(cases)}, only={operator})
