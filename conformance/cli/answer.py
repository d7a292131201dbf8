"""Compares the reference and a backend on one call: guards, first difference, and the derivation of a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.backend.hello import BadHello
from conformance.backend.outcome import Lost, LostBackend, Observed, ObservedResult, describe
from conformance.cli.console import Complaint, say
from conformance.cli.interview import Interview
from conformance.cli.pair import Pair, expected_of, pair_of
from conformance.cli.rules import contradicted_facts, decision_facts
from conformance.cli.sequence import Answers, side_by_side, steps_behind
from conformance.contract.library import Library
from conformance.report.failure import Fact, cut, json_text, plain, shown_value
from conformance.vectors.case import ExpectedFailure
from conformance.vectors.contradiction import contradiction
from conformance.vectors.difference import Difference, difference

_ELEMENT: Final = re.compile(r"(.*)\[([0-9]+)\]\Z")


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked to see."""

    backend: str | None
    path: str
    index: int | None
    step: str
    inputs: bytes | None
    record: Path | None
    timeout: float
    position: int | None = None  # of a sequence
    search: bool = False  # for the first difference of a sequence
    every: bool = False  # ask every call of it
    call: int | None = None  # of a long run, counted from 0

    @property
    def in_sequence(self) -> bool:
        """Whether a sequence is asked about."""
        return self.position is not None or self.search


@dataclass(frozen=True, slots=True)
class Question:
    """One call that is to be explained."""

    operator: str
    inputs: Mapping[str, Any]
    note: str = ""
    reference: Observed | None = None  # what was answered already, inside a trace
    theirs: Observed | None = None
    native: Mapping[str, Any] | None = None  # of a trace, with the state of the machine that the call finds


def answered(
    question: Question, wish: Wish, library: Library, interview: Interview, pair: Pair | None = None, at: int = 0
) -> int:
    """Print what the reference and the backend make of one call; `at` is the value that a derivation is about."""
    contract = library.contracts[question.operator]
    facts = [Fact("asked", cut(f"{question.operator} {json_text(question.inputs)}", 600))]
    if question.note:
        facts.append(Fact("where", question.note))
    if contract.method is None or question.native is not None:
        facts += decision_facts(contract, question.native or interview.native(question.operator, question.inputs))
    reference, theirs = question.reference, question.theirs
    if reference is None:
        reference = interview.ask(interview.reference, question.operator, question.inputs)
        if wish.backend is not None:
            theirs = interview.ask(wish.backend, question.operator, question.inputs)
    parted: Difference | None = None
    expected = expected_of(interview.reference, reference)
    if isinstance(expected, ExpectedFailure):
        facts.append(Fact("reference", f"refuses with {expected.code}"))
    if theirs is not None:
        parted = difference(expected, theirs, contract.outputs, contract.failure)
        facts += _compared(wish.backend or "", parted, theirs)
        if parted is not None and (contract.method is None or question.native is not None):
            situation = interview.situation(question.operator, question.inputs, theirs, question.native)
            facts += contradicted_facts(contradiction(situation, interview.codebook))
    path, index = _place(wish, parted, reference)
    if isinstance(reference, ObservedResult) and path:
        value = _element(reference.fields, path, index)
        shown = path if index is None else f"{path}[{index}]"
        facts.append(Fact("reference", cut(f"{shown} = {json_text(value)}", 600)))
    pure = contract.purity == "pure"  # an answer that depends on state cannot be asked for again
    say(plain(facts))
    if not pure or not path:
        return 1 if parted is not None else 0
    answers = Answers(question.operator, question.inputs, reference, theirs)
    started = pair_of(interview.codebook, wish.backend, interview.timeout) if pair is None else nullcontext(pair)
    with started as both:
        steps = steps_behind(answers, library, both, index if index is not None else at)
        written = [*steps, *_in_words(answers, both, path, index)]
    if not written:
        written = [f"    the reference derives no output of {question.operator}; read its contract"]
    say("derivation")
    say("\n".join(written))
    return 1 if parted is not None else 0


def _in_words(answers: Answers, pair: Pair, path: str, index: int | None) -> list[str]:
    """How the reference derives a value in its own words, and the backend where it explains itself and differs."""
    asked = answers.operator, answers.inputs, path, index
    try:
        mine = pair.reference.derivation(*asked)
    except (BadHello, LostBackend) as error:
        said = describe(error.reason) if isinstance(error, LostBackend) else str(error)
        raise Complaint(pair.reference.name, "T007", f"lost during the derivation: {said}") from None
    theirs: list[str] = []
    if pair.backend is not None and answers.theirs is not None and not isinstance(answers.theirs, Lost):
        with suppress(BadHello, LostBackend):
            theirs = pair.backend.derivation(*asked)
    return list(side_by_side(mine, theirs))


def _compared(backend: str, parted: Difference | None, theirs: Observed) -> list[Fact]:
    if parted is None:
        return [Fact("backend", f"{backend} answers as the reference does")]
    note = f" ({parted.note})" if parted.note else ""
    actual = cut(shown_value(parted.actual, parted.path, parted.note))
    return [
        Fact("differs at", f"{parted.path}{note}"),
        Fact("expected", cut(shown_value(parted.expected, parted.path, parted.note))),
        Fact("actual", describe(theirs) if isinstance(theirs, Lost) else actual),
    ]


def _place(wish: Wish, parted: Difference | None, reference: object) -> tuple[str, int | None]:
    """The output and the index to derive: what was asked for, else where the two part, else the first list's head."""
    if wish.path:
        match = _ELEMENT.match(wish.path)
        return (match[1], int(match[2])) if match else (wish.path, wish.index)
    if not isinstance(reference, ObservedResult):
        return "", None
    if parted is not None and re.split(r"[.\[]", parted.path)[0] in reference.fields:
        match = _ELEMENT.match(parted.path)
        return (match[1], int(match[2])) if match else (parted.path, None)
    for name, value in reference.fields.items():
        if isinstance(value, list) and value:
            return name, min(wish.index or 0, len(value) - 1)
    return next(iter(reference.fields), ""), None


def _element(fields: Mapping[str, Any], path: str, index: int | None) -> Any:
    value: Any = fields
    try:
        for name in re.findall(r"[^.\[\]]+", path):
            value = value[int(name)] if isinstance(value, list) else value[name]
        return value if index is None else value[index]
    except (KeyError, IndexError, ValueError, TypeError):
        shown = path if index is None else f"{path}[{index}]"
        known = ", ".join(fields)
        raise Complaint(f"--path {shown!r}", "T003", "the answer has no such path", f"it has {known}") from None
