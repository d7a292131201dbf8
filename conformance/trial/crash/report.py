"""What one crash test found: the damage in each tree, as a value and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from conformance.trial.crash.operation import Acknowledge, SyncAll, SyncFile, SyncFolder, TracedOperation
from conformance.trial.crash.states import CrashModel, CrashState
from conformance.trial.crash.workload import Answer, AnswerKind


class Damage(StrEnum):
    """What a crash did to the data of a workload; the worst that the reads show."""

    NONE = "ok"
    LOST = "LOST"  # acknowledged data is missing
    STALE = "STALE"  # the data is older than what was acknowledged
    TORN = "TORN"  # the data was never written or cannot be read, or recovery refuses or fails
    MIXED = "MIXED"  # the data has parts of two versions
    NOT_IDEMPOTENT = "NOT_IDEMPOTENT"  # a second recovery finds or leaves something else


@dataclass(frozen=True, slots=True)
class TreeAnswers:
    """What a backend answers on one tree, recovering twice."""

    recovered: tuple[Answer, ...]
    answers: tuple[Answer, ...]
    stable: bool  # whether the second recovery found and left the same as the first
    changed: bool  # whether recovery changed the tree


@dataclass(frozen=True, slots=True)
class ExplainedDamage:
    """The damage and the sentence that explains it."""

    damage: Damage
    reason: str = ""


_LONGEST = 80  # characters of a value that a reason shows, around the first that differs
Answers = tuple[Answer, ...]
UNDAMAGED = ExplainedDamage(Damage.NONE)


def judge(
    reading: TreeAnswers, names: Sequence[str], versions: Sequence[Answers], floor: int, ceiling: int
) -> ExplainedDamage:
    """The judgement on a reading for which every version from `floor` to `ceiling` is right.

    `names` are those of the reads, `versions` what they answered after 0, 1, 2, ... uninterrupted steps.
    """
    for answer in reading.recovered:
        if not answer.usable:
            return ExplainedDamage(Damage.TORN, f"recovery is answered by {answer}")
    right = versions[floor : ceiling + 1]
    if reading.answers not in right:
        return _wrong(reading.answers, names, versions, right, floor)
    if not reading.stable:
        return ExplainedDamage(Damage.NOT_IDEMPOTENT, "a second recovery finds or leaves something else than the first")
    return UNDAMAGED


def _wrong(
    answers: Answers, names: Sequence[str], versions: Sequence[Answers], right: Sequence[Answers], floor: int
) -> ExplainedDamage:
    for index, (name, answer) in enumerate(zip(names, answers, strict=True)):
        wanted = [version[index] for version in right]
        if answer not in wanted:
            older = [version[index] for version in versions[:floor]]
            damage = _damage(answer, older, [version[index] for version in versions])
            return ExplainedDamage(damage, f"{name} is answered by {_answer_text(answer, wanted)}")
    return ExplainedDamage(
        Damage.MIXED, f"each of {', '.join(names)} is right alone, together they are of two versions"
    )


def _answer_text(answer: Answer, wanted: Sequence[Answer]) -> str:
    """An answer and the right one; of two results, only the first difference from the most similar right one."""
    results = [dict(_leaves(one.value)) for one in wanted if one.kind is AnswerKind.RESULT]
    if answer.kind is not AnswerKind.RESULT or not results:
        return f"{answer}; right is {' or '.join(dict.fromkeys(map(str, wanted)))}"
    found = dict(_leaves(answer.value))
    differing = [[p for p in (*right, *found) if right.get(p) != found.get(p)] for right in results]
    best = min(range(len(results)), key=lambda k: len(differing[k]))
    path = differing[best][0]
    sides = [repr(side[path]) if path in side else "missing" for side in (found, results[best])]
    alike = next((k for k, pair in enumerate(zip(*sides, strict=False)) if len(set(pair)) > 1), 0)
    here = max(0, alike - _LONGEST // 2)
    shown = [f"{'...' * (here > 0)}{side[here : here + _LONGEST]}" for side in sides]
    return f"a result in which {'.'.join(path)} is {shown[0]}; right is {shown[1]}"


def _damage(answer: Answer, older: Sequence[Answer], every: Sequence[Answer]) -> Damage:
    if answer.kind is AnswerKind.ABSENT:
        return Damage.LOST
    if answer in older:
        return Damage.STALE
    if answer.kind is AnswerKind.RESULT and _is_mixture(
        answer.value, [one.value for one in every if one.kind is AnswerKind.RESULT]
    ):
        return Damage.MIXED
    return Damage.TORN


def _is_mixture(value: Any, versions: Sequence[Any]) -> bool:
    """Whether it has the parts of a version, and each part, or each digit of a text, is as in some version."""
    parts = dict(_leaves(value))
    known = [dict(_leaves(version)) for version in versions]
    if not any(parts.keys() == version.keys() for version in known):
        return False
    return all(_explained(leaf, [one[path] for one in known if path in one]) for path, leaf in parts.items())


def _explained(leaf: Any, versions: Sequence[Any]) -> bool:
    if leaf in versions:
        return True
    alike = [version for version in versions if isinstance(version, str) and isinstance(leaf, str)]
    alike = [version for version in alike if len(version) == len(leaf)]
    return len(alike) > 1 and all(any(version[k] == sign for version in alike) for k, sign in enumerate(leaf))


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*path, str(key)))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _leaves(part, (*path, str(index)))
    else:
        yield path, value


@dataclass(frozen=True, slots=True)
class BadState:
    """A crash state from which a backend does not recover."""

    model: CrashModel
    state: CrashState
    judgement: ExplainedDamage
    operations: Sequence[TracedOperation]
    during: BadState | None = None  # where a recovery was interrupted: the state that it began from, undamaged


@dataclass(frozen=True, slots=True)
class StateCounts:
    """The states of one model: how many there are, how many were tried, how many of those are bad and why."""

    total: int
    tried: int
    bad: Mapping[Damage, int]

    @property
    def bad_count(self) -> int:
        """How many are bad."""
        return sum(self.bad.values())


@dataclass(frozen=True, slots=True)
class SweepResult:
    """One more test of a backend: how many of `what` it reached, of how many, and what it found."""

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
    wanted: CrashModel
    operations: Sequence[TracedOperation]
    answers: tuple[str, ...]  # the steps, in the order in which they were answered
    states: Mapping[CrashModel, StateCounts]
    recoveries: int  # recoveries that were interrupted too, one for each class of states
    recovery_states: Mapping[CrashModel, StateCounts]
    bad: tuple[BadState, ...]
    full: bool  # whether every state and every class of recoveries was tried
    sweeps: tuple[SweepResult, ...]

    @property
    def complete(self) -> bool:
        """Whether every state of every model was tried, as a level requires."""
        return self.full and set(self.states) == set(CrashModel)

    @property
    def reached(self) -> str:
        """The strongest model without a bad state among those tried: kill, ext4 or posix; "none" if there is none."""
        worst = min((bad.model for bad in self.bad), default=None)
        return str(max((model for model in self.states if worst is None or model < worst), default="none"))

    @property
    def level(self) -> str:
        """The level that a complete test states; empty if the test was not complete."""
        return self.reached if self.complete else ""

    @property
    def first_bad(self) -> BadState | None:
        """The bad state of the weakest model, and of those the earliest."""
        return min(self.bad, key=lambda bad: (bad.model, bad.during is not None, bad.state.at), default=None)

    @property
    def satisfied(self) -> bool:
        """Whether nothing bad was found at or below the level that the workload asks for, nor in a sweep."""
        return not any(bad.model <= self.wanted for bad in self.bad) and not any(s.findings for s in self.sweeps)


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
        yield f"  {bad.judgement.damage}: {bad.judgement.reason}"


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


def _text(traced: TracedOperation, steps: tuple[str, ...]) -> str:
    operation = traced.operation
    if isinstance(operation, Acknowledge) and 0 < operation.answers <= len(steps):
        return f"answer to {steps[operation.answers - 1]}"
    return traced.text
