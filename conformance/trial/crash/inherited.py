"""A recovery after a kill and the workload that was killed, as one run.

Writes that the workload did not make durable are still in the page cache when recovery begins. A power loss during or
after recovery loses them, unless recovery makes them durable. A newly written tree would be durable as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conformance.trial.crash.operation import TOP, Create, Traced, renumbered
from conformance.trial.crash.recording import Recording
from conformance.trial.crash.states import CrashState, Model, Replay, crash_states


@dataclass(frozen=True)
class Inherited:
    """The operations before a kill and those of the recovery behind it; `killed` is how many are before it."""

    traced: tuple[Traced, ...]
    killed: int
    replay: Replay

    def states(self, models: Sequence[Model]) -> list[CrashState]:
        """The states of a power loss during or after recovery in which something done before the kill is gone.

        Those after the most of recovery come first.
        """
        every = crash_states(self.replay, models, start=self.killed + 1)
        found = [state for state in every if any(one < self.killed for one in (*state.lost, *(state.torn or ())[:1]))]
        return sorted(found, key=lambda state: -state.at)


def is_kill(state: CrashState) -> bool:
    """Whether a crash left everything that was done."""
    return not state.lost and state.torn is None


def inherited(outer: Recording, state: CrashState, recovery: Recording) -> Inherited:
    """The run that was killed in a state, and the recovery from it.

    The recording of the recovery numbers the inodes anew; a path that both trees have tells which is which.
    """
    known = dict(outer.replay.whole(state.at).paths())
    numbers = {TOP: TOP} | {inode: known[path] for path, inode in recovery.initial.paths()}
    made = {one.operation.inode for one in outer.traced if isinstance(one.operation, Create)}
    fresh = 1 + max({TOP, *outer.initial.folders, *outer.initial.files, *made})

    def number(inode: int) -> int:
        return numbers.get(inode, fresh + inode)

    own = tuple(replace(one, operation=renumbered(one.operation, number, state.answers)) for one in recovery.traced)
    traced = (*outer.traced[: state.at], *own)
    return Inherited(traced, state.at, Replay(outer.initial, [one.operation for one in traced]))

