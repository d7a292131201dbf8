"""What fuzzing reached: how many calls succeeded, and every guard from both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from conformance.contract.model import Contract
from conformance.trial.fuzz.seed import ACCEPTED

LEAST_SUCCEEDED: Final = 0.6  # share of calls


class Figures:
    """The running count of one operator's fuzzed calls by the side they lie on."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.sides: Counter[str] = Counter()

    def add(self, side: str) -> None:
        """One more call on this side."""
        self.sides[side] += 1

    @property
    def asked(self) -> int:
        """All calls."""
        return sum(self.sides.values())

    def record(self) -> dict[str, Any]:
        """The figures as they stand in the record; `passed` counts calls that a guard was asked about and let by."""
        guards: dict[str, Any] = {}
        left = self.asked
        for guard in self.contract.requires:
            left -= self.sides[guard.id]
            guards[guard.id] = {"passed": left, "refused": self.sides[guard.id]}
        return {"examples": self.asked, "succeeded": self.sides[ACCEPTED], "guards": guards}

    def shortfalls(self) -> Iterator[str]:
        """What was not reached; fuzzing that misses a side of a guard must not look green."""
        succeeded = self.sides[ACCEPTED]
        if succeeded < LEAST_SUCCEEDED * self.asked or not self.asked:
            yield f"only {succeeded} of {self.asked} calls succeed; at least {LEAST_SUCCEEDED:.0%} must"
        for id_, counts in self.record()["guards"].items():
            for side, count in counts.items():
                if not count:
                    yield f"no call was {side} by the guard {id_}"
