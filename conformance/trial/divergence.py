"""Where two sequences part: a search by bisection over calls that can be asked in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Boundary:
    """What a search over the calls 0 .. count-1 found.

    `differs` is a call that differs while the one before it agrees, or is the first of all; None where no call that
    was asked differs. `asked` are the calls in the order in which they were asked.
    """

    count: int
    differs: int | None
    asked: tuple[int, ...]

    @property
    def unasked(self) -> int:
        """How many calls before the boundary, or of all where there is none, were not asked."""
        before = self.count if self.differs is None else self.differs
        return before - sum(1 for call in self.asked if call < before)

    @property
    def certain(self) -> bool:
        """Whether no earlier call can differ."""
        return self.unasked == 0


def bisected(count: int, differs: Callable[[int], bool]) -> Boundary:
    """Search a boundary with about log2(count) calls.

    The first call and the last come first. If only the last differs, the interval between them is halved. If neither
    does, the powers of two are asked, and the interval below the first that differs is halved. If two backends that
    have parted stay apart, the boundary is the first difference; else there may be an earlier one.
    """
    asked: dict[int, bool] = {}

    def ask(call: int) -> bool:
        if call not in asked:
            asked[call] = differs(call)
        return asked[call]

    def found(call: int | None) -> Boundary:
        return Boundary(count, call, tuple(asked))

    if count == 0 or ask(0):
        return found(0 if count else None)
    agrees, apart = 0, count - 1
    if not ask(apart):
        powers = [1 << bit for bit in range((count - 1).bit_length()) if 1 << bit < count]
        for power in powers:
            if ask(power):
                apart = power
                break
            agrees = power
        else:
            return found(None)
    while apart - agrees > 1:
        middle = (agrees + apart) // 2
        if ask(middle):
            apart = middle
        else:
            agrees = middle
    return found(apart)


_MOST: Final = 256  # calls that are asked at a time


def swept(count: int, first_of: Callable[[range], int | None]) -> Boundary:
    """Ask every call in order, more and more at a time, until one differs; `first_of` finds the first of some."""
    asked, size = 0, 1
    while asked < count:
        calls = range(asked, min(asked + size, count))
        found = first_of(calls)
        asked, size = calls.stop, min(2 * size, _MOST)
        if found is not None:
            return Boundary(count, found, tuple(range(asked)))
    return Boundary(count, None, tuple(range(count)))
