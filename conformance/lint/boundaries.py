"""L303: both neighbours of every comparison in a guard have a frozen case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.lint.call import Call
from conformance.lint.desk import Desk
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject
from conformance.lint.syntax import Comparison, comparisons

# What left - right is in the nearest case where the comparison is true, and in the nearest where it is not.
_NEIGHBOURS: Final[Mapping[str, tuple[int, int]]] = {"<": (-1, 0), "<=": (0, 1), ">": (1, 0), ">=": (0, -1)}


class BoundariesCrossed:
    """Wherever a comparison decides a guard, frozen cases stand right on both sides of its boundary."""

    code, name, level = "L303", "boundaries-crossed", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Comparisons with a side that no case touches."""
        for contract in subject.contracts:
            desk = subject.desk(contract)
            judged = list(subject.calls(contract.operator))
            for guard in contract.requires:
                for comparison in _comparisons(guard.expression.text):
                    decided = [call for call in judged if _decides(desk, comparison, call)]
                    for missing in _missing(desk, comparison, decided):
                        message = f"guard {guard.id!r}: no case decides {comparison.text!r} {missing}"
                        hint = "add a case there that every earlier guard lets through"
                        yield Finding(guard.position, self.code, message, contract.operator, hint)
                judged = [call for call in judged if desk.holds(guard.expression.text, call)]


def _comparisons(text: str) -> tuple[Comparison, ...]:
    try:
        return comparisons(text)
    except ValueError:  # a construct that this reader does not know; the engine has accepted the text
        return ()


def _decides(desk: Desk, comparison: Comparison, call: Call) -> bool:
    """Whether the guard's outcome for the call hangs on this comparison."""
    if comparison.text == comparison.whole.strip():
        return True
    return bool(desk.value(comparison.replaced("true"), call) != desk.value(comparison.replaced("false"), call))


def _missing(desk: Desk, comparison: Comparison, calls: list[Call]) -> Iterator[str]:
    if not (desk.compiles(comparison.left) and desk.compiles(comparison.right)):
        return
    pairs = [(desk.value(comparison.left, call), desk.value(comparison.right, call)) for call in calls]
    known = [pair for pair in pairs if None not in pair]
    if comparison.sign in _NEIGHBOURS and all(_is_integer(side) for pair in known for side in pair):
        differences = {left - right for left, right in known}
        if len(known) < len(pairs):  # a side that overflows lies beyond the boundary, next to it or not
            differences.add(_NEIGHBOURS[comparison.sign][1])
        for neighbour in sorted(_NEIGHBOURS[comparison.sign]):
            if neighbour not in differences:
                yield {-1: "one below the boundary", 0: "on the boundary", 1: "one above the boundary"}[neighbour]
    else:
        outcomes = {desk.holds(comparison.text, call) for call in calls}
        for outcome in (True, False):
            if outcome not in outcomes:
                yield "when it is true" if outcome else "when it is false"


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
