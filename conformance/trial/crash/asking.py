"""Asking a backend the steps of a plan in one set of roots, and what came back, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.backend.conversation import Call, Talk
from conformance.backend.observed import BadAnswer, ObservedFailure, ObservedResult, observe
from conformance.backend.outcome import Result, describe
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect
from conformance.trial.crash.volume import snapshot
from conformance.trial.crash.workload import Look, Put, Step
from conformance.vectors.typepath import value_at


class Kind(Enum):
    """What sort of answer it is."""

    RESULT = "a result"
    ABSENT = "nothing there"
    FAILURE = "a failure"
    BAD = "an ill-typed answer"
    UNASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one step answered: the fields of a result, the code and record of a failure, a sentence otherwise."""

    kind: Kind
    value: Any = None

    def __str__(self) -> str:
        text = "" if self.value is None else f" {self.value}"
        return f"{self.kind.value}{text if len(text) <= 200 else text[:200] + '...'}"


@dataclass(frozen=True, slots=True)
class Roots:
    """The directories that stand for the roots of a plan."""

    folder: Path

    def path(self, name: str) -> Path:
        """The directory of a root."""
        return self.folder / name


@dataclass(frozen=True, slots=True)
class Questioner:
    """What is needed to put a question and to read its answer."""

    codebook: Codebook
    dialect: Dialect

    def ask(self, steps: Sequence[Step | Look | Put], roots: Roots) -> Talk[tuple[Answer, ...]]:
        """Every step in order; a step that needs what an earlier one did not give is not asked."""
        given: dict[str, Any] = {}
        answers: list[Answer] = []
        for step in steps:
            if isinstance(step, Put):
                answers.append(put(step, roots))
                continue
            if isinstance(step, Look):
                missing = step.where and answers[_index(steps, step.where)].kind is Kind.ABSENT
                answers.append(Answer(Kind.ABSENT) if missing else look(step, roots))
                continue
            try:
                call = self.call(step, roots, given)
            except KeyError:
                answers.append(Answer(Kind.UNASKED))
                continue
            (outcome,) = yield [call]
            if isinstance(outcome, Result):
                given[step.name] = outcome.value
            answers.append(self.answer(step, outcome))
        return tuple(answers)

    def call(self, step: Step, roots: Roots, given: Mapping[str, Any]) -> Call:
        """The call of a step in these roots; raises KeyError where an earlier answer is missing."""
        inputs = {**_resolved(step.inputs, given), **{name: str(roots.path(root)) for name, root in step.roots.items()}}
        return Call(step.operator, inputs)

    def answer(self, step: Step, outcome: Any) -> Answer:
        """An outcome held to its contract; one that means "nothing there" is ABSENT, however it is said."""
        observed = observe(outcome, step.operator, self.codebook, self.dialect)
        if isinstance(observed, ObservedResult):
            said = Answer(Kind.RESULT, observed.fields)
        elif isinstance(observed, ObservedFailure):
            said = Answer(Kind.FAILURE, {"code": observed.code, **observed.data})
        elif isinstance(observed, BadAnswer):
            return Answer(Kind.BAD, str(observed.error))
        else:
            return Answer(Kind.BAD, describe(observed))
        return Answer(Kind.ABSENT) if any(_means(said, sign) for sign in step.absent) else said


def look(step: Look, roots: Roots) -> Answer:
    """The digests of the files that a look names; no file is ABSENT."""
    digests = snapshot(roots.path(step.root)).digests()
    found = {path: digest for path, digest in digests.items() if digest and fnmatchcase(path, step.files)}
    return Answer(Kind.RESULT, found) if found else Answer(Kind.ABSENT)


def put(step: Put, roots: Roots) -> Answer:
    """A file written, and the folders above it made."""
    file = roots.path(step.root) / step.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(step.content)
    return Answer(Kind.RESULT)


def _index(steps: Sequence[Step | Look | Put], name: str) -> int:
    return next(k for k, step in enumerate(steps) if not isinstance(step, Put) and step.name == name)


def _means(said: Answer, sign: str | Mapping[str, Any]) -> bool:
    if isinstance(sign, str):
        return said.kind is Kind.FAILURE and said.value["code"] == sign
    try:
        return all(value_at(said.value, path) == value for path, value in sign.items())
    except KeyError:
        return False


def _resolved(value: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"from"} and isinstance(value["from"], str):
            step, _, path = value["from"].partition(".")
            return value_at(given[step], path)
        return {key: _resolved(part, given) for key, part in value.items()}
    if isinstance(value, list):
        return [_resolved(part, given) for part in value]
    return value
