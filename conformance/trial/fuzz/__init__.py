"""Differential fuzzing: inputs derived from the contract alone, answers compared with the reference's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.check import Check, Result
from conformance.trial.client import Client
from conformance.trial.fuzz.files import files_check, fuzz_files, keeps_files
from conformance.trial.fuzz.operator import fuzz_check, fuzz_operator
from conformance.trial.fuzz.task import FuzzTask
from conformance.vectors.case import Case

__all__ = ["FuzzTask", "Fuzzing", "fuzz_operator", "fuzzings_of"]


@dataclass(frozen=True, slots=True)
class Fuzzing:
    """One way in which one operator, or one machine, is fuzzed; `figures` is its name in the record."""

    check: Check
    contract: Contract
    way: Callable[[FuzzTask], tuple[Result, Mapping[str, Any]]]
    figures: str

    def fuzz(
        self, cases: Sequence[Case], backend: Client, reference: Client, codebook: Codebook, **options: Any
    ) -> tuple[Result, Mapping[str, Any]]:
        """The result and the figures for the record; `options` are those of a `FuzzTask`."""
        return self.way(FuzzTask(self.check, self.contract, cases, backend, reference, codebook, **options))


def fuzzings_of(contract: Contract, cases: Sequence[Case]) -> Iterator[Fuzzing]:
    """The ways to fuzz a contract: by calls if it is pure or a whole machine, by files if its cases have files."""
    if contract.purity == "pure" or contract.own_machine is not None:
        yield Fuzzing(fuzz_check(contract), contract, fuzz_operator, contract.operator)
    if keeps_files(contract, cases):
        check = files_check(contract)
        yield Fuzzing(check, contract, fuzz_files, check.id)
