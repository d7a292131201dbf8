"""What one crash trial found, as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conformance.trial.crash.durability import Model
from conformance.trial.crash.operation import Traced
from conformance.trial.crash.states import CrashState
from conformance.trial.crash.verdict import Judgement, Verdict


@dataclass(frozen=True, slots=True)
class BadState:
    """A crash state from which a backend does not come back; `during` holds the recovery that crashed, if one did."""

    model: Model
    state: CrashState
    judgement: Judgement
    operations: Sequence[Traced]
    during: BadState | None = None  # the state that the interrupted recovery began from, itself well recovered


@dataclass(frozen=True, slots=True)
class Tally:
    """The states of one model: how many there are, how many were tried, how many of those are bad and why."""

    total: int
    tried: int
    bad: Mapping[Verdict, int]

    @property
    def bad_count(self) -> int:
        """How many are bad."""
        return sum(self.bad.values())


@dataclass(frozen=True, slots=True)
class Sweep:
    """One more look at a backend: how many of `what` it reached of how many, and what was wrong after which."""

    name: str
    reached: int
    runs: int
    findings: tuple[str, ...]
    what: str = "runs interrupted"


@dataclass(frozen=True, slots=True)
class CrashReport:
    """One workload of one backend."""

    backend: str
    workload: str
    why: str
    wanted: Model
    operations: Sequence[Traced]
    answers: tuple[str, ...]  # the steps, in the order in which they were answered
    states: Mapping[Model, Tally]
    recoveries: int  # recoveries that were interrupted in their turn, one for each class of states
    recovery_states: Mapping[Model, Tally]
    bad: tuple[BadState, ...]
    full: bool  # whether every state and every class of recoveries was tried
    sweeps: tuple[Sweep, ...] = field(default=())

    @property
    def complete(self) -> bool:
        """Whether every state of every model was tried, so that a level can be stated."""
        return self.full and set(self.states) == set(Model)

    @property
    def reached(self) -> Model | None:
        """The strongest model without a bad state among those tried, None where even a kill is not survived."""
        worst = min((bad.model for bad in self.bad), default=None)
        clean = [model for model in self.states if worst is None or model < worst]
        return max(clean, default=None)

    @property
    def level(self) -> str:
        """The level that a complete trial states: none, kill, ext4 or posix; nothing where it was not complete."""
        if not self.complete:
            return ""
        return "none" if self.reached is None else str(self.reached)

    @property
    def first_bad(self) -> BadState | None:
        """The bad state that asks the least of the disk, and of those the earliest."""
        return min(self.bad, key=lambda bad: (bad.model, bad.during is not None, bad.state.at), default=None)

    @property
    def satisfied(self) -> bool:
        """Whether nothing bad was found at or below the level that the workload asks for, nor in a sweep."""
        return not any(bad.model <= self.wanted for bad in self.bad) and not any(s.findings for s in self.sweeps)
