"""The conversation of one case: its calls and file steps in order, what earlier steps answered put where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from conformance.backend.drive import RESTART, Talk
from conformance.backend.observed import ObservedResult
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect
from conformance.vectors.case import CallStep, FileStep, HarnessStep, RestartStep, TreeStep, label
from conformance.vectors.question import Asked
from conformance.vectors.room_path import StepRefused
from conformance.vectors.stage import Exchange, Stage, resolve

__all__ = ["AnyStep", "Exchange", "Held", "exchanges", "resolve", "restarts"]

AnyStep = CallStep | Asked | HarnessStep


@dataclass(frozen=True, slots=True)
class Held:
    """What a conversation found: its exchanges, the trees that it saw by step, and why it ended early if it did."""

    exchanges: tuple[Exchange, ...]
    trees: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fault: str = ""


class Watch(Protocol):
    """Who looks at the roots before and after every call of a conversation."""

    def before(self, stage: Stage, step: Any) -> None:
        """The call is about to be made."""

    def after(self, stage: Stage, step: Any) -> None:
        """The call was answered."""


def exchanges(
    steps: Sequence[AnyStep],
    codebook: Codebook,
    dialect: Dialect,
    passing: bool = False,
    watch: Watch | None = None,
) -> Talk[Held]:
    """Take every step in order; ends early where a step cannot be done or needs what an earlier one did not answer.

    `passing` over what cannot be done, it goes on, and `fault` says which file steps were left out.
    """
    left_out: list[str] = []
    trees: dict[str, Mapping[str, Any]] = {}
    with Stage(codebook, dialect) as stage:
        for number, step in enumerate(steps, start=1):
            match step:
                case RestartStep():
                    yield RESTART
                case FileStep() | TreeStep():
                    try:
                        tree = stage.take(step)
                    except StepRefused as refused:
                        if passing:
                            left_out.append(f"{label(step, number)}: {refused}")
                            continue
                        return Held(stage.exchanges, trees, f"{label(step, number)}: {refused}")
                    if tree is not None:
                        trees[label(step, number)] = tree
                case CallStep() | Asked():
                    try:
                        inputs = stage.inputs(step)
                    except KeyError:
                        if passing:
                            continue
                        fault = f"step {step.name} uses what an earlier step did not answer{_failures(stage.exchanges)}"
                        return Held(stage.exchanges, trees, fault)
                    call = stage.call(step.operator, inputs)
                    if watch is not None:
                        watch.before(stage, step)
                    (outcome,) = yield [call]
                    stage.note(step.name, step.operator, inputs, outcome)
                    if watch is not None:
                        watch.after(stage, step)
        return Held(stage.exchanges, trees, "; ".join(left_out))


def restarts(steps: Iterable[AnyStep]) -> bool:
    """Whether the conversation needs a process of its own."""
    return any(isinstance(step, RestartStep) for step in steps)


def _failures(made: Sequence[Exchange]) -> str:
    """What the last step that has failed answered instead, in words."""
    failed = [one for one in made if not isinstance(one.observed, ObservedResult)]
    return f" (step {failed[-1].step}: {failed[-1].observed})"[:200] if failed else ""
