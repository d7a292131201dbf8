"""Tasks of fuzzing for tests: the usual check of an operator, and whoever answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.client import Client
from conformance.trial.fuzz.operator import fuzz_check
from conformance.trial.fuzz.task import FuzzTask
from conformance.vectors.case import Case


def task_of(
    contract: Contract, cases: Sequence[Case], backend: object, right: object, codebook: Codebook, **options: Any
) -> FuzzTask:
    """The fuzzing of one operator, where a backend and a reference may be other objects that answer like a client."""
    both = cast(Client, backend), cast(Client, right)
    return FuzzTask(fuzz_check(contract), contract, cases, *both, codebook, **options)
