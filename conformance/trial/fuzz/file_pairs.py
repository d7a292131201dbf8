"""Makes two edits at once, each of which changes the answer of a call without making the call fail.

This finds operators that report only the first of several problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, groupby, islice
from typing import Final

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.contract.types import Enum, ListOf, Scalar, walk
from conformance.trial.bystanders import is_matched, near_misses
from conformance.trial.fuzz.file_edits import Edit, file_step
from conformance.trial.fuzz.file_example import Base, Example, in_use
from conformance.trial.fuzz.file_parts import Found, damaged, formed_files, maps_of
from conformance.trial.fuzz.file_reading import Reading

_MOST_CASES: Final = 2  # in which two edits change the answer
_MOST_TRIED: Final = 4  # cases in which single edits are tried
_MOST_EDITS: Final = 12  # of one case, tried one at a time
_MOST_PAIRS: Final = 6  # of one case


def told_together(
    contract: Contract, codebook: Codebook, bases: Sequence[Base], reading: Reading
) -> Iterator[Example]:
    """Examples for an operator that answers lists: pairs of edits with different effects, and all edits together."""
    if not any(tells(codebook[name].contract) for name in codebook.forms if contract.owns(name)):
        return
    cases = groupby(formed_files(contract, bases), key=lambda one: (one.base[0].id, one.at, one.root))
    shown = 0
    for _, group in islice(cases, _MOST_TRIED):
        found = list(group)
        noticed: dict[object, Edit] = {}
        for edit in islice(_edits(contract, found), _MOST_EDITS):
            effect = reading.effect(found[0].edited(edit), found[0].base[1])
            if effect.answers and not effect.refuses:
                noticed.setdefault(effect, edit)
        pairs = [*combinations(noticed.values(), 2)][:_MOST_PAIRS]
        yield from (found[0].edited(*pair) for pair in pairs)
        if len(noticed) > 2:
            yield found[0].edited(*noticed.values())
        shown += bool(pairs)
        if shown == _MOST_CASES:
            return


def tells(contract: Contract) -> bool:
    """Whether an output is a list of texts or enums, in which an operator can report problems."""
    lists = (type_.item for _, type_ in walk(contract.outputs) if isinstance(type_, ListOf))
    return any(isinstance(item, Enum) or item == Scalar("string") for item in lists)


def _edits(contract: Contract, found: Sequence[Found]) -> Iterator[Edit]:
    """Edits that may be reported: an extra file beside each file, an extra key in each map; taken in turn."""
    extra = [[(damaged(one, f"{at} extra"),) for at in maps_of(one.formed)] for one in found]
    beside = [[_beside(contract, one, path) for path in one.formed.paths] for one in found]
    for edit in chain.from_iterable(_by_turns([*extra, *beside])):
        if edit and not any(in_use(contract, edit, one.steps[: one.at]) for one in found):
            yield edit


def _beside(contract: Contract, found: Found, path: str) -> Edit:
    """The edit that puts a file with another name beside one; empty if the operator could own that name."""
    taken = {**contract.bystanders.owned, **contract.bystanders.none}
    name = next((other for other in near_misses(path) if not is_matched(other, taken)), "")
    return (file_step("put", found.root, path=name, text=""),) if name else ()


def _by_turns(lists: Sequence[Sequence[Edit]]) -> Iterator[list[Edit]]:
    """The first of each list, then the second of each."""
    for k in range(max(map(len, lists), default=0)):
        yield [one[k] for one in lists if k < len(one)]
