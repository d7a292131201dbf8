"""`tally explain` over a sequence: the call of a position, the first difference, and the derivation of one value."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.backend.outcome import Observed, ObservedResult
from conformance.cli.console import CommandError, nearest
from conformance.cli.interview import BackendPair, ExplainedCall
from conformance.cli.replay import BEFORE, Divergence
from conformance.codec.form import array_of
from conformance.contract.family import SequenceDeclaration
from conformance.contract.library import Library
from conformance.contract.types import ListOf
from conformance.contract.wording import counted
from conformance.report.failure import Fact, cut, first_difference, json_text
from conformance.trial.diagnosis.divergence import (
    BisectionResult,
    Derivation,
    Derived,
    Participant,
    StepComparison,
    searched_by_halves,
    searched_in_order,
)
from conformance.vectors.call_sequence import CallSequence, Inputs, SequenceRange, call_sequence
from conformance.vectors.case import Case
from conformance.vectors.compact import expanded
from conformance.vectors.conversation.difference import Difference
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.leaf import type_at, value_at

_NEIGHBOURS: Final = 3  # values on each side of the derived one
_WIDEST: Final = 24  # characters of a value in a column
_NAMED: Final = 24  # calls that are listed


@dataclass(frozen=True, slots=True)
class Located:
    """One call of a sequence, and the index of a value in its answer."""

    inputs: Inputs
    index: int
    facts: Sequence[Fact]
    parted: bool = False  # whether a search found it


def declared_sequence(library: Library, operator: str) -> SequenceDeclaration:
    """The sequence of an operator, or of the machine of an operation; raises CommandError."""
    contract = library.contracts[operator]
    name = operator if contract.machine is None else contract.machine.name
    found = library.sequences.get(name)
    if found is None:
        known = sorted(library.sequences)
        hint = f"sequences are declared in sequences.yaml: {', '.join(known) or 'there is none'}"
        raise CommandError(operator, "T008", "no sequence of it is declared", hint)
    return found


def case_of(declaration: SequenceDeclaration, corpus: Corpus) -> Case:
    """The frozen case with which a sequence begins; raises CommandError."""
    try:
        return corpus.find(declaration.case)
    except KeyError:
        hint = nearest(declaration.case, [known.id for known in corpus])
        raise CommandError(
            str(declaration.position), "T003", f"no vector has the id {declaration.case!r}", hint
        ) from None


def beginning(case: Case) -> Inputs:
    """The inputs of a case with which a sequence begins; raises CommandError if it is a trace."""
    if case.kind == "trace":
        raise CommandError(case.id, "T008", "a trace begins no sequence", "name a case of one call, or a long run")
    return case.accumulation.inputs if case.accumulation is not None else dict(expanded(case.calls[0].inputs))


@dataclass(frozen=True, slots=True)
class SearchedSequence:
    """A sequence of calls that start from the inputs `base`."""

    sequence: CallSequence
    base: Inputs
    extent: SequenceRange
    pair: BackendPair

    def call(self, number: int) -> tuple[int, Inputs]:
        """The start of a call, and its inputs."""
        position = self.extent.start + number * self.extent.stride
        return position, self.sequence.inputs(self.base, position)

    @property
    def in_words(self) -> str:
        """The sequence in words."""
        unit, extent = self.sequence.declaration.unit, self.extent
        return f"{unit}s {extent.start} to {extent.length - 1}, {counted(extent.calls, 'call')} of {extent.stride}"

    def path(self, index: int) -> str:
        """The path in an answer of the value with an index."""
        values = self.sequence.declaration.values
        return f"{values}[{index}]" if self.listed else values

    @property
    def listed(self) -> bool:
        """Whether a call gives a list of values."""
        return isinstance(type_at(self.sequence.contract.outputs, self.sequence.declaration.values), ListOf)

    def at(self, position: int) -> Located:
        """The call that gives the value of a position; raises CommandError if there is none."""
        unit, extent = self.sequence.declaration.unit, self.extent
        place = f"--position {position}"
        if not extent.start <= position < extent.length:
            hint = f"the sequence has the positions {extent.start} to {extent.length - 1}" if extent.calls else ""
            raise CommandError(place, "T003", f"there is no {unit} {position}", hint or "the sequence is empty")
        number = extent.call_of(position)
        begin, inputs = self.call(number)
        first = self.sequence.first(self.pair.native(self.sequence.contract.operator, inputs), begin)
        note = f"call {number + 1} of {extent.calls}, which begins at {begin}; its first {unit} is {first}"
        index = position - first
        if index < 0:
            raise CommandError(place, "T003", f"the call for it begins after it: {note}", "ask for another position")
        return Located(inputs, index, [Fact("where", f"{unit} {position} of {extent.length}: {note}")])

    def first_difference(self, every: bool) -> Located | Sequence[Fact]:
        """The first call that differs, or only the facts of the search if none does."""
        parted: dict[int, Difference] = {}

        def first_of(calls: range) -> int | None:
            found = self.pair.first_different_call(
                self.sequence.contract.operator, [self.call(one)[1] for one in calls]
            )
            if found is None:
                return None
            number = calls[found[0]]
            parted[number] = found[1]
            return number

        def differs(call: int) -> bool:
            return first_of(range(call, call + 1)) is not None

        count = self.extent.calls
        boundary = searched_in_order(count, first_of) if every else searched_by_halves(count, differs)
        facts = [_search_fact(boundary, every)]
        if boundary.differs is None:
            many = f"all {len(boundary.asked)} calls that were asked agree"
            said = many if len(boundary.asked) != 1 else "the call that was asked agrees"
            return [*facts, Fact("found", said), *_unasked(boundary)]
        begin, inputs = self.call(boundary.differs)
        first = self.sequence.first(self.pair.native(self.sequence.contract.operator, inputs), begin)
        index = self.index_of(parted[boundary.differs])
        position = begin if index is None else first + index
        unit = self.sequence.declaration.unit
        told = f"{unit} {position} of {self.extent.length}, in call {boundary.differs + 1}, which begins at {begin}"
        before = "; the call before it agrees" if boundary.differs else ""
        facts += [Fact("parts at", told + before), *_unasked(boundary)]
        return Located(inputs, index or 0, facts, True)

    def index_of(self, parted: Difference) -> int | None:
        """The index of the value that a difference is about; None if it is about no value."""
        values = self.sequence.declaration.values
        if parted.path == values:
            return 0
        number = parted.path.removeprefix(f"{values}[").removesuffix("]")
        return int(number) if number.isdigit() and number != parted.path else None


def _search_fact(boundary: BisectionResult, every: bool) -> Fact:
    named = ", ".join(str(call + 1) for call in boundary.asked[:_NAMED])
    more = ", ..." if len(boundary.asked) > _NAMED else ""
    how = "in order" if every else "by bisection"
    return Fact("searched", f"{len(boundary.asked)} of {counted(boundary.count, 'call')}, {how}: {named}{more}")


def _unasked(boundary: BisectionResult) -> list[Fact]:
    if boundary.certain:
        return [Fact("certain", "every call before it was asked" if boundary.differs else "every call was asked")] * (
            boundary.differs != 0
        )
    where = "before it" if boundary.differs is not None else "in all"
    were = f"{counted(boundary.unasked, 'call')} {where} {'was' if boundary.unasked == 1 else 'were'} not asked"
    said = f"{were}; a mistake that comes and goes may be there too"
    return [Fact("uncertain", f"{said}: --every asks each")]


def sequence_over(library: Library, operator: str, base: Inputs, pair: BackendPair) -> SearchedSequence:
    """The sequence of an operator for the inputs `base`; raises CommandError, MalformedContract."""
    sequence = call_sequence(declared_sequence(library, operator), library)
    pair.required(operator)
    native = pair.native(operator, base)
    extent = sequence.extent(base, native)
    refused = sequence.contract.refusal(native)
    if extent is None or refused is not None:
        why = "the inputs give the sequence no length" if refused is None else f"the call is refused: {refused.id}"
        raise CommandError(operator, "T008", why, "begin with the inputs of another case")
    return SearchedSequence(sequence, base, extent, pair)


def steps_behind(question: ExplainedCall, library: Library, pair: BackendPair, index: int) -> list[str]:
    """The lines of the derivation of one value of a call; none if its operator declares no steps."""
    declaration = library.sequences.get(question.operator)
    if declaration is None or not declaration.steps:
        return []
    sequence = call_sequence(declaration, library)
    native = pair.native(question.operator, question.inputs)
    extent = sequence.extent(question.inputs, native)
    if extent is None:
        return []
    first = sequence.first(native, extent.start)
    assert question.mine is not None
    mine = Participant(question.mine, pair.reference.ask)
    other = pair.backend
    theirs = None
    if other is not None and question.theirs is not None:
        theirs = Participant(question.theirs, other.ask, other.hello().operators)
    values = {**native, "position": first + index, "index": index}
    steps = Derivation(sequence, question.inputs, mine, theirs, values).steps()
    name = None if other is None else other.name
    lines = [f"    of {declaration.unit} {first + index}, which is value {index} of the answer", *table(steps, name)]
    for side, answer in (("reference", question.mine), ("backend", question.theirs)):
        near = around(answer, declaration.values, index, first)
        lines += [f"    {side:<9}  {near}"] if near else []
    return [*lines, ""]


def side_by_side(mine: Sequence[str], theirs: Sequence[str]) -> Iterator[str]:
    """The lines in which the reference derives a value, with the backend's different lines; the first has a mark."""
    marked = False
    for number, line in enumerate(mine):
        other = theirs[number] if number < len(theirs) else line
        if other == line:
            yield f"    {line}"
            continue
        yield f"  {' ' if marked else '>'} reference: {line}"
        yield f"    backend:   {other}"
        marked = True
    yield from (f"    backend:   {line}" for line in theirs[len(mine) :] if mine)


def sequence_in_words(declaration: SequenceDeclaration) -> str:
    """A replay in words."""
    replay = declaration.replay
    assert replay is not None
    return f"{replay.times} rounds of {', '.join(replay.round)}, replayed: no call goes to a position"


def replay_facts(found: Divergence, declaration: SequenceDeclaration, pair: BackendPair) -> Iterator[Fact]:
    """The facts of a replay: its call, and the question."""
    backend, reference = found.rounds
    if pair.backend is not None:
        yield Fact("searched", f"{backend} rounds of the backend, {reference} of the reference")
    if found.round == BEFORE:
        yield Fact("parts at" if found.difference else "where", "a step before the first round")
        return
    assert declaration.replay is not None
    where = f"{declaration.unit} {found.round} of {declaration.replay.times}"
    if found.difference is None:
        yield Fact("where", where)
    else:
        yield Fact("parts at", where if found.only else f"{where}; all calls before are answered alike")
    for one in found.answers[:-1]:
        said = json_text(one.observed.fields) if isinstance(one.observed, ObservedResult) else str(one.observed)
        yield Fact("before", cut(f"{one.step}: {said}"))


def table(steps: Sequence[Derived], backend: str | None) -> Iterator[str]:
    """A derivation as lines of at most 80 columns; the first step that differs has a mark."""
    if not steps:
        return
    width = max(len("step"), *(len(one.step) for one in steps))
    room = 80 - 4 - width - 2
    column = room if backend is None else min(_WIDEST, (room - 2) // 2)
    if backend is not None:
        yield f"    {'step':<{width}}  {'reference':<{column}}  backend"
    marked = False
    for one in steps:
        left, right = _columns(one, column)
        mark = " "
        if one.agreement is StepComparison.DIFFERS and not marked:
            mark, marked = ">", True
        line = f"  {mark} {one.step:<{width}}  {left:<{column}}"
        yield line.rstrip() if backend is None else f"{line}  {right}"


def _columns(one: Derived, column: int) -> tuple[str, str]:
    left = _text(one.reference)
    if one.agreement in (StepComparison.GIVEN, StepComparison.UNDECLARED, StepComparison.UNASKED):
        return _cut(left, column, 0), f"({one.agreement.value})"
    right = _text(one.backend)
    at = first_difference(left, right) if left != right else 0
    return _cut(left, column, at), _cut(right, column, at)


def _text(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"dtype", "shape", "data"}:
        return str(array_of(value["dtype"], value["shape"], b64decode(value["data"])).tolist())
    return value if isinstance(value, str) else json_text(value)


def _cut(text: str, column: int, at: int) -> str:
    """A text cut to the width of a column so that the character at `at` is visible."""
    if len(text) <= column:
        return text
    if at < column - 3:
        return f"{text[: column - 3]}..."
    start = min(at - 4, len(text) - column + 3)
    rest = text[start : start + column - 3]
    return f"...{rest}" if start + column - 3 >= len(text) else f"...{rest[:-3]}..."


def around(answer: Observed | None, values: str, index: int, first: int) -> str:
    """The values near one, with the position of the first of them; empty if there is no list."""
    try:
        found = value_at(answer.fields, values) if isinstance(answer, ObservedResult) else None
    except KeyError:
        return ""
    if not isinstance(found, list) or index >= len(found) + _NEIGHBOURS:
        return ""
    start = max(index - _NEIGHBOURS, 0)
    near = found[start : index + _NEIGHBOURS + 1]
    return f"from {first + start}: {', '.join(_cut(_text(one), _WIDEST, 0) for one in near)}"
