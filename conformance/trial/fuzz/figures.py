"""What fuzzing reached: how many calls succeeded, and every guard from both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from conformance.contract.model import Contract
from conformance.trial.fuzz.seed import ACCEPTED

LEAST_SUCCEEDED: Final = 0.6  # share of calls


class Figures:
    """The running count of one operator's fuzzed calls by the side they lie on, the listed ones apart."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.drawn: Counter[str] = Counter()
        self.listed: Counter[str] = Counter()  # not drawn: the smallest example of every side, degenerate values

    def add(self, side: str, listed: bool = False) -> None:
        """One more call on this side."""
        (self.listed if listed else self.drawn)[side] += 1

    def record(self) -> dict[str, Any]:
        """The figures as they stand in the record; `passed` counts calls that a guard was asked about and let by.

        `examples` and `succeeded` are of the drawn calls; a listed one may well be refused.
        """
        guards: dict[str, Any] = {}
        sides = self.drawn + self.listed
        left = sides.total()
        for guard in self.contract.requires:
            left -= sides[guard.id]
            guards[guard.id] = {"passed": left, "refused": sides[guard.id]}
        drawn = {"examples": self.drawn.total(), "succeeded": self.drawn[ACCEPTED]}
        return {**drawn, "listed": self.listed.total(), "guards": guards}

    def shortfalls(self) -> Iterator[str]:
        """What was not reached; fuzzing that misses a side of a guard must not look green."""
        succeeded, drawn = self.drawn[ACCEPTED], self.drawn.total()
        if succeeded < LEAST_SUCCEEDED * drawn or not drawn:
            yield f"only {succeeded} of {drawn} calls succeed; at least {LEAST_SUCCEEDED:.0%} must"
        for id_, counts in self.record()["guards"].items():
            for side, count in counts.items():
                if not count:
                    yield f"no call was {side} by the guard {id_}"
