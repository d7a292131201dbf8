"""Long runs with new inputs and seeds: the backend must reach the same running hashes as the reference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

from conformance.backend.outcome import Lost
from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.challenge.challenge import Challenge
from conformance.trial.check import Check, Result, Verdict, loss_sentence, outcome_name
from conformance.trial.fuzz.judgement import LOST
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.seed import ACCEPTED, Bounds, printed, vocabulary_of
from conformance.vectors.accumulate import Accumulated, accumulate, gap
from conformance.vectors.case import Accumulation, Case

_RUNS: Final = 4  # of one operator
_CALLS: Final = 64  # of one run
_TRIES: Final = 20  # changes of the inputs until one is let through


def long_runs(cases: Sequence[Case]) -> list[Accumulation]:
    """The accumulated cases, without those that take hours."""
    return [case.accumulation for case in cases if case.accumulation is not None and case.profile != "golden"]


def fuzz_series(asked: Challenge) -> tuple[Result, Mapping[str, Any]]:
    """Make some of the long runs with other inputs, other seeds and fewer calls; the result and the figures."""
    check, codebook, backend, reference = asked.check, asked.codebook, asked.backend, asked.reference
    calls = succeeded = runs = 0
    wrong: Result | None = None
    for one in drawn_runs(asked.contract, asked.cases, codebook, asked.seed):
        right = reference.hold(partial(accumulate, one, codebook, reference.dialect))
        if isinstance(right, Lost):
            message = f"{LOST}: {loss_sentence(right)}"
            wrong = Result(check, Verdict.ERROR, outcome_name(right), message=message, of_suite=True)
            break
        done = one.count if right.stop is None else right.stop.call
        runs, calls, succeeded = runs + 1, calls + done, succeeded + done - (right.stop is not None)
        said = backend.hold(partial(accumulate, one, codebook, backend.dialect))
        if (wrong := _wrong(check, right, said)) is not None:
            break
    figures = {"examples": calls, "succeeded": succeeded, "runs": runs, "unforeseen": runs}
    return wrong or Result(check, Verdict.PASS), figures


def drawn_runs(contract: Contract, cases: Sequence[Case], codebook: Codebook, seed: str) -> Iterator[Accumulation]:
    """Runs that the corpus does not have."""
    forms, bounds = codebook[contract.operator], Bounds(contract)
    known = long_runs(cases)
    digest = hashlib.sha256(f"{contract.operator}\0series\0{seed}".encode()).digest()
    random = Random(digest)  # noqa: S311
    words = vocabulary_of(contract, [forms.inputs.to_native(one.inputs) for one in known])
    for one in random.sample(known, min(_RUNS, len(known))):
        told, native = printed(forms.inputs.to_native(one.inputs)), forms.inputs.to_native(one.inputs)
        for _ in range(_TRIES):
            other = mutated(native, random, words, tame=True)
            if printed(other) != told and bounds.side(other) == ACCEPTED:
                native = other
        new = one.generator == "random" or printed(native) != told
        if new:
            inputs = dict(forms.inputs.from_native(native))
            count, number = min(one.count, _CALLS), f"{random.getrandbits(64):016x}"
            yield replace(one, inputs=inputs, seed=one.seed and number, count=count, checkpoints=())


def _wrong(check: Check, right: Accumulated, said: Accumulated | Lost) -> Result | None:
    if isinstance(said, Lost):
        return Result(check, Verdict.ERROR, outcome_name(said), message=loss_sentence(said))
    if said.stop != right.stop:
        stop = said.stop or right.stop
        assert stop is not None
        message = f"a long run with new inputs: call {stop.call} is answered otherwise than by the reference"
        return Result(check, Verdict.FAIL, "result", message=message)
    between = gap(right.checkpoints, said.checkpoints)
    if between is None:
        return None
    return Result(check, Verdict.FAIL, "result", message=f"a long run with new inputs: {between}")
