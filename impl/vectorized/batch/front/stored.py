"""Stored values of a column as arrays: nine bytes for each, and every different text once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags, Indices
from impl.vectorized.batch.front.spool import Growing, Room, release, slices

# Storage classes. `TIME` is a text of which only the time is kept, as microseconds. `LARGE` is an integer beyond 64
# bits, which SQLite has not.
NULL, INTEGER, REAL, TIME, TEXT, BYTES, LARGE = range(7)
CLASSES: dict[type, int] = {type(None): NULL, int: INTEGER, float: REAL, str: TEXT, bytes: BYTES}
LEAST, MOST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Stored:
    """Hold the values of a column.

    `numbers` are integers, the bits of reals, times, or places in `words`, as the storage class says.
    """

    classes: AnyArray
    numbers: Indices
    words: Sequence[Any]

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def nulls(self) -> Flags:
        """Return a mask of the NULLs."""
        nulls: Flags = self.classes == NULL
        return nulls

    @property
    def reals(self) -> AnyArray:
        """Return the numbers as what they are in reals."""
        return self.numbers.view(np.float64)

    def parts(self) -> Iterator[Stored]:
        """Return the values some at a time; what was read of a file is let go after each part."""
        for at in slices(len(self)):
            yield Stored(self.classes[at], self.numbers[at], self.words)
            release(self.classes, self.numbers)

    def held(self) -> frozenset[int]:
        """Return the storage classes of the values that are not NULL, as the file has them: a time is a text."""
        counts = sum((np.bincount(part.classes, minlength=7) for part in self.parts()), np.zeros(7, np.int64))
        held = frozenset(np.flatnonzero(counts).tolist()) - {NULL}
        return held - {TIME} | {TEXT} if TIME in held else held

    def present(self) -> int:
        """Return how many values are not NULL."""
        return sum(int(np.count_nonzero(part.classes)) for part in self.parts())

    def used(self) -> Indices:
        """Return the places of the words that there are."""
        used = np.zeros(len(self.words), np.bool_)
        for part in self.parts():
            used[part.numbers[part.classes >= TEXT]] = True
        return np.flatnonzero(used)

    def taken(self, rows: Flags) -> Stored:
        """Return the values of some rows."""
        return Stored(self.classes[rows], self.numbers[rows], self.words)

    def values(self) -> Iterator[Any]:
        """Return the values as the file gave them; a column with the class TIME has no such values any more."""
        for part in self.parts():
            held = zip(part.classes.tolist(), part.numbers.tolist(), part.reals.tolist(), strict=True)
            for kind, number, real in held:
                word = kind not in (NULL, INTEGER, REAL)
                yield self.words[number] if word else None if kind == NULL else number if kind == INTEGER else real


class Gathered:
    """Gather the values of a column, many rows at a time; with `time`, of a text only the time that it names."""

    def __init__(self, room: Room | None = None, time: Callable[[str], int | None] | None = None) -> None:
        self._time = time
        self._classes = Growing(np.uint8, room)
        self._numbers = Growing(np.int64, room)
        self._words: dict[Any, int] = {}

    def add(self, values: Sequence[Any]) -> None:
        """Add the values of some rows."""
        kinds = set(map(type, values))
        if kinds == {int}:
            try:
                self._keep(np.full(len(values), INTEGER, np.uint8), np.array(values, np.int64))
            except OverflowError:
                self._add_mixed(values)
        elif kinds == {float}:
            self._keep(np.full(len(values), REAL, np.uint8), np.array(values, np.float64).view(np.int64))
        elif kinds == {str} and self._time is None:
            self._keep(np.full(len(values), TEXT, np.uint8), np.array([*map(self._place, values)], np.int64))
        else:
            self._add_mixed(values)

    def gathered(self) -> Stored:
        """Return all values."""
        return Stored(self._classes.array(), self._numbers.array(), list(self._words))

    def _keep(self, classes: AnyArray, numbers: Indices) -> None:
        self._classes.add(classes)
        self._numbers.add(numbers)

    def _place(self, word: Any) -> int:
        return self._words.setdefault(word, len(self._words))

    def _add_mixed(self, values: Sequence[Any]) -> None:
        classes = np.array([CLASSES[type(value)] for value in values], np.uint8)
        numbers = np.zeros(len(values), np.int64)
        reals = numbers.view(np.float64)
        for row, value in enumerate(values):
            match value:
                case None:
                    pass
                case int() if LEAST <= value <= MOST:
                    numbers[row] = value
                case float():
                    reals[row] = value
                case str() if self._time is not None and (time := self._time(value)) is not None:
                    numbers[row] = time
                    classes[row] = TIME
                case _:
                    numbers[row] = self._place(value)
                    if isinstance(value, int):
                        classes[row] = LARGE
        self._keep(classes, numbers)
