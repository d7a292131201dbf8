"""Texts that are nearly a handle: a machine must refuse each of them, as it refuses every handle that it never gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.backend.driver import RESTART, Call, RestartRequest, Talk
from conformance.backend.outcome import BadAnswer, Observed, ObservedFailure, ObservedResult, observe
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.trial.check import Check, Difference, FailedCall, Result, Verdict, answer_of, lost, outcome_name
from conformance.vectors.case import CallStep, Case, ExpectedResult, QuestionCall, Step
from conformance.vectors.conversation.exchange import ConversationContext, exchanges, runs_alone
from conformance.vectors.place import OTHER_DIGITS

TAKEN: Final = "a text that is no handle was taken for one"


def near_misses(handle: str) -> dict[str, str]:
    """Texts that are nearly the handle, and what makes each another one."""
    middle = len(handle) // 2
    found = {
        "": "an empty text",
        handle[:-1]: "without its last character",
        handle[1:]: "without its first character",
        f"{handle} ": "with a blank after it",
        f" {handle}": "with a blank before it",
        f"{handle}\n": "with a line end after it",
        f"{handle}x": "with a letter after it",
        f"0{handle}": "with a zero before it",
        f"+{handle}": "with a plus before it",
        f"{handle}.0": "with .0 after it",
        handle.swapcase(): "with its letters in the other case",
        handle.replace("-", ""): "without its hyphens",
        handle.translate(OTHER_DIGITS): "with its digits in another script",
        **{_turned(handle, at): f"with another character at place {at}" for at in (0, middle, len(handle) - 1)},
    }
    return {text: how for text, how in found.items() if text != handle and "\0" not in text}


def _turned(text: str, at: int) -> str:
    """The text with one character changed for its neighbour."""
    return text[:at] + "".join(chr(ord(one) ^ 1) for one in text[at : at + 1]) + text[at + 1 :]


@dataclass(slots=True)
class _Place:
    """Where a conversation is: an observer that notes the step and what it is asked with."""

    step: str = ""
    inputs: Mapping[str, Any] | None = None

    def before(self, stage: ConversationContext, step: CallStep | QuestionCall) -> None:
        """The step whose call is made next."""
        self.step, self.inputs = step.name, step.inputs

    def after(self, stage: ConversationContext, step: CallStep | QuestionCall) -> None:
        """Nothing."""


def traces_of_every_operation(methods: Sequence[str], cases: Sequence[Case]) -> list[Sequence[Step]]:
    """For every operation of a machine, the steps of the shortest case in which it succeeds."""
    found: dict[str, Case] = {}
    quick = [case for case in cases if case.profile == "quick" and not runs_alone(case.steps)]
    for case in sorted(quick, key=lambda case: (len(case.steps), case.digest)):
        for step in case.calls:
            if step.operator in methods and isinstance(step.expected, ExpectedResult):
                found.setdefault(step.operator, case)
    return [case.steps for case in {case.id: case for case in found.values()}.values()]


@dataclass(frozen=True, slots=True)
class NearHandles:
    """Walks traces of a machine. Before every call on a handle it makes the same call on near misses of it.

    Another conversation's handle may be a near miss too, so the process must have no other conversation.
    """

    check: Check
    methods: Sequence[str]
    codebook: Codebook
    dialect: Dialect

    def talk(self, traces: Sequence[Sequence[Step]]) -> Talk[Result]:
        """A failure at the first near miss that is not refused as an unknown handle, else a pass."""
        given: set[str] = set()
        yield RESTART
        for steps in traces:
            if (wrong := (yield from self._walk(steps, given))) is not None:
                return wrong
        return Result(self.check, Verdict.PASS)

    def _walk(self, steps: Sequence[Step], given: set[str]) -> Talk[Result | None]:
        place = _Place()
        walk = exchanges(steps, self.codebook, self.dialect, passing=True, watch=place)
        outcomes: Any = None
        while True:
            try:
                request = walk.send(outcomes)
            except StopIteration:
                return None
            assert not isinstance(request, RestartRequest)
            for call in request:
                if (wrong := (yield from self._asked_nearly(call, given, place))) is not None:
                    return wrong
            outcomes = yield request
            for call, outcome in zip(request, outcomes, strict=True):
                observed = observe(outcome, call.operator, self.codebook, self.dialect)
                if isinstance(observed, ObservedResult):
                    given.update(observed.handles.values())

    def _asked_nearly(self, call: Call, given: set[str], place: _Place) -> Talk[Result | None]:
        contract = self.codebook[call.operator].contract
        takes = contract.method.takes if contract.method is not None else ""
        if call.operator not in self.methods or call.inputs.get(takes) not in given:
            return None
        texts = {text: how for text, how in near_misses(call.inputs[takes]).items() if text not in given}
        outcomes = yield [Call(call.operator, {**call.inputs, takes: text}) for text in texts]
        code = contract.requires[0].code
        for how, outcome in zip(texts.values(), outcomes, strict=True):
            observed = observe(outcome, call.operator, self.codebook, self.dialect)
            if not (isinstance(observed, ObservedFailure) and observed.code == code):
                return self._wrong(call.operator, place, f"{TAKEN}: {takes} {how}", code, observed)
        return None

    def _wrong(self, operator: str, place: _Place, message: str, code: str, observed: Observed) -> Result:
        call = FailedCall(operator, place.inputs, answer_of(observed))
        if not isinstance(observed, ObservedResult | ObservedFailure | BadAnswer):
            return lost(self.check, observed, place.step, call)
        said = observed.code if isinstance(observed, ObservedFailure) else "a result"
        where = Difference("answer", code, said)
        return Result(self.check, Verdict.FAIL, outcome_name(observed), place.step, message, where, call)
