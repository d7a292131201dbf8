"""The operations before a crash as people read them: what survived, what was lost, what was torn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.trial.crash.operation import Acknowledge, SyncAll, SyncFile, SyncFolder, Traced
from conformance.trial.crash.report import BadState

_MOST: Final = 20  # operations before the crash; earlier ones are counted unless they were lost


def listing(bad: BadState, steps: tuple[str, ...]) -> Iterator[str]:
    """A bad state, operation by operation, and what was read there."""
    state = bad.state
    answered = f"after {steps[state.answers - 1]} was answered" if state.answers else "before any answer"
    if bad.during is not None:
        yield from listing(bad.during, steps)
        yield "and while it recovered from that, another crash:"
        answered = "inside the recovery"
    yield f"crash at operation {state.at} of {len(bad.operations)}, {answered} (model {bad.model})"
    previous = -1
    for index in _shown_operations(bad):
        if index > previous + 1:
            yield f"        ... {index - previous - 1} operations"
        previous = index
        yield f"  {index + 1:>4}  {_fate(bad, index):<10} {_text(bad.operations[index], steps)}"
    if bad.judgement.reason:
        yield f"  {bad.judgement.verdict}: {bad.judgement.reason}"


def _shown_operations(bad: BadState) -> list[int]:
    """The last operations before the crash, and earlier ones that were lost or torn."""
    state = bad.state
    gone = [*state.lost, *(state.torn or ())[:1]]
    return sorted({*range(max(0, state.at - _MOST), state.at), *gone})


def _fate(bad: BadState, index: int) -> str:
    state = bad.state
    if index in state.lost:
        return "LOST"
    if state.torn is not None and state.torn[0] == index:
        return f"TORN at {state.torn[1]}"
    if isinstance(bad.operations[index].operation, Acknowledge | SyncFile | SyncFolder | SyncAll):
        return ""
    return "survived" if index in state.pending else "durable"


def _text(traced: Traced, steps: tuple[str, ...]) -> str:
    operation = traced.operation
    if isinstance(operation, Acknowledge) and 0 < operation.answers <= len(steps):
        return f"answer to {steps[operation.answers - 1]}"
    return traced.text
