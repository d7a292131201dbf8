"""Calls that were drawn for this run, a second time: whoever answers differently twice is found, and it is counted how
many of them could not be foreseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from conformance.backend.driver import Call
from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.check import Check, Result, Verdict
from conformance.trial.client import Asker
from conformance.trial.fuzz.draw import DRAWN, Drawn
from conformance.trial.fuzz.judgement import judged
from conformance.trial.fuzz.machine import MachineSearch
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.fuzz.program import Program
from conformance.trial.fuzz.program_draw import programs, urn_of
from conformance.trial.fuzz.seed import printed
from conformance.vectors.case import Case

_CALLS: Final = 60  # of an operator
_PROGRAMS: Final = 12  # of a machine, with about eight calls each
_FOUND: Final = "asked a second time, the backend and the reference differ"


def fuzz_again(
    check: Check,
    contract: Contract,
    cases: Sequence[Case],
    backend: Asker,
    reference: Asker,
    codebook: Codebook,
    examples: int | None = None,
    seed: str = "",
    trusted: bool = True,
) -> tuple[Result, Mapping[str, Any]]:
    """Ask some of the drawn calls again, the last first; the result and the figures for the record.

    `unforeseen` counts the drawn calls that neither the corpus has nor the usual seed draws.
    """
    if contract.machine is not None:
        search = MachineSearch(contract, urn_of(contract, cases, codebook), codebook, backend, reference, trusted)
        drawn, usual = (_programs(search, text) for text in (seed, ""))
        again = list(drawn.values())
        wrongs: Iterator[Result | None] = (search.judge(program) for program in reversed(again))
        figures = {"asked": len(again), "unforeseen": len(drawn.keys() - usual.keys())}
    else:
        mine, others = (_calls(contract, cases, codebook, text) for text in (seed, ""))
        wrongs = _asked_again(check, contract, list(mine.values())[:_CALLS], backend, reference, codebook)
        figures = {"asked": min(len(mine), _CALLS), "unforeseen": len(mine.keys() - others.keys())}
    wrong = next((replace(one, check=check) for one in wrongs if one is not None), None)
    return wrong or Result(check, Verdict.PASS), figures


def _asked_again(
    check: Check, contract: Contract, some: Sequence[Drawn], backend: Asker, reference: Asker, codebook: Codebook
) -> Iterator[Result | None]:
    forms = codebook[contract.operator]
    asked = [Call(contract.operator, forms.inputs.from_native(one.native)) for one in reversed(some)]
    for call, right, said in zip(asked, reference.ask(asked), backend.ask(asked), strict=True):
        yield judged(check, contract, call, right, said, _FOUND)


def _calls(contract: Contract, cases: Sequence[Case], codebook: Codebook, seed: str) -> dict[str, Drawn]:
    """The drawn calls of a seed, by how they are printed."""
    calls = calls_for(codebook[contract.operator], cases, 0, seed)
    return {printed(one.native): one for one in calls if one.why == DRAWN}


def _programs(search: MachineSearch, seed: str) -> dict[str, Program]:
    """The first drawn programs of a seed, by how they are printed."""
    some = islice(programs(search.urn, f"{search.contract.operator}\0{seed}"), _PROGRAMS)
    return {repr([(turn.operator, printed(dict(turn.native)), turn.handle) for turn in one]): one for one in some}
