"""The remaining time: the remaining steps of every stage, times the duration of one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

# Seconds for a step of a stage before one was measured: the bundled reference on two cores.
_USUAL: Final = {"cases, laws and behaviour": 0.004, "differential fuzzing": 0.6}
_WORTH: Final = 1  # steps that the usual time counts for
_WEIGHT: Final = 0.2  # of a new estimate against the one before


@dataclass(slots=True)
class RestTime:
    """Estimates the end of a command from the steps of its stages; times are in seconds of one clock.

    Between two steps the time that is left runs down. A new estimate moves the end by a fifth of the difference, so
    that it does not jump about.
    """

    stages: dict[str, int] = field(default_factory=dict)  # steps in all, of this and the later stages
    done: dict[str, int] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    _stage: str = ""
    _since: float = 0.0
    _end: float | None = None

    def plan(self, stages: Mapping[str, int]) -> None:
        """The stages to come."""
        self.stages |= stages

    def stage(self, name: str, total: int, now: float) -> None:
        """A stage begins, and so ends the one before."""
        if self._stage:
            self.stages.pop(self._stage, None)
        self.stages[name] = total
        self._stage, self._since = name, now
        self._estimate(now)

    def step(self, count: int, now: float) -> None:
        """Steps of the stage are done."""
        self.done[self._stage] = self.done.get(self._stage, 0) + count
        self.spent[self._stage] = now - self._since
        self._estimate(now)

    def seconds(self, now: float) -> float | None:
        """What is left; None while nothing can be said. What is overdue takes half as long again."""
        if self._end is None:
            return None
        left = self._end - now
        return left if left >= 1 else 1 + (1 - left) / 2

    def _estimate(self, now: float) -> None:
        left = 0.0
        for name, total in self.stages.items():
            cost = self._cost(name)
            if cost is None:
                self._end = None
                return
            left += max(total - self.done.get(name, 0), 0) * cost
        end = now + left
        self._end = end if self._end is None else self._end + _WEIGHT * (end - self._end)

    def _cost(self, name: str) -> float | None:
        """Seconds for one step of a stage; None where none was made and none is known."""
        done, spent = self.done.get(name, 0), self.spent.get(name, 0.0)
        usual = _USUAL.get(name)
        if usual is None:
            return spent / done if done else None
        return (spent + _WORTH * usual * self._pace) / (done + _WORTH)

    @property
    def _pace(self) -> float:
        """How much slower than usual the steps are that were made; 1 before any."""
        known = [name for name in self.done if name in _USUAL]
        usual = sum(self.done[name] * _USUAL[name] for name in known)
        spent = sum(self.spent[name] for name in known)
        return (spent + 1.0) / (usual + 1.0)
