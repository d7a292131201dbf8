"""Puts temporary files into folders that a call does not use, under names that its operator owns; they must survive.

This finds operators that delete every file with such a name, instead of those in their own folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.bystanders import is_matched, near_misses, with_looks
from conformance.trial.fuzz.file_edits import Edit, file_step
from conformance.trial.fuzz.file_example import Base, Example
from conformance.trial.fuzz.leftovers import made_in
from conformance.vectors.case import CallStep, Case, ExpectedFailure, FileStep
from conformance.vectors.exchange import AnyStep
from conformance.vectors.leaf import is_root, spots

_MOST_PLANTED: Final = 12  # files in one example
_MOST_CALLS: Final = 8  # of one operator, that get such files


def left_elsewhere(
    contract: Contract, codebook: Codebook, bases: Sequence[Base], cases: Sequence[Case]
) -> Iterator[Example]:
    """Examples for a few calls with different inputs: temporary files are in every folder that any case has."""
    if not contract.bystanders.owned:
        return
    layout = layout_of(bases)
    for case, k in calls_of_each_input(contract, codebook, cases):
        steps = with_looks(case.steps[: k + 1], contract.fuzz_decode)
        step = case.steps[k]
        assert isinstance(step, CallStep)
        at = steps.index(step)
        (root,) = {value["root"] for value in step.inputs.values() if is_root(value)}
        if planted := planted_in(contract.bystanders.owned, layout, root, steps[:at]):
            yield Example(steps[:at], planted, steps[at:], case.id)


def layout_of(bases: Sequence[Base]) -> dict[str, bool]:
    """Every path that the cases have in any root, and whether it is a folder with files."""
    seen = [tree for _, one in bases for roots in one.after_calls.values() for tree in roots.values()]
    paths = sorted({path for tree in seen for path in tree})
    folders = {path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"}
    return {path: path in folders for path in paths}


def calls_of_each_input(contract: Contract, codebook: Codebook, cases: Iterable[Case]) -> list[tuple[Case, int]]:
    """Cases that together have every place of the inputs of the operations with one root, each with a step number.

    The shortest case is taken whose first call of the operator has the place and succeeds. If there are more than
    `_MOST_CALLS` cases, they are thinned out evenly.
    """
    found: dict[tuple[str, str], tuple[Case, int]] = {}
    for case in sorted(cases, key=lambda one: (len(one.steps), one.id)):
        own = (k for k, step in enumerate(case.steps) if isinstance(step, CallStep) and contract.owns(step.operator))
        for k in islice(own, 1) if case.profile == "quick" else ():
            step = case.steps[k]
            assert isinstance(step, CallStep)
            one_root = len({value["root"] for value in step.inputs.values() if is_root(value)}) == 1
            if one_root and not isinstance(step.expected, ExpectedFailure):
                places = {spot.place for spot in spots(codebook[step.operator].contract.inputs, step.inputs)}
                for place in sorted(places):
                    found.setdefault((step.operator, place), (case, k))
    chosen = list({case.id: (case, k) for case, k in found.values()}.values())
    return chosen if len(chosen) <= _MOST_CALLS else chosen[:: -(-len(chosen) // _MOST_CALLS)]


def planted_in(
    owned: Mapping[str, str], layout: Mapping[str, bool], root: str, before: Iterable[AnyStep]
) -> tuple[Edit, ...]:
    """The edits that put a file with an owned name into each folder of a layout, and beside each path at its top.

    A path is left out if an earlier step wrote there.
    """
    taken = {step.subject for step in before if isinstance(step, FileStep)}
    paths: dict[str, None] = {}
    for path, is_folder in layout.items():
        inside = made_in(owned, path) if is_folder else iter(())
        beside = (one for one in near_misses(path) if "/" not in one and is_matched(one, owned))
        paths |= dict.fromkeys([*islice(inside, 1), *islice(beside, 1)])
    free = [path for path in paths if path not in layout and not any(_meet(path, one) for one in taken)]
    chosen = free if len(free) <= _MOST_PLANTED else free[:: -(-len(free) // _MOST_PLANTED)]
    return tuple((file_step("put", root, path=path, bytes="00"),) for path in chosen)


def _meet(one: str, other: str) -> bool:
    """Whether two paths are one, or one lies below the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
