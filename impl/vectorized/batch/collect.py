"""The walk from each seed over the rows' keys."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from impl.vectorized.batch.arrays import Indices
from impl.vectorized.batch.flat import Keys
from impl.vectorized.batch.model import MOST, Refused, judge_length

FOREVER: Final = np.iinfo(np.int64).max
BLOCK: Final = 64  # children looked at together; most parents have fewer, and a walk seldom needs more


@dataclass(frozen=True, slots=True)
class Limits:
    """Hold the limits of a sequence; None does not limit. `fixed_rows` is R of every batch, too."""

    sequence_length: int
    max_hops: int | None = None
    max_rows: int | None = None
    child_width: int | None = None
    strict: bool = False
    fixed_rows: int | None = None

    @property
    def rows_allowed(self) -> int:
        """The most rows of a sequence, or one more than a uint16 can number."""
        given = (self.max_rows, self.fixed_rows, MOST + 1)
        return min(most for most in given if most is not None)

    def judge(self) -> None:
        """Raise Refused for limits that no sequence can keep, the first of them in the order of the contract."""
        judge_length(self.sequence_length)
        if self.max_rows == 0 or self.fixed_rows == 0:
            raise Refused("CONTRACT_VIOLATION")
        if self.fixed_rows is not None and self.fixed_rows > MOST:
            raise Refused("LIMIT_EXCEEDED")


def moments(times: Sequence[int | None]) -> Indices:
    """Return the times of seeds as an array; None is after every time."""
    return np.array([FOREVER if time is None else time for time in times], np.int64)


class Walker:
    """Walk from seeds over one graph.

    The frontier is two queues, because an entry that came over a parent always goes first: the parents, and lists of
    children that are looked at only when their turn comes.
    """

    def __init__(self, keys: Keys) -> None:
        self._parent_starts = np.ascontiguousarray(keys.parents.starts).data
        self._parents = keys.parents.items
        self._child_starts = np.ascontiguousarray(keys.children.starts).data
        self._children = keys.children.items
        self._times = keys.times
        self._cells = np.ascontiguousarray(keys.cells).data

    def walk(self, seed: int, cutoff: int, limits: Limits) -> dict[int, int]:
        """Return the hops of each row that the seed reaches, in the order of the rows' ids."""
        hops_allowed = FOREVER if limits.max_hops is None else limits.max_hops
        rows_allowed = limits.rows_allowed
        room, width = limits.sequence_length, limits.child_width
        parent_starts, child_starts, cell_counts = self._parent_starts, self._child_starts, self._cells
        found: dict[int, int] = {}
        parents: deque[tuple[int, int]] = deque([(seed, 0)])
        lists: deque[tuple[Iterator[int], int]] = deque()
        while room > 0:
            if parents:
                row, hops = parents.popleft()
                if row in found:
                    continue
            else:
                row = -1
                while lists and row < 0:
                    children, hops = lists[0]
                    row = next((child for child in children if child not in found), -1)
                    if row < 0:
                        lists.popleft()
                if row < 0:
                    break
            if len(found) == rows_allowed:
                break
            found[row] = hops
            room -= cell_counts[row]
            if hops == hops_allowed:
                continue
            hops += 1
            first, last = parent_starts[row], parent_starts[row + 1]
            if first < last:
                over = self._parents[first:last]
                if limits.strict:
                    over = over[self._times[over] <= cutoff]
                parents.extend([(parent, hops) for parent in over.tolist()])
            first, last = child_starts[row], child_starts[row + 1]
            if first < last:
                ahead = self._seen(first, last, cutoff)
                if width is not None:
                    ahead = iter(_first(ahead, found, width))
                lists.append((ahead, hops))
        return found

    def _seen(self, first: int, last: int, cutoff: int) -> Iterator[int]:
        """Return the children in a range that pass the cutoff, block by block."""
        children, times = self._children, self._times
        if last - first <= BLOCK:
            block = children[first:last]
            return iter((block if cutoff == FOREVER else block[times[block] <= cutoff]).tolist())
        return self._blocks(first, last, cutoff)

    def _blocks(self, first: int, last: int, cutoff: int) -> Iterator[int]:
        for at in range(first, last, BLOCK):
            block = self._children[at : min(at + BLOCK, last)]
            yield from block[self._times[block] <= cutoff].tolist()


def _first(children: Iterator[int], found: dict[int, int], width: int) -> list[int]:
    kept: list[int] = []
    for child in children:
        if len(kept) == width:
            break
        if child not in found:
            kept.append(child)
    return kept


@dataclass(frozen=True, slots=True)
class Rows:
    """Hold the rows of all sequences end to end: their RowIdx, their sequence and their id in it."""

    row: Indices
    sequence: Indices
    local: Indices
    sequences: int
    most: int  # R


def lay_end_to_end(row_ids: Sequence[Sequence[int] | Indices]) -> Rows:
    """Return the rows of sequences; LIMIT_EXCEEDED where a uint16 cannot number those of one."""
    counts = np.array([len(ids) for ids in row_ids], np.int64)
    most = int(counts.max(initial=0))
    if most > MOST:
        raise Refused("LIMIT_EXCEEDED")
    sequence = np.repeat(np.arange(len(counts)), counts)
    local = np.arange(len(sequence)) - (np.cumsum(counts) - counts)[sequence]
    parts = [np.asarray(ids, np.int64) for ids in row_ids]
    row = np.concatenate([np.zeros(0, np.int64), *parts])
    return Rows(row, sequence, local, len(counts), most)
