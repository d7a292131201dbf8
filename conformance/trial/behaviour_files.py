"""The behaviour rule for operators that touch files: the same trace in two fresh roots ends the same way."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.backend.drive import Call, Restart
from conformance.backend.outcome import Outcome
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect
from conformance.contract.model import Contract
from conformance.trial import check as checks
from conformance.trial.check import Check, Difference, Result, Verdict
from conformance.trial.judge import answer_of, faults_apart, outcome_name, shown, tree_apart
from conformance.vectors.case import CallStep, Case, FileStep, Step, TreeStep, label
from conformance.vectors.exchange import Held, exchanges
from conformance.vectors.placeholder import is_root

SAMPLE: Final = 8  # cases per operator; every one is held twice
Walk = Generator[Sequence[Call] | Restart, Sequence[Outcome], Held]


@dataclass(frozen=True, slots=True)
class TwiceInFreshRoots:
    """Holds cases twice and finds where the second time parts from the first.

    The two times come one after the other; `behaviour_handles` has them by turns.
    """

    codebook: Codebook
    dialect: Dialect

    def walk(self, steps: Sequence[Step]) -> Walk:
        """Take the steps of a case in fresh roots, and look at everything in them at the end."""
        return exchanges(steps, self.codebook, self.dialect)

    def apart(
        self, check: Check, steps: Sequence[Step], first: Held, second: Held, said: str = ""
    ) -> Result | None:
        """Where the two walks part, None where they do not; `said` is the sentence for it."""
        for one, other in zip(first.exchanges, second.exchanges, strict=False):
            if shown(one.observed) != shown(other.observed):
                call = checks.Call(other.operator, other.inputs, answer_of(other.observed))
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
