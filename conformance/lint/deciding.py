"""The comparisons of an expression that its value depends on, for one call.

The expression is taken apart at `||`, `&&`, `!` and `?:`, and every other part is evaluated once. So the time grows
with the length of the expression. It would grow with the square if the whole were evaluated for each comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from conformance.contract.cel.syntax import Node, Relation, comparisons, parse

_Truth = bool | None  # None: the part has no value
_TRUTHS: Final[tuple[_Truth, ...]] = (True, False, None)
_LOGICAL: Final = frozenset({"||", "&&", "not", "?", "group"})
_KEPT: Final = 64  # expressions that are taken apart
MOST_INSIDE: Final = 50  # comparisons inside one call, list or comparison; with more of them, none is tried


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression: its sign and the numbers of its own parts; without these, its text and what is in it."""

    sign: str
    parts: Sequence[int]
    text: str
    whole: tuple[int, int]  # start and end
    is_comparison: bool
    inside: tuple[Relation, ...]  # the comparisons in the text, without the text itself


def deciding(text: str, value: Callable[[str], Any]) -> frozenset[tuple[int, int]]:
    """Start and end of every comparison that decides the value of an expression; `value` evaluates a part."""
    parts = _taken_apart(text)
    known: list[_Truth] = [None] * len(parts)
    for k in range(len(parts) - 1, -1, -1):  # every part comes after the one that it belongs to
        one = parts[k]
        known[k] = _joined(one.sign, [known[n] for n in one.parts]) if one.parts else _truth(value(one.text))
    effects: list[Mapping[_Truth, _Truth]] = [{truth: truth for truth in _TRUTHS}] * len(parts)
    found = set[tuple[int, int]]()
    for k, one in enumerate(parts):
        for place, n in enumerate(one.parts):
            beside = [known[other] for other in one.parts]
            effects[n] = {
                truth: effects[k][_joined(one.sign, [*beside[:place], truth, *beside[place + 1 :]])]
                for truth in _TRUTHS
            }
        if one.is_comparison and effects[k][True] != effects[k][False]:
            found.add(one.whole)
        for other in one.inside if len(one.inside) <= MOST_INSIDE else ():  # for each, the part is evaluated twice
            yes, no = (effects[k][_truth(value(other.replaced(said)))] for said in ("true", "false"))
            if yes != no:
                found.add((one.whole[0] + other.start, one.whole[0] + other.end))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Tangle:
    """A part of an expression with too many comparisons inside."""

    text: str
    inside: tuple[tuple[int, int], ...]  # start and end of each in the whole expression


def tangles(text: str) -> Iterator[Tangle]:
    """The parts of an expression with more comparisons inside than are tried; raises ValueError."""
    for one in _taken_apart(text):
        if len(one.inside) > MOST_INSIDE:
            start = one.whole[0]
            yield Tangle(one.text, tuple((start + other.start, start + other.end) for other in one.inside))


@lru_cache(_KEPT)
def _taken_apart(text: str) -> Sequence[_Part]:
    """The parts of an expression; raises ValueError."""
    nodes, found = [parse(text)], list[_Part]()
    for node in nodes:  # grows
        if node.sign in _LOGICAL:
            found.append(_Part(node.sign, range(len(nodes), len(nodes) + len(node.parts)), "", (0, 0), False, ()))
            nodes += node.parts
        else:
            found.append(_leaf(node, text))
    return found


def _leaf(node: Node, whole: str) -> _Part:
    text = whole[node.start : node.end]
    known = comparisons(text)
    inside = tuple(one for one in known if one.text != text)
    return _Part(node.sign, (), text, (node.start, node.end), len(inside) < len(known), inside)


def _truth(value: Any) -> _Truth:
    return value if isinstance(value, bool) else None


def _joined(sign: str, truths: Sequence[_Truth]) -> _Truth:
    """The value of a logical part; one side of `||` or `&&` may decide although the other has no value."""
    match sign:
        case "group":
            return truths[0]
        case "not":
            return None if truths[0] is None else not truths[0]
        case "?":
            return None if truths[0] is None else truths[1] if truths[0] else truths[2]
    decides = sign == "||"
    if decides in truths:
        return decides
    return None if None in truths else not decides
