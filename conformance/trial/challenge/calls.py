"""New inputs for operators that keep files: a call of a frozen case is changed, and the reference answers it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.contract.types import Struct, is_place
from conformance.trial.bystanders import one_of_each_group, with_looks
from conformance.trial.challenge.challenge import Challenge
from conformance.trial.check import Result, Verdict
from conformance.trial.fuzz.file_example import Example
from conformance.trial.fuzz.files import FileSearch
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.seed import Bounds, Vocabulary, printed, vocabulary_of
from conformance.trial.generator import Native
from conformance.vectors.case import Asked, CallStep, Case
from conformance.vectors.compact import holds_recipe
from conformance.vectors.exchange import restarts
from conformance.vectors.leaf import anywhere, is_damaged, is_reference
from conformance.vectors.state_tracking import UNKNOWN_HANDLE

EXAMPLES: Final = 24  # changed cases; each is walked twice by the backend and once by the reference
_BASES: Final = 24  # frozen cases that calls are taken from
_TRIES: Final = 10  # candidates for one example
_CHANGES: Final = (1, 1, 2)


def takes_files(contract: Contract) -> bool:
    """Whether an operator keeps files and is no part of a machine, whose operations are fuzzed together."""
    return contract.purity == "io" and contract.machine is None


def fuzz_calls(asked: Challenge) -> tuple[Result, Mapping[str, Any]]:
    """Ask frozen cases with one call changed, each twice; the result and the figures for the record."""
    search = FileSearch(asked.contract, asked.backend, asked.reference, asked.codebook, asked.trusted, asked.check)
    hand = _Hand(asked.contract, asked.cases, asked.codebook)
    changed: set[str] = set()
    for number in range(asked.examples or EXAMPLES):
        digest = hashlib.sha256(f"{asked.operator}\0calls\0{asked.seed}\0{number}".encode()).digest()
        example = hand.example(Random(digest))  # noqa: S311
        if search.found is not None or example is None:
            break
        search.hold(example)
        if search.found is None:
            search.found = search.judge(example)
        changed.add(printed([getattr(step, "inputs", None) for step in example.steps]))
    if search.found is not None:
        result = search.found
    elif changed:
        result = Result(asked.check, Verdict.PASS)
    else:
        result = Result(asked.check, Verdict.ERROR, message="no call of a frozen case could be changed", of_suite=True)
    return result, {**search.record(), "unforeseen": len(changed)}


class _Hand:
    """Changes calls of frozen cases."""

    def __init__(self, contract: Contract, cases: Sequence[Case], codebook: Codebook) -> None:
        self.contract, self.codebook, self.forms = contract, codebook, codebook[contract.operator]
        fields = tuple(one for one in contract.inputs.fields if not is_place(one.type))
        self.plain, self.bounds = Struct(fields), Bounds(contract)
        some = [one for one in cases if one.profile == "quick" and not restarts(one.steps)]
        found = [(case, k) for case in some for k, step in enumerate(case.steps) if self._is_whole(step)]
        chosen = {case.id for case in one_of_each_group([case for case, _ in found], _BASES)}
        self.places = [(case, k) for case, k in found if case.id in chosen]
        natives = [self._native(case.steps[k]) for case, k in self.places]
        self.words: Vocabulary = vocabulary_of(replace(contract, inputs=self.plain), natives)
        self.known = {printed(native) for native in natives}

    def example(self, random: Random) -> Example | None:
        """A case with one of its calls changed; None where there is no case, or no change that may be asked."""
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
            steps = with_looks(case.steps, self.contract.fuzz_decode)
            at = next(place for place, one in enumerate(steps) if one is step)
            return Example(steps[:at], (), (Asked(step.name, step.operator, wire), *steps[at + 1 :]), case.id)
        return None

    def _is_whole(self, step: Any) -> bool:
        """Whether a step is a call of the operator whose inputs, places apart, are written in it."""
        if not isinstance(step, CallStep) or step.operator != self.contract.operator:
            return False
        wire = {name: value for name, value in step.inputs.items() if name not in self._roots(step)}
        unfit = holds_recipe(wire) or anywhere(wire, lambda part: is_reference(part) or is_damaged(part))
        return not unfit and bool(self.plain.fields)

    def _roots(self, step: CallStep) -> dict[str, Any]:
        return {name: step.inputs[name] for name in self.forms.roots if name in step.inputs}

    def _places(self, step: CallStep) -> dict[str, Any]:
        return dict.fromkeys(self._roots(step), UNKNOWN_HANDLE)

    def _native(self, step: Any) -> Native:
        wire = {**step.inputs, **self._places(step)}
        native: Native = self.forms.inputs.to_native(wire)
        return {name: value for name, value in native.items() if name not in self._roots(step)}
