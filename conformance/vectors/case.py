"""A case as a value: before it is frozen (a question) and after."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from conformance.contract.yaml.source import Position

_LONGEST: Final = 40  # characters; a whole hex seed of 16 bytes stays readable
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


def slug(value: Any) -> str:
    """The name of a YAML value: itself where it is short and plain, else its beginning and eight digits of its hash."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
    if text == "":
        return "empty"
    safe = _UNSAFE.sub("_", text)
    if safe == text and len(safe) <= _LONGEST:
        return safe
    beginning = safe.strip("_")[:16] if isinstance(value, str) else ""
    return f"{beginning}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"


LONGEST_LIST: Final = 64  # elements; a longer list is frozen as count, SHA-256, head and tail
HEAD_AND_TAIL: Final = 8  # elements shown at each end of a compacted list


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """The result that must come back, compacted where it is long."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """The contract failure that must come back: its code, and the whole failure record."""

    code: str
    data: Mapping[str, Any]


Expected = ExpectedResult | ExpectedFailure


@dataclass(frozen=True, slots=True)
class CallStep:
    """One call; `name` is how later steps refer to what it answered."""

    name: str
    operator: str
    inputs: Mapping[str, Any]
    expected: Expected


@dataclass(frozen=True, slots=True)
class RestartStep:
    """A new backend process from here on."""


@dataclass(frozen=True, slots=True)
class FileStep:
    """What the harness does to files between two calls: put, flip, truncate, delete, rename, link or damage.

    `body` names the root and the paths below it; a path may contain `{step.output}`, what an earlier step answered.
    """

    action: str
    body: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """The path that the step is about."""
        return str(self.body["from"] if self.action == "rename" else self.body["path"])


@dataclass(frozen=True, slots=True)
class TreeStep:
    """A look at everything below a path of a root; `decode` maps glob to codec, `expected` path to entry."""

    root: str
    path: str
    decode: Mapping[str, str]
    expected: Mapping[str, Any] | None = None  # None: not frozen yet; in a question, what the contract pins

    action = "tree"


HarnessStep = RestartStep | FileStep | TreeStep
Step = CallStep | HarnessStep


def label(step: FileStep | TreeStep, number: int) -> str:
    """What reports call a step that has no name: its action and its number in the trace, from 1."""
    return f"{step.action}-{number}"


def looks(steps: Iterable[CallStep | QuestionCall | HarnessStep]) -> Iterator[tuple[str, TreeStep]]:
    """The looks at files among the steps of a trace, each with its label."""
    return ((label(step, k), step) for k, step in enumerate(steps, start=1) if isinstance(step, TreeStep))


@dataclass(frozen=True, slots=True)
class Accumulation:
    """A long run of calls frozen as running hashes: (calls done, hex SHA-256) at powers of two and at the end.

    `generator` is chain (feed: input path <- output path of the call before), sweep (input path -> start, step) or
    random (input path -> exclusive bound, numbers drawn from SHA-256 of the seed).
    """

    operator: str
    inputs: Mapping[str, Any]
    output: str
    generator: str
    parameters: Mapping[str, Any]
    seed: str
    count: int
    checkpoints: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class _Named:
    """What a case says of itself, frozen or not."""

    id: str  # OPERATOR::group::slug, never changed once released
    operator: str
    group: str
    why: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    profile: str

    @property
    def said(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(_Named)}


@dataclass(frozen=True, slots=True)
class Case(_Named):
    """One frozen case. It has either `steps` or `accumulation`; an explicit case has a single step."""

    steps: tuple[Step, ...]
    accumulation: Accumulation | None = None
    digest: str = ""
    pinned: bool = False  # a value of the requirement page confirms it

    @property
    def kind(self) -> str:
        """explicit, trace or accumulated."""
        if self.accumulation is not None:
            return "accumulated"
        return "explicit" if len(self.steps) == 1 else "trace"

    @property
    def calls(self) -> tuple[CallStep, ...]:
        """The steps that are calls."""
        return tuple(step for step in self.steps if isinstance(step, CallStep))

    @property
    def operators(self) -> frozenset[str]:
        """Every operator that the case calls."""
        return _operators(self)


@dataclass(frozen=True, slots=True)
class Pin:
    """What a requirement page fixes about one answer: output values by dotted path, or a failure code.

    A value is in JSON wire form; for a list it may be any of count, sha256, head and tail instead.
    """

    values: Mapping[str, Any]
    failure: str
    position: Position


@dataclass(frozen=True, slots=True)
class QuestionCall:
    """One call of a question; inputs in JSON wire form, `{"from": "step.path"}` for what an earlier step answered,
    `{"root": "name"}` for a directory."""

    name: str
    operator: str
    inputs: Mapping[str, Any]
    pin: Pin | None = None


@dataclass(frozen=True, slots=True)
class Question(_Named):
    """An unfrozen case. `accumulation` has no checkpoints yet; `confirm` says how they will be confirmed."""

    position: Position
    steps: tuple[QuestionCall | HarnessStep, ...]
    accumulation: Accumulation | None = None
    confirm: str = "whole"
    sha256_pin: str = ""
    elements_pin: int | None = None

    @property
    def calls(self) -> tuple[QuestionCall, ...]:
        """The steps that are calls."""
        return tuple(step for step in self.steps if isinstance(step, QuestionCall))

    @property
    def operators(self) -> frozenset[str]:
        """Every operator that the question calls."""
        return _operators(self)


def asked_of(step: CallStep | QuestionCall | HarnessStep) -> object:
    """What a step asks or does, without what is expected; equal for equal steps."""
    if isinstance(step, CallStep | QuestionCall):
        return (step.name, step.operator, step.inputs)
    return replace(step, expected=None) if isinstance(step, TreeStep) else step


def _operators(asked: Case | Question) -> frozenset[str]:
    if asked.accumulation is not None:
        return frozenset({asked.accumulation.operator})
    return frozenset(step.operator for step in asked.calls)
