"""The forms of every operator's inputs, outputs and failure record, compiled once for a whole library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.codec.form import Form, form_of

if TYPE_CHECKING:  # the expression engine that these bring along costs a worker process 100 ms
    from conformance.contract.library import Library
    from conformance.contract.model import Contract


@dataclass(frozen=True, slots=True)
class OperatorForms:
    """How one operator's values stand on the wire."""

    contract: Contract
    inputs: Form
    outputs: Form
    failure: Form


@dataclass(frozen=True, slots=True)
class Codebook:
    """The forms of every operator, and the number of every failure code."""

    forms: Mapping[str, OperatorForms]
    numbers: Mapping[str, int]

    def __getitem__(self, operator: str) -> OperatorForms:
        return self.forms[operator]

    def __contains__(self, operator: object) -> bool:
        return operator in self.forms


def codebook_of(library: Library) -> Codebook:
    """The codebook of a library."""
    forms = {
        name: OperatorForms(contract, form_of(contract.inputs), form_of(contract.outputs), form_of(contract.failure))
        for name, contract in library.contracts.items()
    }
    return Codebook(forms, {code: error.number for code, error in library.errors.items()})
