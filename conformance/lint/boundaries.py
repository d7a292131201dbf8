"""L303: both neighbours of every comparison in a guard have a frozen case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from conformance.contract.model import Guard
from conformance.contract.syntax import Comparison, comparisons
from conformance.lint.call import Call
from conformance.lint.desk import Desk
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject

# What left - right is in the nearest case where the comparison is true, and in the nearest where it is not.
_NEIGHBOURS: Final[Mapping[str, tuple[int, int]]] = {"<": (-1, 0), "<=": (0, 1), ">": (1, 0), ">=": (0, -1)}
_WORDS: Final[Mapping[int, str]] = {-1: "one below the boundary", 0: "on the boundary", 1: "one above the boundary"}


class BoundariesCrossed:
    """Wherever a comparison decides a guard, frozen cases stand right on both sides of its boundary."""

    code, name, level = "L303", "boundaries-crossed", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Comparisons with a side that no case touches."""
        for contract in subject.contracts:
            desk = subject.desk(contract)
            judged = list(subject.calls(contract.operator))
            for guard in contract.requires:
                for comparison in comparisons_of(guard):
                    for side, touching in sides(desk, comparison, judged).items():
                        if touching:
                            continue
                        message = f"guard {guard.id!r}: no case decides {comparison.text!r} {side}"
                        hint = "add a case there that every earlier guard lets through"
                        yield Finding(guard.position, self.code, message, contract.operator, hint)
                judged = [call for call in judged if desk.holds(guard.expression.text, call)]


def comparisons_of(guard: Guard) -> tuple[Comparison, ...]:
    """The comparisons that a guard makes outside macros."""
    try:
        return comparisons(guard.expression.text)
    except ValueError:  # a construct that this reader does not know; the engine has accepted the text
        return ()


def _decides(desk: Desk, comparison: Comparison, call: Call) -> bool:
    """Whether the guard's outcome for the call hangs on this comparison."""
    if comparison.text == comparison.whole.strip():
        return True
    return bool(desk.value(comparison.replaced("true"), call) != desk.value(comparison.replaced("false"), call))


def sides(desk: Desk, comparison: Comparison, calls: Iterable[Call]) -> Mapping[str, list[Call]]:
    """The calls that touch each side of a comparison, by the words for that side; empty for what has no sides."""
    if not (desk.compiles(comparison.left) and desk.compiles(comparison.right)):
        return {}
    decided = [call for call in calls if _decides(desk, comparison, call)]
    pairs = [(call, desk.value(comparison.left, call), desk.value(comparison.right, call)) for call in decided]
    integers = all(type(left) is type(right) is int for _, left, right in pairs if None not in (left, right))
    if comparison.sign not in _NEIGHBOURS or not integers:
        return {
            "when it is true": [call for call in decided if desk.holds(comparison.text, call)],
            "when it is false": [call for call in decided if not desk.holds(comparison.text, call)],
        }
    true, false = _NEIGHBOURS[comparison.sign]
    touching: dict[str, list[Call]] = {_WORDS[true]: [], _WORDS[false]: []}
    for call, left, right in pairs:
        # A side that overflows lies beyond the boundary, next to it or not.
        difference = false if None in (left, right) else left - right
        if difference in (true, false):
            touching[_WORDS[difference]].append(call)
    return touching
