"""A check and the verdict on it, the words for what a backend did, and the result of a whole run.

The record is written from the result of a run alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from conformance.backend.outcome import (
    BadAnswer,
    Crash,
    Lost,
    Observed,
    ObservedFailure,
    ObservedResult,
    Timeout,
    describe,
)
from conformance.vectors.case import Step, TreeStep, looks
from conformance.vectors.conversation.difference import Difference as Difference
from conformance.vectors.conversation.difference import tree_difference
from conformance.vectors.conversation.exchange import Transcript


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
    """The call that a failure or error is about, in JSON wire form."""

    operator: str
    inputs: Any
    answer: Any = None  # the answer in JSON wire form, if it was well typed


def tree_failure(
    check: Check, step: TreeStep, name: str, expected: Mapping[str, Any], found: Mapping[str, Any], said: str = ""
) -> Result | None:
    """The failure for the first file that differs from the expected one, None if none does; `said` is the message."""
    where = tree_difference(step, expected, found)
    return None if where is None else Result(check, Verdict.FAIL, "result", name, said, where)


def refused_step_failure(check: Check, first: Transcript, second: Transcript, said: str) -> Result | None:
    """A failure where two walks could not take the same steps."""
    if first.fault == second.fault:
        return None
    where = Difference("steps", first.fault or "every step is taken", second.fault or "every step is taken")
    return Result(check, Verdict.FAIL, "result", message=said, difference=where)


def walk_failure(
    check: Check, steps: Sequence[Step], first: Transcript, second: Transcript, said: str = ""
) -> Result | None:
    """The first difference of the second walk of a trace from the first, None if none; `said` is the message."""
    for one, other in zip(first.exchanges, second.exchanges, strict=False):
        if comparable_answer(one.observed) != comparable_answer(other.observed):
            call = FailedCall(other.operator, other.inputs, answer_of(other.observed))
            where = Difference("answer", comparable_answer(one.observed), comparable_answer(other.observed))
            outcome = outcome_name(other.observed)
            return Result(check, Verdict.FAIL, outcome, other.step, said or _ANSWER, where, call)
    for name, step in looks(steps):
        trees = first.trees.get(name, {}), second.trees.get(name, {})
        if (wrong := tree_failure(check, step, name, *trees, said or _TREE)) is not None:
            return wrong
    return refused_step_failure(check, first, second, said or _ANSWER)


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
    """A well-typed answer in JSON wire form; None if the answer was not well typed."""
    match observed:
        case ObservedResult(fields):
            return {"result": fields}
        case ObservedFailure(code, data):
            return {"failure": {"code": code, "data": data}}
    return None


def lost(check: Check, observed: Lost, step: str = "", call: FailedCall | None = None) -> Result:
    """The error of a check in which the backend was lost."""
    return Result(check, Verdict.ERROR, outcome_name(observed), step, describe(observed), call=call)


def unjudged(check: Check, message: str, observed: Observed | None = None, call: FailedCall | None = None) -> Result:
    """The error of a check that fails because of the suite or its reference; `observed` is the reference's outcome."""
    outcome = "" if observed is None else outcome_name(observed)
    return Result(check, Verdict.ERROR, outcome, message=message, call=call, of_suite=True)


def comparable_answer(observed: Observed) -> object:
    """An answer in comparable form; a text if it is not well typed."""
    answer = answer_of(observed)
    return str(observed) if answer is None else answer


@dataclass(frozen=True, slots=True)
class BackendIdentity:
    """What the backend said of itself, and how it was reached."""

    text: str  # the backend string
    name: str
    version: str
    language: str
    wire: str
    operators: tuple[str, ...]
    sandbox: str = "none"  # what it ran under


@dataclass(frozen=True, slots=True)
class Counts:
    """How many checks each stage had; an empty run is visible at a glance."""

    loaded: int
    selected: int
    not_applicable: int
    expected_to_fail: int
    run: int


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """One entry of an expected-failures file: a check id (or a pattern with *), the reason and the issue."""

    check: str
    reason: str
    issue: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why checks fail: the mutant that explains every failure, the one that answers a single case alike, or none."""

    explained: bool
    single: bool = False  # the mutants answer the one failing case as the backend does: too little to explain it
    mutants: tuple[str, ...] = ()  # one behaviour class
    sentence: str = ""  # of the mutant; without one, why none was looked for, or empty if none fits
    requirements: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """The whole run. `results` are sorted by check id; nothing here depends on time, order, host or workers."""

    backend: BackendIdentity
    profile: str
    selection: str
    seed: str
    counts: Counts
    results: tuple[Result, ...]
    unattributed: tuple[str, ...]  # losses of the process that no check repeats alone
    fuzz: Mapping[str, Mapping[str, Any]]  # operator -> examples, succeeded, guards hit
    expected_failures: tuple[KnownFailure, ...]
    unexpected_passes: tuple[str, ...]  # listed as failing, but passing
    unmatched_expectations: tuple[str, ...]  # listed, but no such check
    diagnosis: Diagnosis | None
    contracts: Mapping[str, str]  # operator -> version and digest
    vectors: str  # root digest of the corpus
    harness: str  # version
    declarable: int = 0  # operators and machines that a hello can name
    missing: tuple[str, ...] = ()  # required, but not declared
    stopped: int = 0  # the run ended early, after so many failures
    crash: Mapping[str, Mapping[str, Any]] | None = None  # workload -> level reached; None if not tried
    obstacles: tuple[str, ...] = ()  # why nothing can be judged: the stand-in was wrong or lost
    unconfirmed: tuple[int, int] = (0, 0)  # vectors that ran, of one implementation alone; of these, by the contract
    observations: Mapping[str, Any] = field(default_factory=dict, compare=False)  # never in the record

    @property
    def tested_operators(self) -> tuple[str, ...]:
        """The operators and machines of which any check ran, sorted."""
        return tuple(sorted({r.check.operator for r in self.results if r.verdict is not Verdict.NOT_APPLICABLE}))

    @property
    def excused(self) -> frozenset[str]:
        """The ids of failing checks that the expected-failures file lists."""
        patterns = [entry.check for entry in self.expected_failures]
        return frozenset(
            result.check.id
            for result in self.results
            if result.verdict in (Verdict.FAIL, Verdict.ERROR)
            and any(fnmatchcase(result.check.id, pattern) for pattern in patterns)
        )

    @property
    def conformant(self) -> bool:
        """Whether nothing is red: everything that ran passed, or failed as expected, and something ran."""
        bad = [r for r in self.results if r.verdict in (Verdict.FAIL, Verdict.ERROR)]
        return (
            not self.empty
            and all(result.check.id in self.excused for result in bad)
            and not self.unattributed
            and not self.missing
            and not self.unexpected_passes
            and not self.unmatched_expectations
        )

    @property
    def empty(self) -> bool:
        """Whether nothing ran, or nothing can be judged, so that there is no judgement."""
        return self.counts.run == 0 or bool(self.obstacles)

    def count(self, verdict: Verdict, kind: Kind | None = None, operator: str | None = None) -> int:
        """How many results have this verdict, of one kind or operator where given."""
        return sum(
            result.verdict is verdict
            and kind in (None, result.check.kind)
            and operator in (None, result.check.operator)
            for result in self.results
        )
