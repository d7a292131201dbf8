"""Traces walked twice: in two fresh roots, and among files of others that the operator must not touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from conformance.backend.driver import Call, Restart
from conformance.backend.outcome import ObservedResult, Outcome
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.contract.model import Contract
from conformance.trial.check import (
    Check,
    Difference,
    FailedCall,
    Result,
    Verdict,
    answer_of,
    faults_apart,
    outcome_name,
    shown,
    tree_apart,
)
from conformance.trial.crowd import Crowd, Harvest, Names, Paths
from conformance.vectors.case import CallStep, Case, FileStep, Step, TreeStep, label
from conformance.vectors.exchange import Exchange, Transcript, exchanges
from conformance.vectors.leaf import is_root

SAMPLE: Final = 8  # cases per operator; every one is asked twice
Walk = Generator[Sequence[Call] | Restart, Sequence[Outcome], Transcript]


def walks_apart(
    check: Check, steps: Sequence[Step], first: Transcript, second: Transcript, said: str = ""
) -> Result | None:
    """Where the second walk of a trace parts from the first, None where it does not; `said` is the sentence for it."""
    for one, other in zip(first.exchanges, second.exchanges, strict=False):
        if shown(one.observed) != shown(other.observed):
            call = FailedCall(other.operator, other.inputs, answer_of(other.observed))
            where = Difference("answer", shown(one.observed), shown(other.observed))
            outcome = outcome_name(other.observed)
            return Result(check, Verdict.FAIL, outcome, other.step, said or _ANSWER, where, call)
    for number, step in enumerate(steps, start=1):
        if isinstance(step, TreeStep):
            name = label(step, number)
            trees = first.trees.get(name, {}), second.trees.get(name, {})
            if (wrong := tree_apart(check, step, name, *trees, said or _TREE)) is not None:
                return wrong
    return faults_apart(check, first, second, said or _ANSWER)


_ANSWER: Final = "the same steps in a second fresh root got another answer"
_TREE: Final = "the same steps in a second fresh root left other files"


def sample_traces(contract: Contract, cases: Sequence[Case]) -> list[tuple[Step, ...]]:
    """Up to SAMPLE cases of an operator, chosen by their digests, each with a look at every root at its end."""
    quick = [case for case in cases if case.operator == contract.operator and case.profile == "quick" and case.steps]
    chosen = sorted(quick, key=lambda case: case.digest)[:SAMPLE]
    return [(*case.steps, *(TreeStep(root, ".", {}) for root in roots_in(case.steps))) for case in chosen]


def one_of_each_group(cases: Sequence[Case], most: int) -> list[Case]:
    """Up to `most` cases of different groups, chosen by their digests: a rule that is one group's alone is met."""
    first: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: case.digest):
        first.setdefault(case.group, case)
    return list(first.values())[:most]


def with_looks(steps: Sequence[Step], decode: Mapping[str, str]) -> tuple[Step, ...]:
    """The steps of a case with a look at every whole root at the end and none before."""
    looks = (TreeStep(root, ".", decode) for root in roots_in(steps))
    return (*(step for step in steps if not isinstance(step, TreeStep)), *looks)


def roots_in(steps: Sequence[Step]) -> list[str]:
    """The names of the roots that frozen steps mention."""
    return sorted({name for step in steps for name in _roots(step)})


def _roots(step: Step) -> Iterator[str]:
    if isinstance(step, CallStep):
        yield from (value["root"] for value in step.inputs.values() if is_root(value))
    elif isinstance(step, FileStep):
        yield from (step.body[key] for key in ("root", "target_root") if key in step.body)
    elif isinstance(step, TreeStep):
        yield step.root


ANSWER: Final = "with files of others beside its own the same steps got another answer"
LEFT: Final = "with files of others beside its own the same steps left other files"
HARMED: Final = "a file of others, beside the operator's own, did not stay what it was"
Judgement = Generator[Sequence[Call] | Restart, Sequence[Outcome], Result]


@dataclass(frozen=True, slots=True)
class AmongBystanders:
    """Asks the cases of an operator alone, then each once more among bystanders."""

    codebook: Codebook
    dialect: Dialect
    contract: Contract

    def judge(self, check: Check, traces: Sequence[Sequence[Step]]) -> Judgement:
        """Where a walk among bystanders parts from the one alone, or harms one of them; a pass where none does."""
        alone: list[Transcript] = []
        walked: list[Paths] = []
        seen: dict[str, Counter[str]] = {}
        for steps in traces:
            watch = Harvest({})
            alone.append((yield from exchanges(steps, self.codebook, self.dialect, watch=watch)))
            walked.append({root: frozenset(found) for root, found in watch.seen.items()})
            for root, found in watch.seen.items():
                seen.setdefault(root, Counter()).update(found)
        # What one case alone has is often a bystander itself, or in the way on purpose.
        least = min(2, len(traces))
        paths = {root: frozenset(path for path in found if found[path] >= least) for root, found in seen.items()}
        names = Names(self.contract, paths)
        placed = 0
        for steps, before, own in zip(traces, alone, walked, strict=True):
            crowd = Crowd(names, own)
            held = yield from exchanges(steps, self.codebook, self.dialect, watch=crowd)
            placed += len(crowd.known)
            if (wrong := self._wrong(check, steps, before, held, crowd)) is not None:
                return wrong
        if not placed:
            message = "no bystander could be put beside any file of the cases"
            return Result(check, Verdict.ERROR, message=message, of_suite=True)
        return Result(check, Verdict.PASS)

    def _wrong(
        self, check: Check, steps: Sequence[Step], alone: Transcript, among: Transcript, crowd: Crowd
    ) -> Result | None:
        if crowd.harmed is not None:
            step, path, was, now = crowd.harmed
            return Result(check, Verdict.FAIL, "result", step, HARMED, Difference(path, was, now))
        both = self._silent(alone), self._silent(among)
        if (parted := walks_apart(check, (), *both, ANSWER)) is not None:
            return parted
        last = len(steps) - len(roots_in(steps))
        for number, look in list(enumerate(steps, start=1))[last:]:
            assert isinstance(look, TreeStep)
            name = label(look, number)
            before = alone.trees.get(name, {})
            after = crowd.without_bystanders(look.root, among.trees.get(name, {}), before)
            if (wrong := tree_apart(check, look, name, before, after, LEFT)) is not None:
                return wrong
        return None

    def _silent(self, held: Transcript) -> Transcript:
        """A walk without the outputs that may tell of bystanders."""
        told = self.contract.bystanders.told
        return replace(held, exchanges=tuple(_without(exchange, told) for exchange in held.exchanges))


def _without(exchange: Exchange, outputs: Mapping[str, str]) -> Exchange:
    observed = exchange.observed
    if not isinstance(observed, ObservedResult):
        return exchange
    left = {name: value for name, value in observed.fields.items() if name not in outputs}
    return replace(exchange, observed=ObservedResult(left, observed.handles))
