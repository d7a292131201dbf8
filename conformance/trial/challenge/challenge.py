"""The challenge of one operator, and its ways that ask calls: drawn calls twice, changed cases, long runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from random import Random
from typing import Any, Final, TypeVar

from conformance.backend.driver import Call
from conformance.backend.outcome import Lost
from conformance.codec.codebook import Codebook, OperatorForms
from conformance.contract.model import Contract
from conformance.contract.types import without_places
from conformance.trial.bystanders import one_of_each_group, with_harness_reads
from conformance.trial.check import Check, Result, Verdict, lost, unjudged
from conformance.trial.client import Client
from conformance.trial.fuzz.draw import DrawnCall, only_drawn
from conformance.trial.fuzz.file_example import Example, is_left_open, until_left_open
from conformance.trial.fuzz.files import FileSearch, edited_trees
from conformance.trial.fuzz.machine import MachineSearch
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.operator import DEFAULT_EXAMPLES, reference_lost, seed_number, wrong_answer
from conformance.trial.fuzz.program import Program
from conformance.trial.fuzz.program_draw import programs
from conformance.trial.fuzz.seed import ACCEPTED, InputLimits, Seeds, Vocabulary, printed, seeds_of, vocabulary_of
from conformance.trial.fuzz.task import FuzzTask
from conformance.trial.generator import Native
from conformance.vectors.case import Accumulation, CallStep, Case, QuestionCall
from conformance.vectors.compact import holds_recipe
from conformance.vectors.conversation.accumulate import AccumulatedRun, accumulate, gap
from conformance.vectors.conversation.exchange import runs_alone
from conformance.vectors.conversation.state_tracking import UNKNOWN_HANDLE
from conformance.vectors.leaf import contains_value, is_damaged, is_reference

T = TypeVar("T")
_CALLS: Final = 60  # of an operator; drawing them takes longer than asking
_PROGRAMS: Final = 12  # of a machine, with about eight calls each
_FOUND: Final = "asked twice, the backend and the reference differ"


def fuzz_again(task: FuzzTask) -> tuple[Result, Mapping[str, Any]]:
    """Ask drawn calls, then all of them again in reverse order; the result and the figures for the record.

    `unforeseen` counts the calls that are not in the corpus and that the usual seed does not draw.
    """
    contract, codebook, backend, reference = task.contract, task.codebook, task.backend, task.reference
    if contract.machine is not None:
        search = MachineSearch(task)
        some = _programs(search, task.seed)
        mine, usual = frozenset(some), frozenset(_programs(search, ""))
        wrongs = (search.judge(program, counted=True) for program in _twice(list(some.values())))
        wrong = next((one for one in wrongs if one is not None), None)
        reached = {name: search.record()[name] for name in ("examples", "succeeded")}
    else:
        forms = codebook[contract.operator]
        bounds = InputLimits(contract)  # without the cache, into which a backend of this user could write
        seeds = seeds_of(forms, task.cases, bounds)
        drawn = _calls(forms, seeds, task.seed, _CALLS, bounds)
        mine = frozenset(drawn)
        usual = frozenset(_calls(forms, seeds, "", DEFAULT_EXAMPLES, bounds))
        calls = _twice(list(drawn.values()))
        wrong = _first_wrong(task.check, forms, calls, backend, reference)
        reached = {"examples": len(calls), "succeeded": sum(one.side == ACCEPTED for one in calls)}
    figures = {**reached, "unforeseen": len(mine - usual)}
    return wrong or Result(task.check, Verdict.PASS), figures


def _twice(some: Sequence[T]) -> list[T]:
    return [*some, *reversed(some)]


def _first_wrong(
    check: Check, forms: OperatorForms, asked: Sequence[DrawnCall], backend: Client, reference: Client
) -> Result | None:
    calls = [Call(forms.contract.operator, forms.inputs.from_native(one.native)) for one in asked]
    for call, right, said in zip(calls, reference.ask(calls), backend.ask(calls), strict=True):
        if (wrong := wrong_answer(check, forms.contract, call, right, said, _FOUND)) is not None:
            return wrong
    return None


def _calls(
    forms: OperatorForms, seeds: Seeds, seed: str, wanted: int, bounds: InputLimits
) -> dict[str, DrawnCall]:
    """Drawn calls of a seed, by how they are printed."""
    drawn = only_drawn(forms, seeds, wanted, seed_number(forms, seed), bounds)
    return {printed(one.native): one for one in drawn}


def _programs(search: MachineSearch, seed: str) -> dict[str, Program]:
    """The first drawn programs of a seed, by how they are printed."""
    some = islice(programs(search.pool, f"{search.contract.operator}\0{seed}"), _PROGRAMS)
    return {repr([(turn.operator, printed(dict(turn.native)), turn.handle) for turn in one]): one for one in some}


EXAMPLES: Final = 24  # changed cases; each is walked twice by the backend and once by the reference
_BASES: Final = 24  # frozen cases that calls are taken from
_TRIES: Final = 10  # candidates for one example
_CHANGES: Final = (1, 1, 2)


def takes_files(contract: Contract) -> bool:
    """Whether an operator works on files and is no part of a machine; a machine is fuzzed as a whole."""
    return contract.purity == "io" and contract.machine is None


def fuzz_calls(task: FuzzTask) -> tuple[Result, Mapping[str, Any]]:
    """Ask frozen cases with one call changed, each twice; the result and the figures for the record.

    An operator whose only inputs are roots is asked about changed trees instead.
    """
    search = FileSearch(task)
    changed: set[str] = set()
    for example in _changed_cases(task):
        search.try_one(example)
        if search.found is None:
            search.found = search.judge(example)
        changed.add(printed([getattr(step, "inputs", None) or getattr(step, "body", None) for step in example.steps]))
        if search.found is not None:
            break
    if search.found is not None:
        result = search.found
    elif changed:
        result = Result(task.check, Verdict.PASS)
    else:
        result = unjudged(task.check, "no call of a frozen case could be changed")
    return result, {**search.record(), "unforeseen": len(changed)}


def _changed_cases(task: FuzzTask) -> Iterator[Example]:
    hand, count = _Hand(task.contract, task.cases, task.codebook), task.examples or EXAMPLES
    if not hand.plain.fields:
        yield from edited_trees(task, count)
        return
    for number in range(count):
        digest = hashlib.sha256(f"{task.operator}\0calls\0{task.seed}\0{number}".encode()).digest()
        if (example := hand.example(Random(digest))) is None:  # noqa: S311
            return
        yield example


class _Hand:
    """Changes calls of frozen cases."""

    def __init__(self, contract: Contract, cases: Sequence[Case], codebook: Codebook) -> None:
        self.contract, self.codebook, self.forms = contract, codebook, codebook[contract.operator]
        self.plain, self.bounds = without_places(contract.inputs), InputLimits(contract)
        some = [one for one in cases if one.profile == "quick" and not runs_alone(one.steps)]
        calls = ((case, k) for case in some for k, step in enumerate(case.steps) if self._is_whole(step))
        found = [(case, k) for case, k in calls if not is_left_open(contract, case.steps[:k])]
        chosen = {case.id for case in one_of_each_group([case for case, _ in found], _BASES)}
        self.places = [(case, k) for case, k in found if case.id in chosen]
        natives = [self._native(case.steps[k]) for case, k in self.places]
        self.words: Vocabulary = vocabulary_of(replace(contract, inputs=self.plain), natives)
        self.known = {printed(native) for native in natives}

    def example(self, random: Random) -> Example | None:
        """A case with one of its calls changed; None if there is no case, or no change that may be asked is found."""
        for _ in range(_TRIES if self.places else 0):
            case, k = random.choice(self.places)
            step = case.steps[k]
            assert isinstance(step, CallStep)
            native, tame = self._native(step), random.random() < 0.5
            for _ in range(random.choice(_CHANGES)):
                native = mutated(native, random, self.words, tame)
            if printed(native) in self.known or self.bounds.side({**native, **self._places(step)}) is None:
                continue
            wire = {**self.forms.inputs.from_native({**native, **self._places(step)}), **self._roots(step)}
            steps = with_harness_reads(case.steps, self.contract.fuzz_decode)
            at = next(place for place, one in enumerate(steps) if one is step)
            after = (QuestionCall(step.name, step.operator, wire), *steps[at + 1 :])
            return until_left_open(self.contract, Example(steps[:at], (), after, case.id))
        return None

    def _is_whole(self, step: Any) -> bool:
        """Whether a step is a call of the operator whose inputs, except its roots, are written in the step."""
        if not isinstance(step, CallStep) or step.operator != self.contract.operator:
            return False
        wire = {name: value for name, value in step.inputs.items() if name not in self._roots(step)}
        unfit = holds_recipe(wire) or contains_value(wire, lambda part: is_reference(part) or is_damaged(part))
        return not unfit and bool(self.plain.fields)

    def _roots(self, step: CallStep) -> dict[str, Any]:
        return {name: step.inputs[name] for name in self.forms.roots if name in step.inputs}

    def _places(self, step: CallStep) -> dict[str, Any]:
        return dict.fromkeys(self._roots(step), UNKNOWN_HANDLE)

    def _native(self, step: Any) -> Native:
        wire = {**step.inputs, **self._places(step)}
        native: Native = self.forms.inputs.to_native(wire)
        return {name: value for name, value in native.items() if name not in self._roots(step)}


_RUNS: Final = 4  # of one operator
_MOST_IN_A_RUN: Final = 64  # of one run
_MOST_CHANGES: Final = 20  # changes of the inputs until no guard refuses them


def long_runs(cases: Sequence[Case]) -> list[Accumulation]:
    """The accumulated cases, without those that take hours."""
    return [case.accumulation for case in cases if case.accumulation is not None and case.profile != "golden"]


def fuzz_long_runs(task: FuzzTask) -> tuple[Result, Mapping[str, Any]]:
    """Make some of the long runs with other inputs, other seeds and fewer calls; the result and the figures."""
    check, codebook, backend, reference = task.check, task.codebook, task.backend, task.reference
    calls = succeeded = runs = 0
    wrong: Result | None = None
    for one in drawn_runs(task.contract, task.cases, codebook, task.seed):
        right = reference.run(partial(accumulate, one, codebook, reference.dialect))
        if isinstance(right, Lost):
            wrong = reference_lost(check, right)
            break
        done = one.count if right.stop is None else right.stop.call
        runs, calls, succeeded = runs + 1, calls + done, succeeded + done - (right.stop is not None)
        said = backend.run(partial(accumulate, one, codebook, backend.dialect))
        if (wrong := _wrong(check, right, said)) is not None:
            break
    figures = {"examples": calls, "succeeded": succeeded, "runs": runs, "unforeseen": runs}
    return wrong or Result(check, Verdict.PASS), figures


def drawn_runs(contract: Contract, cases: Sequence[Case], codebook: Codebook, seed: str) -> Iterator[Accumulation]:
    """Runs that the corpus does not have."""
    forms, bounds = codebook[contract.operator], InputLimits(contract)
    known = long_runs(cases)
    digest = hashlib.sha256(f"{contract.operator}\0series\0{seed}".encode()).digest()
    random = Random(digest)  # noqa: S311
    words = vocabulary_of(contract, [forms.inputs.to_native(one.inputs) for one in known])
    for one in random.sample(known, min(_RUNS, len(known))):
        told, native = printed(forms.inputs.to_native(one.inputs)), forms.inputs.to_native(one.inputs)
        for _ in range(_MOST_CHANGES):
            other = mutated(native, random, words, tame=True)
            if printed(other) != told and bounds.side(other) == ACCEPTED:
                native = other
        new = one.generator == "random" or printed(native) != told
        if new:
            inputs = dict(forms.inputs.from_native(native))
            count, number = min(one.count, _MOST_IN_A_RUN), f"{random.getrandbits(64):016x}"
            yield replace(one, inputs=inputs, seed=one.seed and number, count=count, checkpoints=())


def _wrong(check: Check, right: AccumulatedRun, said: AccumulatedRun | Lost) -> Result | None:
    if isinstance(said, Lost):
        return lost(check, said)
    if said.stop != right.stop:
        stop = said.stop or right.stop
        assert stop is not None
        message = f"a long run with new inputs: call {stop.call} is answered otherwise than by the reference"
        return Result(check, Verdict.FAIL, "result", message=message)
    between = gap(right.checkpoints, said.checkpoints)
    if between is None:
        return None
    return Result(check, Verdict.FAIL, "result", message=f"a long run with new inputs: {between}")
