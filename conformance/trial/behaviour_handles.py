"""The behaviour rule for machines: a trace answers the same alone and interleaved with itself on another handle."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.backend.drive import RESTART, Call, Restart
from conformance.backend.outcome import Outcome
from conformance.trial.behaviour_files import TwiceInFreshRoots
from conformance.trial.check import Check, Result
from conformance.vectors.case import Step
from conformance.vectors.exchange import Held

ALONE: Final = "the same steps, interleaved with themselves on another handle, got another answer than alone"
APART: Final = "of two handles that were given the same steps by turns, the second got another answer"
Walk = Generator[Sequence[Call] | Restart, Sequence[Outcome], Held]
Judgement = Generator[Sequence[Call] | Restart, Sequence[Outcome], tuple[Result | None, Sequence[Held]]]
Walks = Generator[Sequence[Call] | Restart, Sequence[Outcome], tuple[Held, Held]]


@dataclass(frozen=True, slots=True)
class OnTwoHandles:
    """Holds traces alone, then each twice by turns in one process, every time with handles and roots of its own."""

    rule: TwiceInFreshRoots

    def judge(self, check: Check, traces: Sequence[Sequence[Step]]) -> Judgement:
        """Where walks part, None where none does; and the walks of all traces alone. A new process comes between."""
        alone: list[Held] = []
        for steps in traces:
            alone.append((yield from self.rule.walk(steps)))
        yield RESTART
        parted: Result | None = None
        for steps, before in zip(traces, alone, strict=True):
            one, other = yield from by_turns(self.rule.walk(steps), self.rule.walk(steps))
            parted = parted or self.rule.apart(check, steps, before, one, ALONE)
            parted = parted or self.rule.apart(check, steps, one, other, APART)
        return parted, alone


def by_turns(first: Walk, second: Walk) -> Walks:
    """Two walks in one process, one call of the first after one of the second; they restart it together."""
    walks, found = [first, second], dict[int, Held]()
    wishes: dict[int, Sequence[Call] | Restart] = {}

    def go_on(k: int, outcomes: Any) -> None:
        wishes.pop(k, None)
        try:
            wishes[k] = walks[k].send(outcomes)
        except StopIteration as end:
            found[k] = end.value

    for k in range(2):
        go_on(k, None)
    while wishes:
        for k in range(2):
            if not isinstance(wish := wishes.get(k, RESTART), Restart):
                go_on(k, (yield wish))
        if wishes and all(isinstance(wish, Restart) for wish in wishes.values()):
            yield RESTART
            for k in list(wishes):
                go_on(k, [])
    return found[0], found[1]
