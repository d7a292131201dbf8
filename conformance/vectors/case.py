"""A case as a value: one question to a backend, or several with data flowing between them, and what must come back.

Inputs and expectations are JSON wire values. Inside inputs `{"from": "step.path"}` stands for what an earlier step
answered and `{"root": "name"}` for a directory that the harness makes; inside an expected result a list over 64
elements stands as {count, sha256, head, tail}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

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
    """What the harness does to files between two calls: put, flip, truncate, delete, rename, link or chmod.

    `body` names the root and the paths below it; a path may hold `{step.output}`, what an earlier step answered.
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
class Case:
    """One frozen case. Exactly one of `steps` and `accumulation` is there; an explicit case has a single step."""

    id: str  # OPERATOR::group::slug, never changed once released
    operator: str
    group: str
    why: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    profile: str
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
        if self.accumulation is not None:
            return frozenset({self.accumulation.operator})
        return frozenset(step.operator for step in self.calls)
