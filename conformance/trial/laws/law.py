"""What a law is, and the tools that a law's conversation works with."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import conformance.trial.laws as rooms
from conformance.backend.drive import Call, Restart
from conformance.backend.observed import BadAnswer, ObservedFailure, ObservedResult, observe
from conformance.backend.outcome import Outcome
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect
from conformance.contract.model import Contract, LawUse
from conformance.trial import check as checks
from conformance.trial.offered import offered

T = TypeVar("T")
LawTalk = Generator[Sequence[Call] | Restart, Sequence[Outcome], None]
Asking = Generator[Sequence[Call], Sequence[Outcome], T]  # a part of a talk that finds out a T
Native = Mapping[str, Any]


class LawBroken(Exception):
    """The relation does not hold; the message is one sentence with the values that show it."""

    def __init__(self, message: str, call: Call | None = None) -> None:
        super().__init__(message)
        self.message, self.call = message, call

    def answered(self) -> checks.Call | None:
        """The call that shows it, as results hold calls."""
        return checks.Call(self.call.operator, self.call.inputs) if self.call else None


@dataclass(frozen=True, slots=True)
class Tools:
    """How a law asks: native inputs in, native results out."""

    codebook: Codebook
    dialect: Dialect

    def call(self, operator: str, inputs: Native) -> Call:
        """The call with these native inputs."""
        return Call(operator, self.codebook[operator].inputs.from_native(dict(inputs)))

    def ask(self, calls: Sequence[Call]) -> Asking[list[dict[str, Any]]]:
        """The native results of calls that must all succeed; raises LawBroken where one does not."""
        outcomes = yield calls
        results = []
        for call, outcome in zip(calls, outcomes, strict=True):
            observed = observe(outcome, call.operator, self.codebook, self.dialect)
            if isinstance(observed, ObservedResult):
                forms = self.codebook[call.operator]
                results.append({**(forms.lasting or forms.outputs).to_native(observed.fields), **observed.handles})
            elif isinstance(observed, ObservedFailure):
                raise LawBroken(f"a call that no guard refuses failed with {observed.code}", call)
            elif isinstance(observed, BadAnswer):
                raise LawBroken(f"an ill-typed answer: {observed.error}", call)
            else:
                raise LawBroken(f"no answer: {observed}", call)
        return results

    def ask_refused(self, calls: Sequence[Call]) -> Asking[None]:
        """Calls that some guard must refuse; raises LawBroken where one does not."""
        outcomes = yield calls
        for call, outcome in zip(calls, outcomes, strict=True):
            observed = observe(outcome, call.operator, self.codebook, self.dialect)
            if isinstance(observed, ObservedResult):
                raise LawBroken("a call that must be refused was answered", call)
            if not isinstance(observed, ObservedFailure):
                raise LawBroken(f"a call that must be refused got no well-typed failure: {observed}", call)


@dataclass(frozen=True, slots=True)
class Instance:
    """A law with its parameters chosen: one conversation, which ends well or raises LawBroken."""

    slug: str
    start: Callable[[], LawTalk]
    alone: bool = False  # it restarts the process


@dataclass(frozen=True, slots=True)
class Law:
    """A named relation: the sentence for the user, the operators it calls, and its instances."""

    name: str
    sentence: str
    calls: tuple[str, ...]  # operators called besides the one that declares the law
    instances: Callable[[Tools, Contract, LawUse], Iterator[Instance]]


@cache
def known_laws() -> Mapping[str, Law]:
    """Every law of every family, found in the modules of this package that offer LAWS."""
    return offered(rooms, "LAWS")
