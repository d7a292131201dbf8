"""The edits of files that are tried before any random one; each finds one kind of mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.bystanders import with_looks
from conformance.trial.fuzz.file_edits import reshapes
from conformance.trial.fuzz.file_example import Base, Example, in_use, is_large, left_open, places_asked
from conformance.trial.fuzz.leftovers import leftovers, losses
from conformance.trial.fuzz.told_limits import at_limits
from conformance.vectors.case import CallStep, ExpectedFailure, TreeStep

_MOST_KINDS: Final = 3  # trees of different names that lose files while temporary ones are planted
_MOST_RESHAPED: Final = 4  # cases whose arrays get other axes


def _with_leftovers(contract: Contract, codebook: Codebook, bases: Sequence[Base]) -> Iterator[Example]:
    """Every case with temporary files planted before each of its calls; the first of each kind of tree with a loss,
    too, but for those that cost much."""
    kinds: set[tuple[str, ...]] = set()
    for case, seen in bases:
        steps = with_looks(case.steps, contract.fuzz_decode)
        for k, root in places_asked(contract, steps, seen):
            step = steps[k]
            assert isinstance(step, CallStep)
            files = seen.before_calls[step.name][root]
            if not (planted := leftovers(contract, root, files, steps)):
                continue
            yield Example(steps[:k], planted, steps[k:], case.id)
            kind = (step.operator, *sorted(files))
            unfit = isinstance(step.expected, ExpectedFailure) or left_open(contract, steps[:k]) or is_large(case)
            if kind not in kinds and len(kinds) < _MOST_KINDS and not unfit:
                kinds.add(kind)
                for lost in losses(root, files):
                    if any(in_use(contract, edit, steps[:k]) for edit in lost):
                        continue
                    yield Example(steps[:k], (*lost, *planted), steps[k:], case.id)


def _reshaped(contract: Contract, codebook: Codebook, bases: Sequence[Base]) -> Iterator[Example]:
    """Some cases with an array in a file that keeps its size and has other axes or another type."""
    found: list[tuple[int, list[Example]]] = []
    for case, seen in bases:
        steps = with_looks(case.steps, contract.fuzz_decode)
        for k, root in places_asked(contract, steps, seen)[:1]:
            step = steps[k]
            assert isinstance(step, CallStep)
            files = seen.before_calls[step.name][root]
            reshaped = reshapes(root, files, codebook.formats)
            if edits := [edit for edit in reshaped if not in_use(contract, edit, steps[:k])]:
                examples = [Example(steps[:k], (edit,), steps[k:], case.id) for edit in edits]
                found.append((max(files[edit[0].subject] for edit in edits), examples))
    # What was cut off has nothing to edit: the largest come first.
    for _, examples in sorted(found, key=lambda one: -one[0])[:_MOST_RESHAPED]:
        yield from examples


def _at_limits(contract: Contract, codebook: Codebook, bases: Sequence[Base]) -> Iterator[Example]:
    """The first call of every operation that succeeds, with texts on both sides of the limits in their descriptions."""
    tried: set[str] = set()
    for case, _ in bases:
        steps = with_looks(case.steps, contract.fuzz_decode)
        for k, step in enumerate(steps):
            if not isinstance(step, CallStep) or not contract.owns(step.operator) or step.operator in tried:
                continue
            if not isinstance(step.expected, ExpectedFailure):
                tried.add(step.operator)
                looks = tuple(one for one in steps[k:] if isinstance(one, TreeStep))
                for inputs in at_limits(codebook[step.operator].contract.inputs, step.inputs):
                    yield Example(steps[:k], (), (replace(step, inputs=inputs), *looks), case.id)


LISTINGS: Final = (_with_leftovers, _reshaped, _at_limits)
