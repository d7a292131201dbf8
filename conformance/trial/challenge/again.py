"""Fuzzing a second time: a backend that answers differently twice is found, and what was unforeseen is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.check import Check, Result
from conformance.trial.client import Asker
from conformance.trial.fuzz.draw import DRAWN
from conformance.trial.fuzz.operator import DEFAULT_EXAMPLES, calls_for
from conformance.trial.fuzz.program_draw import programs, urn_of
from conformance.trial.fuzz.seed import printed
from conformance.vectors.case import Case

if TYPE_CHECKING:
    from conformance.trial.fuzz import Fuzzing


def fuzz_again(
    way: Fuzzing,
    check: Check,
    contract: Contract,
    cases: Sequence[Case],
    backend: Asker,
    reference: Asker,
    codebook: Codebook,
    examples: int | None = None,
    seed: str = "",
    trusted: bool = True,
) -> tuple[Result, dict[str, Any]]:
    """Fuzz as `way` does, with the same seed as before; the figures also say how many calls were unforeseen."""
    result, figures = way.fuzz(contract, cases, backend, reference, codebook, examples, seed, trusted)
    new = unforeseen_calls(contract, cases, codebook, examples, seed) if way.check.group == "fuzz" else 0
    return replace(result, check=check), {**figures, "unforeseen": new}


def unforeseen_calls(
    contract: Contract, cases: Sequence[Case], codebook: Codebook, examples: int | None, seed: str
) -> int:
    """How many of the drawn calls, or programs, the corpus does not have and the usual seed does not draw."""
    return len(_drawn(contract, cases, codebook, examples, seed) - _drawn(contract, cases, codebook, examples, ""))


def _drawn(
    contract: Contract, cases: Sequence[Case], codebook: Codebook, examples: int | None, seed: str
) -> frozenset[str]:
    if contract.machine is None:
        calls = calls_for(codebook[contract.operator], cases, examples or 0, seed)
        return frozenset(printed(call.native) for call in calls if call.why == DRAWN)
    urn = urn_of(contract, cases, codebook)
    # No program has fewer calls than one, so that no more programs than wanted calls are asked.
    some = islice(programs(urn, f"{contract.operator}\0{seed}"), examples or DEFAULT_EXAMPLES)
    return frozenset(repr([(turn.operator, printed(dict(turn.native)), turn.handle) for turn in one]) for one in some)
