"""Questions near a question: one leaf of one call takes another value, and everything else stays as it is.

A leaf is also a number or a text inside CBOR: in a file that the question writes, or in a byte string of its inputs. A
guard may limit it in the same way as one of a call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.codec.scalar import IllTyped
from conformance.contract.types import Scalar, Value, places_of
from conformance.trial.fuzz.near_bytes import item_in, with_part
from conformance.trial.fuzz.seed import is_cheap
from conformance.trial.turns import by_turns
from conformance.vectors.case import CallStep, Case, ExpectedFailure, FileStep, QuestionCall, RestartStep
from conformance.vectors.compact import MARK, holds_recipe, is_recipe
from conformance.vectors.conversation.exchange import AnyStep
from conformance.vectors.files.file_steps import codec_of
from conformance.vectors.files.filecodec import Unencodable, encode_file
from conformance.vectors.leaf import (
    INTEGER,
    LeafOccurrence,
    LeafRange,
    Optional,
    beside,
    contains_value,
    dial_of,
    is_placeholder,
    put,
    spots,
)
from conformance.vectors.notable import AXES, notable_values
from conformance.vectors.place import distinct_places
from conformance.vectors.questions.axis import refusal_of

_LARGE: Final = 4096  # bytes; of a larger item only the long texts are turned, each question costs
_LONG: Final = 256


def parts_in(data: bytes, name: str) -> Iterator[tuple[LeafOccurrence, LeafRange | None]]:
    """Each whole number and text of a CBOR item, the first of every leaf, with its dial."""
    if (item := item_in(data)) is None:
        return
    for place in distinct_places(Value(), item[0]):
        value, where = place.value, f"{name} {place.key}"
        if type(value) is int and len(data) <= _LARGE:
            spot = LeafOccurrence(where, INTEGER, str(value), place.path)
            yield spot, dial_of(spot)
        elif isinstance(value, str) and value and (len(data) <= _LARGE or len(value) >= _LONG):
            spot = LeafOccurrence(where, Scalar("string"), value, place.path)
            yield spot, LeafRange(spot, len(value), 0, max(_LONG, 2 * len(value)), counts=True)


def with_another(data: bytes, spot: LeafOccurrence, value: Any) -> bytes:
    """The item with another number or text; the digests in it are made right again."""
    item = item_in(data)
    assert item is not None
    return with_part(item[0], spot.steps, int(value) if spot.type == INTEGER else value)


def written(step: FileStep) -> bytes | None:
    """The bytes that a step writes into a file; None if it writes none."""
    if step.action != "put":
        return None
    try:
        return encode_file(codec_of(step.body), step.body[codec_of(step.body)])
    except Unencodable:
        return None


def writing(step: FileStep, data: bytes) -> FileStep:
    """The step with other bytes."""
    body = {name: part for name, part in step.body.items() if name != codec_of(step.body)}
    return replace(step, body={**body, "bytes": data.hex()})


LONGEST: Final = 40_000  # characters of a call; nothing is asked near a longer one
_OCCURRENCES: Final = 4  # of a leaf in one call
_SEEN: Final = 8  # values of other cases for one leaf
_MOST_SEEN: Final = 1_500_000  # characters of calls that are searched for such values
_STEP, _RESTART, _MAKING = 1_000, 400_000, 100  # what a step, a new process and a file cost, in characters of a call
_LEAST_COUPLED: Final = 2  # zeros and ones are equal by chance
_ROUNDS: Final = 16  # how often a wrong call is made again
_MOST: Final = 300  # items of a large value
AnySteps = tuple[AnyStep, ...]


@dataclass(frozen=True, slots=True)
class CallLeaf:
    """One leaf of one call of a question, or a number or text inside the CBOR of a file or of a byte string."""

    steps: AnySteps
    at: int  # the place of the call, or of the file step
    spot: LeafOccurrence
    dial: LeafRange | None
    holder: LeafOccurrence | None = None  # the byte string of the call that contains it

    @property
    def name(self) -> str:
        """The name of the leaf, the same in every question and occurrence."""
        step = self.steps[self.at]
        if isinstance(step, FileStep):
            return self.spot.place
        assert isinstance(step, CallStep | QuestionCall)
        return f"{step.operator} {self.spot.place}"

    def having(self, value: Any) -> AnySteps:
        """The question with another value of the leaf."""
        step = self.steps[self.at]
        changed: AnyStep
        if isinstance(step, FileStep):
            changed = writing(step, with_another(written(step) or b"", self.spot, value))
        else:
            assert isinstance(step, CallStep | QuestionCall)
            spot = self.holder or self.spot
            if self.holder is not None:
                value = with_another(bytes.fromhex(self.holder.value), self.spot, value).hex()
            changed = QuestionCall(step.name, step.operator, put(step.inputs, spot.steps, value))
        return (*self.steps[: self.at], changed, *self.steps[self.at + 1 :])

    def question_with(self, place: int) -> AnySteps:
        """The question with the leaf's dial at a place."""
        assert self.dial is not None
        return self.having(self.dial.value(place))


@dataclass(frozen=True)
class Neighbourhood:
    """What can be asked near a question; `seen` has the values of other questions at each leaf."""

    codebook: Codebook
    seen: Mapping[tuple[str, str], Sequence[Any]]

    def leaves(self, steps: AnySteps, last: str = "") -> Iterator[CallLeaf]:
        """The leaves of every call, those of the call `last` first, then of those before; of each some occurrences."""
        calls = [k for k, step in enumerate(steps) if isinstance(step, CallStep | QuestionCall)]
        names = [step.name for step in steps if isinstance(step, CallStep | QuestionCall)]
        stop = names.index(last) if last in names else len(names) - 1
        for k in (*reversed(calls[: stop + 1]), *calls[stop + 1 :]):
            step = steps[k]
            assert isinstance(step, CallStep | QuestionCall)
            if len(repr(step.inputs)) > LONGEST:
                continue
            long = holds_recipe(step.inputs)
            found: Counter[str] = Counter()
            for spot in spots(self.codebook[step.operator].contract.inputs, step.inputs):
                # Of a call with a long value, which costs, only lengths and numbers are turned.
                if long and not is_recipe(spot.value) and not _is_number(spot):
                    continue
                if found[spot.place] < _OCCURRENCES and not is_placeholder(spot.value):
                    found[spot.place] += 1
                    yield CallLeaf(steps, k, spot, dial_of(spot))

    def stored(self, steps: AnySteps) -> Iterator[CallLeaf]:
        """The numbers and texts inside the files that a question writes and the byte strings that it hands over."""
        for k, step in enumerate(steps):
            if isinstance(step, FileStep):
                if (data := written(step)) is not None:
                    yield from (CallLeaf(steps, k, *one) for one in parts_in(data, step.subject))
            elif isinstance(step, CallStep | QuestionCall):
                for spot in spots(self.codebook[step.operator].contract.inputs, step.inputs):
                    if spot.type == Scalar("bytes") and isinstance(spot.value, str) and "~" not in spot.place:
                        found = parts_in(bytes.fromhex(spot.value), spot.place)
                        yield from (CallLeaf(steps, k, *one, holder=spot) for one in found)

    def rounds(self, steps: AnySteps, last: str, calls: Iterable[CallStep]) -> Iterator[AnySteps]:
        """The question, then the wrong call of a machine many times, so that what the machine counts goes on.

        In all lines but the first, one of `calls` comes before each repetition, on the same handle.
        """
        wrong = next((one for one in steps if isinstance(one, CallStep | QuestionCall) and one.name == last), None)
        handle = None if wrong is None else self._handle(wrong)
        if wrong is None or handle is None:
            return
        for other in (None, *calls):
            if other is not None and self.codebook[other.operator].contract.machine != (
                self.codebook[wrong.operator].contract.machine
            ):
                continue
            more: list[AnyStep] = []
            for k in range(_ROUNDS):
                if other is not None:
                    taken = self._handle_taken(other)
                    more.append(QuestionCall(f"round-{k}", other.operator, {**other.inputs, taken: handle}))
                more.append(QuestionCall(f"again-{k}", wrong.operator, wrong.inputs))
            yield (*steps, *more)

    def _handle_taken(self, step: CallStep | QuestionCall) -> str:
        method = self.codebook[step.operator].contract.method
        return "" if method is None or method.closes else method.takes

    def _handle(self, step: CallStep | QuestionCall) -> Any:
        return step.inputs.get(self._handle_taken(step))

    def changing(self, cases: Iterable[Case]) -> list[CallStep]:
        """One call of every method that takes a handle and changes state, without calls that name a folder."""
        found: dict[str, CallStep] = {}
        for step in (step for case in cases for step in case.steps if isinstance(step, CallStep)):
            taken = self._handle_taken(step)
            if step.operator in found or not taken or isinstance(step.expected, ExpectedFailure):
                continue
            method = self.codebook[step.operator].contract.method
            others = [part for name, part in step.inputs.items() if name != taken]
            if (
                method is not None
                and not method.reads
                and not any(contains_value(part, is_placeholder) for part in others)
            ):
                found[step.operator] = step
        return list(found.values())

    def questions_about(self, leaf: CallLeaf) -> Iterator[AnySteps]:
        """The questions in which only this leaf has another value, if a backend may be asked them."""
        step = leaf.steps[leaf.at]
        told = {repr(leaf.spot.value)}
        operator = step.operator if isinstance(step, CallStep | QuestionCall) else ""
        for value in self._values(operator, leaf):
            if repr(value) not in told:
                told.add(repr(value))
                if self.is_askable(question := leaf.having(value), leaf.at):
                    yield question

    def coupled_changes(self, leaves: Sequence[CallLeaf]) -> Iterator[AnySteps]:
        """The questions in which two numbers of one call that are equal, or differ by one, move together.

        A call at a limit that another of its numbers sets stays at that limit.
        """
        numbers = [leaf for leaf in leaves if leaf.dial is not None and not leaf.dial.counts]
        for one, other in combinations(numbers, 2):
            assert one.dial is not None
            assert other.dial is not None
            apart = other.dial.now - one.dial.now
            if one.at != other.at or abs(apart) > 1 or max(one.dial.now, other.dial.now) < _LEAST_COUPLED:
                continue
            for place in (*(2**power for power in range(1, 64, 5)), *one.dial.places()):
                if other.dial.low <= place + apart <= other.dial.high and one.dial.low <= place <= one.dial.high:
                    both = replace(other, steps=one.question_with(place)).question_with(place + apart)
                    if self.is_askable(both, one.at):
                        yield both

    def _values(self, operator: str, leaf: CallLeaf) -> Iterator[Any]:
        """Values of every sort by turns, so that the first few contain some of each."""
        sorts: list[Iterable[Any]] = []
        if leaf.dial is not None:
            sorts.append(map(leaf.dial.value, leaf.dial.places()))
        if leaf.holder is not None or not operator or is_recipe(leaf.spot.value):
            yield from chain.from_iterable(sorts)
            return
        if not isinstance(leaf.spot.type, Optional):
            sorts += [self.seen.get((operator, leaf.spot.place), ()), beside(leaf.spot)]
        for axis in AXES:
            named = notable_values(axis, leaf.spot)
            sorts.append(value for _, value in named if not holds_recipe(value) or _count(value) <= _MOST)
        yield from by_turns(sorts)

    def is_askable(self, steps: AnySteps, at: int) -> bool:
        """Whether a call is inside the domain and cheap, also for a backend whose guard against long calls is wrong."""
        step = steps[at]
        if isinstance(step, FileStep):
            return True
        assert isinstance(step, CallStep | QuestionCall)
        forms = self.codebook[step.operator]
        try:
            if refusal_of(forms, step.inputs) is None:
                return False
            if not forms.contract.fuzz_limits or holds_recipe(step.inputs):
                return True
            places = places_of(forms.contract.inputs)
            wire = {name: "x" if name in places else part for name, part in step.inputs.items()}
            return is_cheap(forms.contract, forms.inputs.to_native(wire))
        except (IllTyped, ValueError, TypeError, LookupError):
            return False


def seen_in(cases: Iterable[Case], codebook: Codebook) -> Mapping[tuple[str, str], Sequence[Any]]:
    """The values at each leaf of each operator in some frozen cases, distinct, in their order."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    left = _MOST_SEEN
    for case in cases:
        if (left := left - cost(case.steps)) < 0:
            break
        for step in case.steps:
            if not isinstance(step, CallStep) or len(repr(step.inputs)) > LONGEST or holds_recipe(step.inputs):
                continue
            for spot in spots(codebook[step.operator].contract.inputs, step.inputs):
                if not isinstance(spot.type, Optional) and not is_placeholder(spot.value):
                    kept = found.setdefault((step.operator, spot.place), {})
                    if len(kept) < _SEEN:
                        kept.setdefault(repr(spot.value), spot.value)
    return {key: tuple(kept.values()) for key, kept in found.items()}


def cost(steps: AnySteps) -> int:
    """About what a question costs, in characters of a call."""
    return sum((_RESTART if isinstance(step, RestartStep) else _STEP) + _length(step) for step in steps)


def is_long(steps: AnySteps) -> bool:
    """Whether a call of a question is so long that nothing is asked near it: a slow backend needs minutes for it."""
    return any(_length(step) > LONGEST for step in steps)


def _length(step: AnyStep) -> int:
    if isinstance(step, CallStep | QuestionCall):
        return len(repr(step.inputs)) + _recipe_length(step.inputs)
    return _MAKING


def in_turns(lines: Sequence[Iterable[AnySteps]], budget: int) -> Iterator[AnySteps]:
    """A question of each line, then the next of each, until they have cost the budget."""
    for question in by_turns(lines):
        if (budget := budget - cost(question)) < 0:
            return
        yield question


def without_pins(steps: Sequence[AnyStep]) -> AnySteps:
    """The steps of a question, ready to be changed."""
    return tuple(replace(step, pin=None) if isinstance(step, QuestionCall) else step for step in steps)


def _recipe_length(value: Any) -> int:
    """About how many characters the recipes of a value make."""
    if isinstance(value, str):  # as most parts are: to ask whether one is a Mapping takes ten times as long
        return 0
    if is_recipe(value):
        return int(value[MARK]["count"]) * max(2, len(repr(value[MARK].get("of", ""))))
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return sum(map(_recipe_length, parts))


def _is_number(spot: LeafOccurrence) -> bool:
    dial = dial_of(spot)
    return dial is not None and not dial.counts


def _count(value: Any) -> int:
    return int(value["generated"]["count"]) if isinstance(value, Mapping) and "generated" in value else 10**9
