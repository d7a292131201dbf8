"""Turns questions into cases: the reference derives a value, a second derivation confirms it, the contract allows it.

Nothing here writes files. A question that cannot be frozen becomes a problem, which names the case and both values.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from conformance.backend.hello import Hello
from conformance.backend.outcome import describe
from conformance.backend.scheduler import workers
from conformance.codec.codebook import Codebook
from conformance.contract.cel.engine import Unjudgeable
from conformance.contract.wording import counted
from conformance.contract.yaml.source import Problem
from conformance.vectors.case import Case, Question
from conformance.vectors.conversation.accumulate import AccumulatedRun, gap
from conformance.vectors.conversation.contradiction import contradiction, follows
from conformance.vectors.conversation.exchange import Transcript
from conformance.vectors.conversation.state_tracking import situations
from conformance.vectors.frozen.corpus import CONTRACT, PIN
from conformance.vectors.frozen.derivation import (
    Answers,
    Derivation,
    NoValue,
    complaints,
    confirm_windows,
    derive,
    explicit_difference,
    frozen_case,
    introduce,
    pinned_whole,
    tree_complaints,
)

FreezeProgress = Callable[[int, int], None]  # derivations done and in all: one for each question and backend


@dataclass(frozen=True, slots=True)
class Frozen:
    """Frozen cases by id, what confirmed each besides the reference, and why the other questions were not frozen."""

    cases: Mapping[str, Case]
    confirmed_by: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...]


_NOT_DECLARED: Final = NoValue("the operator is not declared", "the operator is not declared")
_NO_ANSWER: Final = NoValue("no answer", "no answer")
_LAST_WORDS: Final = 6  # lines of stderr; the end of a traceback has the reason


def no_progress(_done: int, _total: int) -> None:
    """Report no progress."""


def freeze(
    questions: Sequence[Question],
    codebook: Codebook,
    jobs: int = 1,
    progress: FreezeProgress = no_progress,
) -> Frozen:
    """Derive and confirm every question; raises BackendNotFound, BadHello where a backend cannot start.

    `jobs` backend processes work at a time; the answer does not depend on it.
    """
    reference = codebook.suite.reference
    confirmers = sorted({name for one in questions for name in second_derivations(one.operator, codebook)})
    hellos = {name: introduce(name, codebook) for name in (reference, *confirmers)} if questions else {}
    problems: list[Problem] = []
    judging = threading.Lock()  # the expression engine makes no promise about threads
    sure: set[str] = set()

    def judge(question: Question, transcript: Transcript) -> None:
        with judging:
            try:
                found = tuple(situations(question.steps, transcript.exchanges, codebook))
                contradictions = [contradiction(situation, codebook) for situation in found]
                for situation, wrong in zip(found, contradictions, strict=True):
                    problems.extend(complaints(question, situation, wrong, codebook))
                problems.extend(tree_complaints(question, transcript))
                if follows(question, transcript, found, contradictions, codebook):
                    sure.add(question.id)
            except Unjudgeable as error:
                hint = "leave it out of the case, and test what happens to it in a test"
                message = f"{question.id}: no expression can judge {error}"
                problems.append(Problem(question.position, "V014", message, hint))

    tasks: list[tuple[str, Sequence[Question]]] = []
    for name in hellos:
        asked = [one for one in questions if _asked_of(name, one, codebook, reference)]
        tasks += [(name, asked[k::jobs]) for k in range(jobs) if asked[k::jobs]]
    total, done, counting = sum(len(some) for _, some in tasks), itertools.count(1), threading.Lock()

    def tick() -> None:
        with counting:
            progress(next(done), total)

    with workers(jobs) as pool:
        futures = [
            pool.submit(derive, name, some, codebook, hellos[name], judge if name == reference else None, tick)
            for name, some in tasks
        ]
        derivations = _merged([future.result() for future in futures])
    return _Freezer(codebook, derivations, hellos, reference, problems, sure).frozen(questions)


def _asked_of(name: str, question: Question, codebook: Codebook, reference: str) -> bool:
    if name == reference:
        # If windows confirm a run, the reference later answers only these.
        return question.accumulation is None or question.confirm != "windows"
    return name in second_derivations(question.operator, codebook)


def second_derivations(operator: str, codebook: Codebook) -> tuple[str, ...]:
    """The backends that confirm an operator's answers: those of its contract, else those of the suite."""
    own = codebook[operator].contract.confirmed_by
    return codebook.suite.confirm or () if own is None else own


def _merged(parts: Sequence[Derivation]) -> dict[str, Derivation]:
    merged: dict[str, Derivation] = {}
    for part in parts:
        known = merged.get(part.backend, part)
        merged[part.backend] = replace(
            part,
            answers={**known.answers, **part.answers},
            accumulated={**known.accumulated, **part.accumulated},
            faults={**known.faults, **part.faults},
        )
    return merged


@dataclass(slots=True)
class _Freezer:
    """Compares the derivations of each question; `sure` are the ids whose answers follow from their contract."""

    codebook: Codebook
    derivations: Mapping[str, Derivation]
    hellos: Mapping[str, Hello]
    reference: str
    problems: list[Problem]
    sure: Collection[str]
    cases: dict[str, Case] = field(default_factory=dict)
    confirmed_by: dict[str, tuple[str, ...]] = field(default_factory=dict)
    silent: dict[tuple[str, str, str], list[tuple[Question, NoValue]]] = field(default_factory=dict)

    def frozen(self, questions: Sequence[Question]) -> Frozen:
        for question in questions:
            if question.accumulation is None:
                self.explicit(question)
            else:
                self.accumulated(question)
        for (backend, _, operator), some in self.silent.items():
            self.no_value(backend, operator, some)
        return Frozen(self.cases, self.confirmed_by, tuple(sorted(set(self.problems))))

    def complain(self, question: Question, code: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(question.position, code, f"{question.id}: {message}", hint))

    def no_value(self, backend: str, operator: str, some: Sequence[tuple[Question, NoValue]]) -> None:
        """One complaint about questions of an operator that a backend gives no value for, all for the same cause."""
        question, why = some[0]
        who = "the reference" if backend == self.reference else backend
        message, hint = f"{who} gives no value: {why.said}", f"declare {operator} in its tally.hello"
        if len(some) > 1:
            message += f"; likewise in {counted(len(some) - 1, 'other case')} of {operator}"
        if why.stderr.strip():
            lines = why.stderr.rstrip().splitlines()[-_LAST_WORDS:]
            hint = f"correct {who}; its stderr ended with:" + "".join(f"\n    | {line}" for line in lines)
        elif why is not _NOT_DECLARED:
            hint = f"correct what {who} answers, or what the contract expects"
        self.complain(question, "V007", message, hint)

    def confirmers(self, question: Question) -> list[Derivation]:
        names = second_derivations(question.operator, self.codebook)
        # A backend cannot confirm its own answer.
        found = [self.derivations[name] for name in names if name in self.derivations and name != self.reference]
        return [derivation for derivation in found if derivation.covers(question)]

    def lack(self, question: Question, backend: str, why: NoValue) -> None:
        """Note that a backend gives no value for a question."""
        self.silent.setdefault((backend, why.cause, question.operator), []).append((question, why))

    def explicit(self, question: Question) -> None:
        own = self.derivations[self.reference]
        answers = own.answers.get(question.id)
        if answers is None or answers.fault:
            why = answers.fault if answers else None
            self.lack(question, self.reference, why or own.faults.get(question.id, _NOT_DECLARED))
            return
        confirmed, disputed = [], False
        for other in self.confirmers(question):
            fault = other.faults.get(question.id, _NO_ANSWER)
            theirs = other.answers.get(question.id, Answers({}, fault))
            difference = explicit_difference(question, answers, theirs, self.codebook)
            if difference:
                self.complain(question, "V001", f"{self.reference} and {other.backend} disagree: {difference}")
                disputed = True
            else:
                confirmed.append(other.backend)
        pinned = pinned_whole(question, answers)
        confirmed += [PIN] if pinned else []
        methods = all(self.codebook[one].contract.method is not None for one in question.operators)
        # For a pure operator it is named only if nothing else confirms the value.
        confirmed += [CONTRACT] if question.id in self.sure and (methods or not confirmed) else []
        self.note(question, frozen_case(question, answers, None, pinned), confirmed, disputed)

    def accumulated(self, question: Question) -> None:
        names = [one.backend for one in self.confirmers(question)]
        if question.confirm != "windows":
            names.insert(0, self.reference)
        runs = {name: self.run(name, question) for name in names}
        usable = {name: run for name, run in runs.items() if run is not None}
        if len(usable) < len(runs) or not usable:
            return
        first, *others = usable
        disputed = False
        for name in others:
            apart = gap(usable[first].checkpoints, usable[name].checkpoints)
            if apart:
                own, theirs = (dict(usable[one].checkpoints).get(apart.differs) for one in (first, name))
                self.complain(question, "V001", f"{first} and {name} disagree: {apart}; {own} against {theirs}")
                disputed = True
        if question.confirm == "windows":
            self.windows(question, usable[first])
            # The windows alone confirm nothing: a second backend must make the whole run.
            others = [first, *others] if others else []
        self.pins(question, usable[first])
        pinned = bool(question.sha256_pin)
        others += [PIN] if pinned else []
        self.note(question, frozen_case(question, None, usable[first], pinned), others, disputed)

    def run(self, name: str, question: Question) -> AccumulatedRun | None:
        """The whole run of one backend, or a complaint."""
        derivation = self.derivations[name]
        run = derivation.accumulated.get(question.id)
        if run is None or run.stop is not None:
            why = derivation.faults.get(question.id, _NOT_DECLARED)
            if run is not None and run.stop is not None:
                said = describe(run.stop.observed)
                why = NoValue(f"call {run.stop.call} gave {said}", said)
            self.lack(question, name, why)
            return None
        return run

    def windows(self, question: Question, run: AccumulatedRun) -> None:
        assert question.accumulation is not None
        hello = self.hellos[self.reference]
        for call, theirs, own in confirm_windows(self.reference, question.accumulation, run, self.codebook, hello):
            if own != theirs:
                message = f"the {self.reference} does not confirm the call {call + 1}: {own}, the run has {theirs}"
                self.complain(question, "V001", message)

    def pins(self, question: Question, run: AccumulatedRun) -> None:
        found = run.checkpoints[-1][1]
        if question.sha256_pin and question.sha256_pin != found:
            self.complain(question, "V002", f"pinned SHA-256 {question.sha256_pin}, the {self.reference} gives {found}")
        if question.elements_pin not in (None, run.elements):
            self.complain(question, "V002", f"pinned {question.elements_pin} elements, hashed were {run.elements}")

    def note(self, question: Question, case: Case, confirmed: Sequence[str], disputed: bool) -> None:
        contract = self.codebook[question.operator].contract
        # Every report of a run says of such cases that nothing confirms them.
        if not confirmed and not disputed and not contract.of_one(self.codebook.suite):
            named = ", ".join(second_derivations(question.operator, self.codebook)) or "no backend"
            hint = "name a backend in confirmed_by that declares the operator, or pin every output of every step"
            if contract.machine is not None:
                hint += "; no equation of `ensures` says that an optional output is there, so those want a pin"
            self.complain(question, "V003", f"no second derivation confirms it (confirmed_by: {named})", hint)
        self.cases[question.id] = case
        self.confirmed_by[question.id] = tuple(confirmed)
