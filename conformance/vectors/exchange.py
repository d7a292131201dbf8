"""The conversation of one case: its calls in order, what earlier steps answered put where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.backend.drive import RESTART, Call, Talk
from conformance.backend.observed import Observed, ObservedResult, observe
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect
from conformance.vectors.case import CallStep, RestartStep
from conformance.vectors.question import Asked
from conformance.vectors.typepath import value_at

AnyStep = CallStep | Asked | RestartStep


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call that was made: the step, its inputs with every reference resolved, and what came back."""

    step: str
    operator: str
    inputs: Mapping[str, Any]
    observed: Observed


def exchanges(steps: Sequence[AnyStep], codebook: Codebook, dialect: Dialect) -> Talk[tuple[Exchange, ...]]:
    """Ask every step in order; ends early where a step needs what an earlier one did not answer."""
    made: dict[str, Exchange] = {}
    for step in steps:
        if isinstance(step, RestartStep):
            yield RESTART
            continue
        try:
            inputs = resolve(step.inputs, made)
        except KeyError:
            break
        (outcome,) = yield [Call(step.operator, inputs)]
        made[step.name] = Exchange(step.name, step.operator, inputs, observe(outcome, step.operator, codebook, dialect))
    return tuple(made.values())


def restarts(steps: Iterable[AnyStep]) -> bool:
    """Whether the conversation needs a process of its own."""
    return any(isinstance(step, RestartStep) for step in steps)


def resolve(value: Any, made: Mapping[str, Exchange]) -> Any:
    """`value` with every reference to a step in `made` replaced; raises KeyError where that step gave no such result.

    Only a reference to a step that has been asked is one: a map that happens to look like a reference is left alone.
    """
    if isinstance(value, dict):
        if value.keys() == {"from"} and isinstance(value["from"], str):
            step, _, path = value["from"].partition(".")
            if path and step in made:
                observed = made[step].observed
                if not isinstance(observed, ObservedResult):
                    raise KeyError(value["from"])
                return value_at(observed.fields, path)
        return {key: resolve(part, made) for key, part in value.items()}
    if isinstance(value, list) and not (value and isinstance(value[0], str)):
        return [resolve(part, made) for part in value]
    return value
