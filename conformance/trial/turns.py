"""Several lines of things, taken by turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def by_turns(lines: Iterable[Iterable[T]]) -> Iterator[T]:
    """The first item of each line, then the second of each, and so on; an item is made when its turn comes."""
    waiting = [iter(line) for line in lines]
    while waiting:
        left = []
        for line in waiting:
            for item in line:
                yield item
                left.append(line)
                break
        waiting = left
