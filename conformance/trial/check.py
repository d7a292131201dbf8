"""The judgement on one check: a case, a law, a behaviour rule, a fuzzed operator or a crash workload."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


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
class Difference:
    """The first place where what came differs from what had to come; both sides in JSON wire form."""

    path: str
    expected: Any
    actual: Any
    note: str = ""  # e.g. that the place lies inside a compacted list


@dataclass(frozen=True, slots=True)
class Check:
    """Something that a backend is held to, before it is tried."""

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
    call: Call | None = None  # the call that was answered wrongly, for the command that repeats it
    broken: tuple[str, ...] = ()  # postconditions that the wrong result violates
    details: dict[str, Any] = field(default_factory=dict)
    steps: tuple[Any, ...] = field(default=(), repr=False, compare=False)  # of fuzzing: what shows it; in no record


@dataclass(frozen=True, slots=True)
class Call:
    """One call in JSON wire form."""

    operator: str
    inputs: Any
    answer: Any = None  # what came back, in JSON wire form, where it was well typed
