"""Tasks of fuzzing for tests: the usual check of an operator, and whoever answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.client import Client
from conformance.trial.fuzz.operator import fuzz_check
from conformance.trial.fuzz.task import FuzzTask
from conformance.trial.known_answers import KnownAnswers
from conformance.vectors.case import CallStep, Case, QuestionCall
from conformance.vectors.conversation.exchange import AnyStep, Transcript


def task_of(
    contract: Contract, cases: Sequence[Case], backend: object, right: object, codebook: Codebook, **options: Any
) -> FuzzTask:
    """The fuzzing of one operator, where a backend and a reference may be other objects that answer like a client."""
    both = cast(Client, backend), cast(Client, right)
    return FuzzTask(fuzz_check(contract), contract, cases, *both, codebook, **options)


@dataclass
class Silent:
    """A client that makes no call, and notes the operators that each walk would call."""

    called: list[list[str]] = field(default_factory=list)
    known: KnownAnswers = field(default_factory=KnownAnswers)

    def walk(self, steps: Sequence[AnyStep]) -> Transcript:
        self.called.append([step.operator for step in steps if isinstance(step, CallStep | QuestionCall)])
        return Transcript(())

    def walk_all(self, traces: Sequence[Sequence[AnyStep]]) -> list[Transcript]:
        return [self.walk(steps) for steps in traces]
