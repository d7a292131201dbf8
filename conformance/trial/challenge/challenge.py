"""The input of every way of challenging one operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.check import Check
from conformance.trial.client import Asker
from conformance.vectors.case import Case


@dataclass(frozen=True, slots=True)
class Challenge:
    """One operator to be challenged: its check, contract and frozen cases, who answers, and the nonce."""

    check: Check
    contract: Contract
    cases: Sequence[Case]
    backend: Asker
    reference: Asker  # gives the right answers
    codebook: Codebook
    examples: int | None = None  # None: as many as the way asks by itself
    seed: str = ""
    trusted: bool = True  # where the reference is not, the first difference from it is enough

    @property
    def operator(self) -> str:
        """The name of the operator, or of the machine."""
        return self.contract.operator
