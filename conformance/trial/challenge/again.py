"""Calls that are drawn for this run and asked twice. A backend with two different answers fails; the calls that no
earlier run asked are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, TypeVar

from conformance.backend.driver import Call
from conformance.codec.codebook import OperatorForms
from conformance.trial.challenge.challenge import Challenge
from conformance.trial.check import Check, Result, Verdict
from conformance.trial.client import Asker
from conformance.trial.fuzz.draw import Drawn, only_drawn
from conformance.trial.fuzz.judgement import judged
from conformance.trial.fuzz.machine import MachineSearch
from conformance.trial.fuzz.operator import DEFAULT_EXAMPLES, seed_number
from conformance.trial.fuzz.program import Program
from conformance.trial.fuzz.program_draw import programs, urn_of
from conformance.trial.fuzz.seed import ACCEPTED, printed, seeds_of
from conformance.vectors.case import Case

T = TypeVar("T")
_CALLS: Final = 60  # of an operator; drawing them takes longer than asking
_PROGRAMS: Final = 12  # of a machine, with about eight calls each
_FOUND: Final = "asked twice, the backend and the reference differ"


def fuzz_again(asked: Challenge) -> tuple[Result, Mapping[str, Any]]:
    """Ask drawn calls, and then all of them again, the last first; the result and the figures for the record.

    `unforeseen` counts those that neither the corpus has nor the usual seed draws.
    """
    contract, codebook, backend, reference = asked.contract, asked.codebook, asked.backend, asked.reference
    if contract.machine is not None:
        urn = urn_of(contract, asked.cases, codebook)
        search = MachineSearch(contract, urn, codebook, backend, reference, asked.trusted)
        some = _programs(search, asked.seed)
        mine, usual = frozenset(some), frozenset(_programs(search, ""))
        wrongs = (search.judge(program, counted=True) for program in _twice(list(some.values())))
        wrong = next((one for one in wrongs if one is not None), None)
        reached = {name: search.record()[name] for name in ("examples", "succeeded")}
    else:
        forms = codebook[contract.operator]
        drawn = _calls(forms, asked.cases, asked.seed, _CALLS)
        mine = frozenset(drawn)
        usual = frozenset(_calls(forms, asked.cases, "", DEFAULT_EXAMPLES))
        calls = _twice(list(drawn.values()))
        wrong = _first_wrong(asked.check, forms, calls, backend, reference)
        reached = {"examples": len(calls), "succeeded": sum(one.side == ACCEPTED for one in calls)}
    figures = {**reached, "unforeseen": len(mine - usual)}
    return Result(asked.check, Verdict.PASS) if wrong is None else replace(wrong, check=asked.check), figures


def _twice(some: Sequence[T]) -> list[T]:
    return [*some, *reversed(some)]


def _first_wrong(
    check: Check, forms: OperatorForms, asked: Sequence[Drawn], backend: Asker, reference: Asker
) -> Result | None:
    calls = [Call(forms.contract.operator, forms.inputs.from_native(one.native)) for one in asked]
    for call, right, said in zip(calls, reference.ask(calls), backend.ask(calls), strict=True):
        if (wrong := judged(check, forms.contract, call, right, said, _FOUND)) is not None:
            return wrong
    return None


def _calls(forms: OperatorForms, cases: Sequence[Case], seed: str, wanted: int) -> dict[str, Drawn]:
    """Drawn calls of a seed, by how they are printed."""
    drawn = only_drawn(forms, seeds_of(forms, cases), wanted, seed_number(forms, seed))
    return {printed(one.native): one for one in drawn}


def _programs(search: MachineSearch, seed: str) -> dict[str, Program]:
    """The first drawn programs of a seed, by how they are printed."""
    some = islice(programs(search.urn, f"{search.contract.operator}\0{seed}"), _PROGRAMS)
    return {repr([(turn.operator, printed(dict(turn.native)), turn.handle) for turn in one]): one for one in some}
