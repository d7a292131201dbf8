"""The walks of many seeds at once.

A walk reads the child lists of its own rows in the order of their ids, and each child brings its unseen ancestors with
it before the next child's turn. So all seeds take a block of children at a time: ancestors are found level by level,
each child's for itself, put in the order of the children, and of two entries for one row the first stays.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from impl.vectorized.batch.arrays import Flags, Indices, first_of_run, first_places, spread
from impl.vectorized.batch.collect import FOREVER, Limits, Walker
from impl.vectorized.batch.flat import Keys

# Beyond these a graph is a chain, and going row by row is faster.
DEEPEST: Final = 64
ROUNDS: Final = 64
# A block has about as many children as can still be needed; one that is too long costs little more than a short one.
SHARE: Final = 4
LEAST: Final = 16


@dataclass(frozen=True, slots=True)
class Entries:
    """Hold children whose turn has come: their walk, row and hops, and where their list is: see Crowd."""

    walk: Indices
    row: Indices
    hops: Indices
    list_id: Indices
    place: Indices
    rank: Indices

    def where(self, kept: Flags) -> "Entries":
        """Return some of the entries."""
        return Entries(
            self.walk[kept], self.row[kept], self.hops[kept], self.list_id[kept], self.place[kept], self.rank[kept]
        )


class Crowd:
    """Walk from seeds together.

    A walk is in the child list of its row number `list_id`, at `place`, having let `rank` of its children pass.
    """

    def __init__(self, keys: Keys, seeds: Indices, times: Indices, limits: Limits) -> None:
        walks = len(seeds)
        self._keys, self._limits, self._seeds, self._times = keys, limits, seeds, times
        self._span = np.int64(len(keys.cells))
        self._hops_allowed = FOREVER if limits.max_hops is None else limits.max_hops
        self._rows_allowed = limits.rows_allowed
        self._rows = np.zeros((walks, 256), np.int64)
        self._hops = np.zeros((walks, 256), np.int64)
        self.count = np.zeros(walks, np.int64)
        self._used = np.zeros(walks, np.int64)
        self._list_id = np.zeros(walks, np.int64)
        self._place = np.zeros(walks, np.int64)
        self._rank = np.zeros(walks, np.int64)
        self._going = np.ones(walks, np.bool_)
        self._alone = np.zeros(walks, np.bool_)
        self._known = np.zeros(0, np.int64)  # walk * span + row, ascending
        self._ids = np.zeros(0, np.int64)
        self._walk_all()

    def rows(self) -> list[Indices]:
        """Return the rows of each walk, by their ids."""
        return [line[:count] for line, count in zip(self._rows, self.count.tolist(), strict=True)]

    def hops(self) -> list[Indices]:
        """Return the hops of each walk's rows."""
        return [line[:count] for line, count in zip(self._hops, self.count.tolist(), strict=True)]

    def _walk_all(self) -> None:
        none = np.zeros(len(self._seeds), np.int64)
        self._take(Entries(np.arange(len(none)), self._seeds, none, none, none, none))
        for _ in range(ROUNDS):
            if not self._going.any():
                break
            entries = self._next_children()
            if len(entries.row):
                self._take(entries)
        self._alone |= self._going
        walker = Walker(self._keys) if self._alone.any() else None
        for walk in np.flatnonzero(self._alone).tolist():
            assert walker is not None
            found = walker.walk(int(self._seeds[walk]), int(self._times[walk]), self._limits)
            self._make_room(len(found))
            self.count[walk] = len(found)
            self._rows[walk, : len(found)] = list(found)
            self._hops[walk, : len(found)] = list(found.values())

    def _next_children(self) -> Entries:
        """Return the next block of children of each walk, without those that have an id, and move past it."""
        keys = self._keys
        active = np.flatnonzero(self._going)
        run, behind = spread(self.count[active] - self._list_id[active])
        walk = active[run]
        list_id = self._list_id[walk] + behind
        head = np.where(behind == 0, self._place[walk], 0)
        parent, hops = self._rows[walk, list_id], self._hops[walk, list_id]
        first = keys.children.starts[parent] + head
        length = keys.children.starts[parent + 1] - first
        length[hops == self._hops_allowed] = 0
        room = (self._limits.sequence_length - self._used[walk]) // SHARE + LEAST
        before = _before(walk, length, len(self._seeds))
        take = np.clip(room - before, 0, length)

        lists, step = spread(take)
        child = keys.children.items[first[lists] + step]
        entries = Entries(
            walk[lists], child, hops[lists] + 1, list_id[lists], head[lists] + step, np.zeros(len(child), np.int64)
        )
        kept = keys.times[child] <= self._times[entries.walk]
        ids = self._id_of(entries.walk, child)
        rank = np.zeros(len(take), np.int64)
        width = self._limits.child_width
        if width is not None:
            kept &= (ids < 0) | (ids > entries.list_id)
            passed = np.cumsum(kept)
            start = np.concatenate([np.zeros(1, np.int64), passed])[np.cumsum(take) - take]
            already = np.where(behind == 0, self._rank[walk], 0)
            entries.rank[:] = passed - kept - start[lists] + already[lists]
            rank = np.bincount(lists[kept], minlength=len(take)) + already
            kept &= entries.rank < width
            take = np.where(rank >= width, length, take)

        self._list_id[active] = self.count[active]
        self._place[active] = 0
        self._rank[active] = 0
        open_lists = np.flatnonzero(take < length)
        open_lists = open_lists[first_of_run(walk[open_lists])]
        at = walk[open_lists]
        self._list_id[at] = list_id[open_lists]
        self._place[at] = head[open_lists] + take[open_lists]
        self._rank[at] = rank[open_lists]

        entries = entries.where(kept & (ids < 0))
        waiting = np.zeros(len(self._seeds), np.bool_)
        waiting[entries.walk] = True
        self._going &= waiting | (self._list_id < self.count)
        return entries

    def _take(self, entries: Entries) -> None:
        """Give ids to the entries and their ancestors, as far as the limits allow."""
        turn, walk, row, hops = self._with_ancestors(entries)
        fresh, conflicts = self._first_entries(turn, walk, row, hops)
        if len(conflicts):
            # A row would have been reached over fewer hops later on: the walk ends its block before that child.
            last = np.full(len(self._seeds), FOREVER)
            np.minimum.at(last, walk[conflicts], turn[conflicts])
            fresh &= turn < last[walk]
            cut = np.flatnonzero(last < FOREVER)
            again = last[cut]
            self._list_id[cut], self._place[cut] = entries.list_id[again], entries.place[again]
            self._rank[cut] = entries.rank[again]
            self._going[cut] = True
        fresh &= ~self._alone[walk]
        walk, row, hops = walk[fresh], row[fresh], hops[fresh]
        cells = self._keys.cells[row]
        before = self._used[walk] + _before(walk, cells, len(self._seeds))
        ids = self.count[walk] + _before(walk, np.ones(len(walk), np.int64), len(self._seeds))
        fits = (before < self._limits.sequence_length) & (ids < self._rows_allowed)
        walk, row, hops, ids, cells = walk[fits], row[fits], hops[fits], ids[fits], cells[fits]
        self.count += np.bincount(walk, minlength=len(self._seeds))
        np.add.at(self._used, walk, cells)
        self._make_room(int(self.count.max(initial=0)))
        self._rows[walk, ids] = row
        self._hops[walk, ids] = hops
        self._going &= (self._used < self._limits.sequence_length) & (self.count < self._rows_allowed) & ~self._alone
        known = np.concatenate([self._known, walk * self._span + row])
        order = np.argsort(known)
        self._known = known[order]
        self._ids = np.concatenate([self._ids, ids])[order]

    def _with_ancestors(self, entries: Entries) -> tuple[Indices, Indices, Indices, Indices]:
        """Return turn, walk, row and hops of the entries and their unseen ancestors, in the order of the frontier."""
        turn, walk, row, hops = np.arange(len(entries.row)), entries.walk, entries.row, entries.hops
        levels = [(turn, walk, row, hops)]
        held = turn * self._span + row
        for _ in range(DEEPEST):
            inside = hops < self._hops_allowed
            run, row = self._keys.parents.expand(row[inside])
            turn, walk, hops = turn[inside][run], walk[inside][run], hops[inside][run] + 1
            kept = self._id_of(walk, row) < 0
            if self._limits.strict:
                kept &= self._keys.times[row] <= self._times[walk]
            turn, walk, row, hops = turn[kept], walk[kept], row[kept], hops[kept]
            keys = turn * self._span + row
            new = np.flatnonzero(_is_first(keys) & ~_contains(held, keys))
            turn, walk, row, hops = turn[new], walk[new], row[new], hops[new]
            if not len(new):
                break
            levels.append((turn, walk, row, hops))
            held = np.sort(np.concatenate([held, keys[new]]))
        else:
            self._alone[walk] = True
        parts = [np.concatenate(part) for part in zip(*levels, strict=True)]
        order = np.argsort(parts[0], kind="stable")
        turn, walk, row, hops = (part[order] for part in parts)
        return turn, walk, row, hops

    def _first_entries(self, turn: Indices, walk: Indices, row: Indices, hops: Indices) -> tuple[Flags, Indices]:
        """Return which entries are the first for their row, and the later ones that a hop budget makes matter."""
        keys = walk * self._span + row
        order = np.argsort(keys, kind="stable")
        heads = first_of_run(keys[order])
        fresh = np.zeros(len(keys), np.bool_)
        fresh[order[heads]] = True
        if self._limits.max_hops is None:
            return fresh, order[:0]
        owner = np.empty(len(keys), np.int64)
        owner[order] = order[heads][np.cumsum(heads) - 1]
        return fresh, np.flatnonzero(~fresh & (hops < hops[owner]))

    def _id_of(self, walk: Indices, row: Indices) -> Indices:
        """Return the id of each row in its walk, -1 where it has none."""
        keys = walk * self._span + row
        if not len(self._known):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(self._known, keys), len(self._known) - 1)
        return np.where(self._known[place] == keys, self._ids[place], -1)

    def _make_room(self, rows: int) -> None:
        while rows > self._rows.shape[1]:
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)], axis=1)
            self._hops = np.concatenate([self._hops, np.zeros_like(self._hops)], axis=1)


def _before(walk: Indices, amount: Indices, walks: int) -> Indices:
    """Return the entries before each entry in its walk; the entries of a walk are together, walks ascending."""
    ends = np.cumsum(amount)
    start = np.zeros(walks, np.int64)
    heads = np.flatnonzero(first_of_run(walk))
    start[walk[heads]] = (ends - amount)[heads]
    return ends - amount - start[walk]


def _is_first(keys: Indices) -> Flags:
    """Return which keys occur for the first time."""
    first = np.zeros(len(keys), np.bool_)
    first[first_places(keys)] = True
    return first


def _contains(held: Indices, keys: Indices) -> Flags:
    """Return which keys are among the held ones, which ascend."""
    place = np.minimum(np.searchsorted(held, keys), len(held) - 1)
    found: Flags = held[place] == keys
    return found
