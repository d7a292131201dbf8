"""Calls with two mistakes at once: one in the files that they read and one in their inputs.

The contract says which of two reasons is reported. This finds operators that check the disk before the inputs: calls
with one mistake do not find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.contract.types import is_place
from conformance.trial.bystanders import with_looks
from conformance.trial.fuzz.file_edits import Sizes
from conformance.trial.fuzz.file_example import Base, Example, names, places_asked
from conformance.vectors.case import CallStep, Case, ExpectedFailure, TreeStep
from conformance.vectors.leaf import anywhere, is_placeholder

Cases = Sequence[Case]

_MOST_STATES: Final = 3  # trees, of each operation, in which its call fails
_MOST_REFUSED: Final = 12  # refused inputs that are tried in each of them


def competing(contract: Contract, codebook: Codebook, bases: Sequence[Base], cases: Cases) -> Iterator[Example]:
    """Calls that fail because of the files there, with inputs that are refused anywhere; what names a file stays."""
    calls = [(case, step) for case in sorted(cases, key=lambda one: one.id) for step in _calls(contract, case)]
    lucky = {_printed(step) for _, step in calls if not isinstance(step.expected, ExpectedFailure)}
    refused = _refused(calls, lucky)
    states: dict[str, int] = {}
    for case, seen in bases:
        steps = with_looks(case.steps, contract.fuzz_decode)
        for k, root in places_asked(contract, steps, seen):
            step = steps[k]
            assert isinstance(step, CallStep)
            failed = isinstance(step.expected, ExpectedFailure) and _printed(step) in lucky
            if not failed or states.get(step.operator, 0) >= _MOST_STATES:
                continue
            states[step.operator] = states.get(step.operator, 0) + 1
            places = {one.name for one in codebook[step.operator].contract.inputs.fields if is_place(one.type)}
            files = seen.before_calls[step.name][root]
            looks = tuple(one for one in steps[k:] if isinstance(one, TreeStep))
            for other in refused.get(step.operator, ()):
                inputs = _crossed(step.inputs, other, places, files)
                # A reference to the answer of a step is valid in its own case only.
                bound = (value for name, value in inputs.items() if step.inputs.get(name) != value)
                if not any(anywhere(value, is_placeholder) for value in bound):
                    yield Example(steps[:k], (), (replace(step, inputs=inputs), *looks), case.id)


def _calls(contract: Contract, case: Case) -> Iterator[CallStep]:
    if case.profile == "quick":
        yield from (step for step in case.calls if contract.owns(step.operator))


def _printed(step: CallStep) -> tuple[str, str]:
    return step.operator, repr(sorted(step.inputs.items()))


def _refused(calls: Iterable[tuple[Case, CallStep]], lucky: Set[tuple[str, str]]) -> dict[str, list[Mapping[str, Any]]]:
    """Inputs that never succeed, of each operation: the first of every group of cases, spread over the groups."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for case, step in calls:
        if isinstance(step.expected, ExpectedFailure) and _printed(step) not in lucky:
            found.setdefault(step.operator, {}).setdefault(case.group, step.inputs)
    return {operator: _spread(list(some.values())) for operator, some in found.items()}


def _spread(some: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return some if len(some) <= _MOST_REFUSED else some[:: -(-len(some) // _MOST_REFUSED)]


def _crossed(own: Mapping[str, Any], other: Mapping[str, Any], places: set[str], files: Sizes) -> dict[str, Any]:
    """The other inputs at the own places, with the own name of whatever is there."""
    kept = places | {name for name, value in own.items() if any(names(value, part) for part in _parts(files))}
    crossed = {name: value for name, value in other.items() if name not in kept}
    return crossed | {name: value for name, value in own.items() if name in kept}


def _parts(files: Sizes) -> set[str]:
    return {part for path in files for part in (path, path.partition("/")[0])}
