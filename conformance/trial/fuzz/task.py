"""What one way of fuzzing works on: an operator, who answers, and how much is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.check import Check
from conformance.trial.client import Client
from conformance.trial.fuzz.draw import DrawnCall
from conformance.vectors.case import Case


@dataclass(frozen=True, slots=True)
class FuzzTask:
    """One operator, or one machine, to be fuzzed or challenged.

    The same seed gives the same calls; without a seed, the operator's name is used. Listed calls are asked besides the
    drawn ones that `examples` counts.
    """

    check: Check
    contract: Contract
    cases: Sequence[Case]
    backend: Client
    reference: Client  # gives the right answers
    codebook: Codebook
    examples: int | None = None  # None: as many as the contract or the way asks by itself
    seed: str = ""
    trusted: bool = True  # a reference that is not may contradict the contract; its first difference is not made small
    drawn: Sequence[DrawnCall] = ()  # calls of the operator that were drawn before

    @property
    def operator(self) -> str:
        """The name of the operator, or of the machine."""
        return self.contract.operator
