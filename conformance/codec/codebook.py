"""The forms of every operator's inputs, outputs and failure record, compiled once for a whole library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.codec.form import Form, form_of
from conformance.contract.lazy import LazyMapping, files_digest
from conformance.contract.suite import Suite
from conformance.contract.types import HANDLE, ROOT, has_volatile, lasting, members_of

if TYPE_CHECKING:  # these import the expression engine, which costs a worker process 100 ms
    from conformance.contract.family import FileFormat
    from conformance.contract.library import Library
    from conformance.contract.model import Contract


@dataclass(frozen=True, slots=True)
class OperatorForms:
    """The forms of one operator's values."""

    contract: Contract
    inputs: Form
    outputs: Form
    failure: Form
    roots: tuple[str, ...] = ()  # inputs that are directories
    handles: tuple[str, ...] = ()  # inputs that are handles
    given: tuple[str, ...] = ()  # outputs that are handles
    lasting: Form | None = None  # of the outputs without volatile members, if there are any
    suite: Suite = field(default_factory=lambda: Suite(Path()))  # the suite whose generators make inputs


@dataclass(frozen=True, slots=True)
class Codebook:
    """The forms of every operator, and the number of every failure code."""

    forms: Mapping[str, OperatorForms]
    numbers: Mapping[str, int]
    formats: Mapping[str, FileFormat] = field(default_factory=dict)  # the formats of files that operators keep
    machines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the methods of every machine
    suite: Suite = field(default_factory=lambda: Suite(Path()))  # the suite whose backends use these forms

    def __getitem__(self, operator: str) -> OperatorForms:
        return self.forms[operator]

    def __contains__(self, operator: object) -> bool:
        return operator in self.forms

    def promised(self, names: Iterable[str]) -> frozenset[str]:
        """The operators that these names declare; a machine's name means all of its methods (DESIGN 6)."""
        declared = frozenset(names)
        return declared.union(*(methods for name, methods in self.machines.items() if name in declared))

    def stray_method(self, names: Iterable[str]) -> tuple[str, str] | None:
        """The first name of a method whose machine is not among the names, and that machine."""
        declared = frozenset(names)
        machine_of = {method: name for name, methods in self.machines.items() for method in methods}
        for name in sorted(declared & machine_of.keys()):
            if machine_of[name] not in declared:
                return name, machine_of[name]
        return None


def codebook_of(library: Library) -> Codebook:
    """The codebook of a library; the forms of an operator are made at their first use."""
    contracts = library.contracts

    def forms(name: str) -> OperatorForms:
        return _forms_of(contracts[name], library.suite)

    numbers = {code: error.number for code, error in library.errors.items()}
    by_name = LazyMapping(dict.fromkeys(contracts), forms, files_digest(contracts))
    return Codebook(by_name, numbers, library.formats, library.machines, library.suite)


def _forms_of(contract: Contract, suite: Suite) -> OperatorForms:
    return OperatorForms(
        contract,
        form_of(contract.inputs),
        form_of(contract.outputs),
        form_of(contract.failure),
        members_of(contract.inputs, ROOT),
        members_of(contract.inputs, HANDLE),
        members_of(contract.outputs, HANDLE),
        form_of(lasting(contract.outputs)) if has_volatile(contract.outputs) else None,
        suite,
    )
