"""Two derivations of one question held against each other, and the case that is frozen where they agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.codec.codebook import Codebook
from conformance.codec.illtyped import show_path
from conformance.vectors.accumulate import Accumulated, Gap
from conformance.vectors.case import (
    CallStep,
    Case,
    Expected,
    ExpectedFailure,
    ExpectedResult,
    Step,
    TreeStep,
    label,
)
from conformance.vectors.derive import Answers
from conformance.vectors.difference import first_difference
from conformance.vectors.judge import fixes
from conformance.vectors.question import Asked, Question
from conformance.vectors.record import sealed
from conformance.vectors.tree import tree_difference


def explicit_difference(question: Question, own: Answers, theirs: Answers, codebook: Codebook) -> str:
    """Where a second derivation differs, with both values; empty where it does not."""
    for number, step in enumerate(question.steps, start=1):
        if isinstance(step, TreeStep):
            name = label(step, number)
            if name not in theirs.trees:
                return theirs.fault or f"{name} was not reached"
            if apart := tree_difference(step, own.trees[name], theirs.trees[name]):
                return f"{name}: {show_path(apart.path)} is {apart.expected!r:.200} against {apart.actual!r:.200}"
        if not isinstance(step, Asked):
            continue
        answer = theirs.expected.get(step.name)
        if answer is None:
            return theirs.fault or f"step {step.name} has no answer"
        if said := _difference(own.expected[step.name], answer, step.operator, codebook):
            return f"step {step.name}: {said}" if len(question.calls) > 1 else said
    return theirs.fault


def _difference(own: Expected, theirs: Expected, operator: str, codebook: Codebook) -> str:
    contract = codebook[operator].contract
    match own, theirs:
        case ExpectedResult(), ExpectedResult():
            found = first_difference(own.fields, theirs.fields, contract.outputs)
        case ExpectedFailure(), ExpectedFailure() if own.code == theirs.code:
            found = first_difference(own.data, theirs.data, contract.failure)
        case _:
            return f"{_kind(own)} against {_kind(theirs)}"
    if found is None:
        return ""
    return f"{show_path(found.path)} is {found.expected!r:.200} against {found.actual!r:.200}"


def _kind(answer: Expected) -> str:
    return answer.code if isinstance(answer, ExpectedFailure) else "a result"


def accumulation_difference(own: Accumulated, theirs: Accumulated, apart: Gap) -> str:
    """Both running hashes at the first checkpoint that differs."""
    return f"{dict(own.checkpoints).get(apart.differs)} against {dict(theirs.checkpoints).get(apart.differs)}"


def pinned_whole(question: Question, answers: Answers) -> bool:
    """Whether the pins of a question fix every answer, and every look at files, completely."""
    if any(isinstance(step, TreeStep) and step.expected is None for step in question.steps):
        return False
    for step in question.calls:
        answer = answers.expected[step.name]
        if step.pin is None or not fixes(step.pin, answer.fields if isinstance(answer, ExpectedResult) else {}):
            return False
    return True


def _frozen_steps(question: Question, answers: Answers) -> Iterator[Step]:
    for number, step in enumerate(question.steps, start=1):
        match step:
            case Asked():
                yield CallStep(step.name, step.operator, step.inputs, answers.expected[step.name])
            case TreeStep():
                yield replace(step, expected=answers.trees[label(step, number)])
            case _:
                yield step


def frozen_case(question: Question, answers: Answers | None, run: Accumulated | None, pinned: bool) -> Case:
    """The case of a question with what was derived for it."""
    accumulation = question.accumulation
    if accumulation is not None and run is not None:
        accumulation = replace(accumulation, checkpoints=run.checkpoints)
    steps = () if answers is None else tuple(_frozen_steps(question, answers))
    return sealed(
        Case(
            id=question.id,
            operator=question.operator,
            group=question.group,
            why=question.why,
            requirements=question.requirements,
            rulings=question.rulings,
            profile=question.profile,
            steps=steps,
            accumulation=accumulation,
            pinned=pinned,
        )
    )
