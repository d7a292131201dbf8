"""The first call of a sequence that two backends answer differently, and how one of its values is derived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from conformance.backend.outcome import BadAnswer, Observed, ObservedFailure, ObservedResult, describe
from conformance.codec.form import form_of
from conformance.contract.family import DerivationStep
from conformance.contract.types import ListOf
from conformance.vectors.call_sequence import CallSequence, Inputs
from conformance.vectors.leaf import type_at, value_at


@dataclass(frozen=True, slots=True)
class BisectionResult:
    """What a search over the calls 0 .. count-1 found."""

    count: int
    differs: int | None  # a call that differs and is the first of all or follows one that agrees
    asked: tuple[int, ...]  # in their order

    @property
    def unasked(self) -> int:
        """The number of calls before the boundary that were not asked; of all calls if there is no boundary."""
        before = self.count if self.differs is None else self.differs
        return before - sum(1 for call in self.asked if call < before)

    @property
    def certain(self) -> bool:
        """Whether no earlier call can differ."""
        return self.unasked == 0


def searched_by_halves(count: int, differs: Callable[[int], bool]) -> BisectionResult:
    """Search a boundary with about log2(count) calls.

    The first call and the last come first. If only the last differs, the interval between them is halved. If neither
    does, the powers of two are asked, and the interval below the first that differs is halved. If two backends that
    have parted stay apart, the boundary is the first difference; else there may be an earlier one.
    """
    asked: dict[int, bool] = {}

    def ask(call: int) -> bool:
        if call not in asked:
            asked[call] = differs(call)
        return asked[call]

    def found(call: int | None) -> BisectionResult:
        return BisectionResult(count, call, tuple(asked))

    if count == 0 or ask(0):
        return found(0 if count else None)
    agrees, apart = 0, count - 1
    if not ask(apart):
        powers = [1 << bit for bit in range((count - 1).bit_length()) if 1 << bit < count]
        for power in powers:
            if ask(power):
                apart = power
                break
            agrees = power
        else:
            return found(None)
    while apart - agrees > 1:
        middle = (agrees + apart) // 2
        if ask(middle):
            apart = middle
        else:
            agrees = middle
    return found(apart)


_MOST: Final = 256  # calls that are asked at a time


def searched_in_order(count: int, first_of: Callable[[range], int | None]) -> BisectionResult:
    """Ask every call in order, more and more at a time, until one differs; `first_of` finds the first of some."""
    asked, size = 0, 1
    while asked < count:
        calls = range(asked, min(asked + size, count))
        found = first_of(calls)
        asked, size = calls.stop, min(2 * size, _MOST)
        if found is not None:
            return BisectionResult(count, found, tuple(range(asked)))
    return BisectionResult(count, None, tuple(range(count)))


Ask = Callable[[str, Inputs], Observed]


class StepComparison(Enum):
    """How the two sides compare at one step."""

    SAME = "same"
    DIFFERS = "differs"
    GIVEN = "from the inputs"  # an expression of the contract: there is nothing to ask
    UNDECLARED = "not declared"  # the backend has no such helper
    UNASKED = "not asked"  # no backend was named, or the call has no inputs
    NO_VALUE = "no value"  # the backend's answer as a whole is no result, so no part of it is right or wrong


@dataclass(frozen=True, slots=True)
class Derived:
    """One step of a derivation; both sides are given the same inputs, those of the reference."""

    step: str
    source: str  # what was asked: a helper operator, a path of the answer, or nothing
    reference: Any
    backend: Any
    agreement: StepComparison


@dataclass(frozen=True, slots=True)
class Participant:
    """One side: the outcome of its call of the sequence, and the function that asks its helpers."""

    answer: Observed
    ask: Ask
    declared: frozenset[str] | None = None  # None: every operator


NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Derivation:
    """Derives one value of a call, whose wire inputs are `inputs`, on both sides."""

    sequence: CallSequence
    inputs: Inputs
    mine: Participant
    theirs: Participant | None
    values: dict[str, Any]  # what expressions see: native inputs, `position`, `index`, and the steps so far
    answers: dict[str, Observed] = field(default_factory=dict)  # of the reference, by step

    def steps(self) -> list[Derived]:
        """The steps; one whose `when` is not true is not taken, and its `otherwise` is what later expressions see."""
        found: list[Derived] = []
        for step in self.sequence.declaration.steps:
            if step.when and self._value(step, "when") is not True:
                if step.otherwise:
                    self.values[step.name] = self._value(step, "otherwise")
            elif step.value:
                shown = _plain(self._value(step, "value"))
                found.append(Derived(step.name, "", shown, None, StepComparison.GIVEN))
            else:
                found.append(self._derived(step))
        return found

    def _value(self, step: DerivationStep, key: str) -> Any:
        return self.sequence.value(step.path_in_file, key, self.values)

    def _derived(self, step: DerivationStep) -> Derived:
        place, theirs = self._value(step, "element") if step.element else None, self.theirs
        if step.call:
            given = self._arguments(step)
            if given is None:
                return Derived(step.name, step.call, NOTHING, None, StepComparison.UNASKED)
            self.answers[step.name] = self.mine.ask(step.call, given)
            reference, backend = self.answers[step.name], None
            if theirs is not None and (theirs.declared is None or step.call in theirs.declared):
                backend = theirs.ask(step.call, given)
        else:
            reference, backend = self.mine.answer, theirs.answer if theirs is not None else None
        dotted = step.told or step.path
        told = _part(reference, dotted, place)
        self._bind(step, told)
        source = f"{step.call or step.told}[{place}]" if place is not None else step.call or step.told
        if backend is None:
            agreement = StepComparison.UNASKED if theirs is None else StepComparison.UNDECLARED
            return Derived(step.name, source, told, None, agreement)
        other = _part(backend, dotted, place)
        if not step.call and isinstance(reference, ObservedResult) and not isinstance(backend, ObservedResult):
            return Derived(step.name, source, told, other, StepComparison.NO_VALUE)
        return Derived(step.name, source, told, other, StepComparison.SAME if told == other else StepComparison.DIFFERS)

    def _arguments(self, step: DerivationStep) -> Inputs | None:
        """The inputs of a helper call; None if one of them has no value."""
        given: dict[str, Any] = {}
        for name in step.inputs:
            given[name] = self.sequence.argument(step, name, self.values)
            if given[name] is None:
                return None
        for name, place in step.uses.items():
            head, _, rest = place.partition(".")
            if head in self.answers and rest:
                answer = self.answers[head]
                if not isinstance(answer, ObservedResult):
                    return None
                given[name] = value_at(answer.fields, rest)
            else:
                given[name] = value_at(self.inputs, place)
        return given

    def _bind(self, step: DerivationStep, told: Any) -> None:
        """Make the reference's value known to later expressions, where its type has a place in them."""
        contract = self.sequence.helpers[step.name] if step.call else self.sequence.contract
        type_ = type_at(contract.outputs, step.told or step.path)
        type_ = type_.item if step.element and isinstance(type_, ListOf) else type_
        if step.name in self.sequence.bound and not isinstance(told, NoValue):
            self.values[step.name] = form_of(type_).to_native(told)


class NoValue(str):
    """A text in place of a value that does not exist."""

    __slots__ = ()


def _part(answer: Observed, dotted: str, place: int | None) -> Any:
    if isinstance(answer, ObservedFailure):
        return NoValue(f"refuses with {answer.code}")
    if isinstance(answer, BadAnswer):
        return NoValue(f"ill-typed: {answer.error}")
    if not isinstance(answer, ObservedResult):
        return NoValue(describe(answer))
    try:
        found = value_at(answer.fields, dotted)
        return found if place is None else found[place]
    except (KeyError, IndexError):
        return NoValue(NOTHING)


def _plain(value: Any) -> Any:
    return bytes(value).hex() if isinstance(value, bytes | bytearray) else NOTHING if value is None else value
