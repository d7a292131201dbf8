"""Sequences of calls that a machine's cases lack, found among those that fuzzing draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from conformance.codec.codebook import Codebook
from conformance.contract.engine_value import Unjudgeable
from conformance.contract.machine import State
from conformance.contract.machine_file import OPEN_HANDLE
from conformance.contract.model import Contract
from conformance.lint.call import Evaluator, FrozenCall
from conformance.trial.fuzz.program import Program, method_of, without
from conformance.trial.fuzz.program_draw import Urn, degenerate, move_of, opening, programs, urn_of
from conformance.trial.wanted import Wanted, wanted
from conformance.vectors.case import Case
from conformance.vectors.state_tracking import SUCCEEDS

_NO_CASE: Final = Case("a suggestion", "", "", "", (), (), "quick", ())
_DRAWN: Final = 1500  # programs


@dataclass(frozen=True, slots=True)
class Sequenced:
    """A program whose last call is something that the cases lack."""

    program: Program
    operator: str
    shows: tuple[Wanted, ...]


def machine_suggestions(
    contract: Contract,
    codebook: Codebook,
    cases: Sequence[Case],
    known: Mapping[str, Sequence[FrozenCall]],
) -> tuple[tuple[Sequenced, ...], tuple[tuple[str, Wanted], ...]]:
    """What the `known` calls of some operations lack and the shortest sequences for it; and what was not found.

    States are followed as the machine says; a state that depends on an answer is not known, and nothing is found there.
    """
    search = _Search(urn_of(contract, cases, codebook), codebook)
    for operator, calls in known.items():
        evaluator = Evaluator(codebook[operator].contract)
        search.evaluators[operator] = evaluator
        lacking = wanted(codebook[operator].contract, evaluator, calls)
        # Without a handle the state has no value, so that no other guard can be judged.
        search.missing[operator] = [one for one in lacking if not _is_pair_of_handle(one)]
    drawn = islice(programs(search.urn, f"{contract.operator}\0suggest"), _DRAWN)
    for program in chain(opening(search.urn), degenerate(search.urn), drawn):
        if not any(search.missing.values()):
            break
        search.take(program)
    left = [(operator, one) for operator, some in search.missing.items() for one in dict.fromkeys(some)]
    return tuple(search.found), tuple(left)


def _is_pair_of_handle(one: Wanted) -> bool:
    return one.part == f"guard {OPEN_HANDLE}" and one.name.startswith("before-")


class _Search:
    """What is still missing of every operation, and what was found."""

    def __init__(self, urn: Urn, codebook: Codebook) -> None:
        self.urn, self.codebook = urn, codebook
        self.evaluators: dict[str, Evaluator] = {}
        self.missing: dict[str, list[Wanted]] = {}
        self.found: list[Sequenced] = []

    def take(self, program: Program) -> None:
        """Note every call of a program that is missing, each in the shortest program that leads to it."""
        for k, call in enumerate(self.calls(program)):
            if call is None or not self.missing.get(call.operator):
                continue
            shows = self.shown(call)
            if not shows:
                continue
            short = self.shortest(program[: k + 1], shows)
            self.found.append(Sequenced(short, call.operator, tuple(shows)))
            for one in shows:
                self.missing[call.operator].remove(one)

    def shown(self, call: FrozenCall) -> list[Wanted]:
        """What is missing and this call is."""
        evaluator = self.evaluators[call.operator].forgetful()
        contract = self.codebook[call.operator].contract
        try:
            inside = evaluator.refusal(contract.requires, call) or all(
                evaluator.holds(one.text, call) for one in contract.domain
            )
            distinct = dict.fromkeys(self.missing[call.operator])
            return [one for one in distinct if inside and one.meets(evaluator, call)]
        except Unjudgeable:
            return []

    def calls(self, program: Program) -> Iterator[FrozenCall | None]:
        """Every turn as a call in its state; None where a guard depends on state that is not known."""
        live: dict[int, State] = {}
        for k, turn in enumerate(program):
            contract, method = self.codebook[turn.operator].contract, method_of(self.codebook, turn.operator)
            state = live.get(-1 if turn.handle is None else turn.handle)
            inputs = dict(turn.native) if state is None else {**turn.native, "state": state}
            known = state is not None or not method.takes or turn.handle is not None
            judged = known and contract.foresees(inputs)
            yield FrozenCall(_NO_CASE, str(k), turn.operator, inputs) if judged else None
            reached = self.urn.model.reach(move_of(turn), state)
            if reached.side != SUCCEEDS:
                continue
            if method.opens:
                live[k] = reached.after or {}
            elif turn.handle in live and turn.handle is not None:
                live.pop(turn.handle)
                if reached.after is not None:
                    live[turn.handle] = reached.after

    def shortest(self, program: Program, shows: Sequence[Wanted]) -> Program:
        """The program without every turn that its last call does not need."""
        for k in range(len(program) - 2, -1, -1):
            shorter = without(program, [k])
            if not shorter or shorter[-1].operator != program[-1].operator:
                continue
            *_, last = self.calls(shorter)
            if last is not None and set(shows) <= set(self.shown(last)):
                program = shorter
        return program
