"""A case before it is frozen: what is asked, what a requirement page pins, and where the contract says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.contract.position import Position
from conformance.vectors.case import Accumulation, HarnessStep


@dataclass(frozen=True, slots=True)
class Pin:
    """What a requirement page fixes about one answer: output values by dotted path, or a failure code.

    A value stands in JSON wire form; for a list it may be any of count, sha256, head and tail instead.
    """

    values: Mapping[str, Any]
    failure: str
    position: Position


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a question; inputs in JSON wire form, `{"from": "step.path"}` for what an earlier step answered,
    `{"root": "name"}` for a directory."""

    name: str
    operator: str
    inputs: Mapping[str, Any]
    pin: Pin | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """An unfrozen case. `accumulation` has no checkpoints yet; `confirm` says how they will be confirmed."""

    id: str
    operator: str
    group: str
    why: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    profile: str
    position: Position
    steps: tuple[Asked | HarnessStep, ...]
    accumulation: Accumulation | None = None
    confirm: str = "whole"
    sha256_pin: str = ""
    elements_pin: int | None = None

    @property
    def calls(self) -> tuple[Asked, ...]:
        """The steps that are calls."""
        return tuple(step for step in self.steps if isinstance(step, Asked))

    @property
    def operators(self) -> frozenset[str]:
        """Every operator that the question calls."""
        if self.accumulation is not None:
            return frozenset({self.accumulation.operator})
        return frozenset(step.operator for step in self.calls)
