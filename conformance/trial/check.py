"""The judgement on one check, and the words for what a backend did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from conformance.backend.outcome import BadAnswer, Crash, Observed, ObservedFailure, ObservedResult, Timeout, describe
from conformance.vectors.case import Step, TreeStep, label
from conformance.vectors.difference import Difference as Difference
from conformance.vectors.difference import tree_difference
from conformance.vectors.exchange import Transcript


class Verdict(StrEnum):
    """The judgement on one check (DESIGN 2)."""

    PASS = "pass"  # noqa: S105 (a verdict, no password)
    FAIL = "fail"
    ERROR = "error"
    NOT_APPLICABLE = "not_applicable"


class Kind(StrEnum):
    """What sort of check it is."""

    VECTOR = "vector"
    LAW = "law"
    BEHAVIOUR = "behaviour"
    FUZZ = "fuzz"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Check:
    """Something that a backend is tested for, before it is tested."""

    # Vectors: the case id; OPERATOR#law-name::instance; OPERATOR!behaviour-rule; OPERATOR?fuzz; OPERATOR%workload.
    id: str
    kind: Kind
    operator: str
    group: str
    why: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """A check and the verdict on it."""

    check: Check
    verdict: Verdict
    outcome: str = ""  # result, failure, crash, timeout, protocol_error: what the backend did where it matters
    step: str = ""  # of a trace
    message: str = ""  # one sentence for people
    difference: Difference | None = None
    call: FailedCall | None = None  # the call that was answered wrongly, for the command that repeats it
    broken: tuple[str, ...] = ()  # postconditions that the wrong result violates
    details: dict[str, Any] = field(default_factory=dict)
    steps: tuple[Any, ...] = field(default=(), repr=False, compare=False)  # of fuzzing: what shows it; in no record
    of_suite: bool = False  # an error of the suite or its reference, not of the backend: nothing is judged


@dataclass(frozen=True, slots=True)
class FailedCall:
    """The call behind a result that is no pass, in JSON wire form."""

    operator: str
    inputs: Any
    answer: Any = None  # what came back, in JSON wire form, where it was well typed


def tree_apart(
    check: Check, step: TreeStep, name: str, expected: Mapping[str, Any], found: Mapping[str, Any], said: str = ""
) -> Result | None:
    """A failure at the first file that is not what it must be, None where all are; `said` is the sentence for it."""
    where = tree_difference(step, expected, found)
    return None if where is None else Result(check, Verdict.FAIL, "result", name, said, where)


def faults_apart(check: Check, first: Transcript, second: Transcript, said: str) -> Result | None:
    """A failure where not the same steps could be taken in two walks."""
    if first.fault == second.fault:
        return None
    where = Difference("steps", first.fault or "every step is taken", second.fault or "every step is taken")
    return Result(check, Verdict.FAIL, "result", message=said, difference=where)


def walks_apart(
    check: Check, steps: Sequence[Step], first: Transcript, second: Transcript, said: str = ""
) -> Result | None:
    """Where the second walk of a trace parts from the first, None where it does not; `said` is the sentence for it."""
    for one, other in zip(first.exchanges, second.exchanges, strict=False):
        if shown(one.observed) != shown(other.observed):
            call = FailedCall(other.operator, other.inputs, answer_of(other.observed))
            where = Difference("answer", shown(one.observed), shown(other.observed))
            outcome = outcome_name(other.observed)
            return Result(check, Verdict.FAIL, outcome, other.step, said or _ANSWER, where, call)
    for number, step in enumerate(steps, start=1):
        if isinstance(step, TreeStep):
            name = label(step, number)
            trees = first.trees.get(name, {}), second.trees.get(name, {})
            if (wrong := tree_apart(check, step, name, *trees, said or _TREE)) is not None:
                return wrong
    return faults_apart(check, first, second, said or _ANSWER)


_ANSWER: Final = "the same steps in a second fresh root got another answer"
_TREE: Final = "the same steps in a second fresh root left other files"


def outcome_name(observed: Observed) -> str:
    """The glossary's word for what the backend did."""
    match observed:
        case ObservedResult() | BadAnswer():
            return "result"
        case ObservedFailure():
            return "failure"
        case Crash():
            return "crash"
        case Timeout():
            return "timeout"
    return "protocol_error"


def answer_of(observed: Observed) -> Any:
    """A well-typed answer in JSON wire form, None where there was none."""
    match observed:
        case ObservedResult(fields):
            return {"result": fields}
        case ObservedFailure(code, data):
            return {"failure": {"code": code, "data": data}}
    return None


def loss_sentence(observed: Observed) -> str:
    """How the backend was lost, in one sentence."""
    assert not isinstance(observed, ObservedResult | ObservedFailure | BadAnswer)
    return describe(observed)


def shown(observed: Observed) -> object:
    """An answer in comparable form; a text where there is no well-typed one."""
    answer = answer_of(observed)
    return str(observed) if answer is None else answer
