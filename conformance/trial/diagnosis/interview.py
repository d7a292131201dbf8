"""Asks a backend and the suspected mutants the same questions, near the failed call and elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Final

from conformance.backend.driver import Driver
from conformance.backend.outcome import Lost
from conformance.codec.codebook import Codebook
from conformance.contract.family import Mutant
from conformance.trial.check import Kind, Result, answer_of
from conformance.trial.client import TOO_SLOW, Client, attempt, driver_of
from conformance.trial.diagnosis.neighbourhood import (
    LONGEST,
    AnySteps,
    CallLeaf,
    Neighbourhood,
    cost,
    in_turns,
    is_long,
    seen_in,
    without_pins,
)
from conformance.trial.fuzz import Fuzzing
from conformance.trial.plan import Plan
from conformance.trial.turns import by_turns
from conformance.vectors.case import Case, QuestionCall, asked_of
from conformance.vectors.conversation.exchange import Transcript
from conformance.vectors.frozen.corpus import Corpus

MOST_CASES: Final = 6  # questions that others are asked near of
_REPEATED: Final = 2  # questions whose wrong call is made again and again
_BUDGET: Final = 2_000_000  # characters of calls, about: some seconds
_LIVELY: Final = 5  # occurrences of a leaf whose limits are looked for
_HALVINGS: Final = 64  # at most, until a limit is found


@dataclass(frozen=True, slots=True)
class FailingQuestion:
    """A question that the backend answers wrongly, and the step at which it does."""

    steps: AnySteps
    step: str = ""
    group: str = ""


@dataclass
class MutantProbe:
    """Asks the backend under test, the reference and mutants; keeps the answers of the first two."""

    codebook: Codebook
    backend: Client
    reference: Client
    failing: Sequence[FailingQuestion]
    cases: Sequence[Case]  # what other values of a leaf are taken from
    _said: dict[str, str] = field(default_factory=dict, init=False)
    _right: dict[str, str] = field(default_factory=dict, init=False)
    _near: list[AnySteps] = field(default_factory=list, init=False)  # as far as it was needed
    _more: Iterator[AnySteps] = field(init=False)
    _leaves: list[CallLeaf] = field(init=False)
    _neighbourhood: Neighbourhood = field(init=False)

    def __post_init__(self) -> None:
        self._neighbourhood = Neighbourhood(self.codebook, seen_in(self.cases, self.codebook))
        chosen = one_of_each(self.failing)
        of_each = [list(self._neighbourhood.leaves(without_pins(one.steps), one.step)) for one in chosen]
        self._leaves = list(by_turns(of_each))
        near = [self._neighbourhood.questions_about(leaf) for leaf in self._leaves]
        # More of the same calls show a wrong count in a machine; another number in a file shows how the file is read.
        calls = self._neighbourhood.changing(self.cases)
        rounds = [self._neighbourhood.rounds(without_pins(one.steps), one.step, calls) for one in chosen[:_REPEATED]]
        stored = [leaf for one in chosen for leaf in self._neighbourhood.stored(without_pins(one.steps))]
        first = in_turns([*rounds, *map(self._neighbourhood.questions_about, stored)], _BUDGET)
        self._leaves += stored
        coupled = map(self._neighbourhood.coupled_changes, of_each)
        self._more = chain(first, in_turns([*coupled, *near], _BUDGET))

    @property
    def _questions(self) -> Iterator[AnySteps]:
        """Everything near what failed; what is not to be asked is only known when its turn comes, and that costs."""
        yield from list(self._near)
        for steps in self._more:
            self._near.append(steps)
            yield steps

    def answers_alike(self, mutant: Client, others: Sequence[AnySteps]) -> bool:
        """Whether the mutant answers `others`, and everything near what failed, as the backend does."""
        for steps in chain(others, self._questions):
            if not self._same(mutant, steps):
                return False
        return self._limits_alike(mutant)

    def _same(self, mutant: Client, steps: AnySteps) -> bool:
        return self._remembered_answer(mutant, steps, {}) == self._remembered_answer(self.backend, steps, self._said)

    def _limits_alike(self, mutant: Client) -> bool:
        """Whether mutant and backend turn from right to wrong at the same places of the dials that turn."""
        budget = _BUDGET
        lively: Counter[str] = Counter()
        for leaf in sorted((leaf for leaf in self._leaves if leaf.dial is not None), key=_is_length):
            known = self._dial_results(leaf)
            if len(set(known.values())) < 2 or lively[leaf.name] == _LIVELY:
                continue
            lively[leaf.name] += 1
            assert leaf.dial is not None
            closed: set[int] = set()  # places that no backend is asked
            waiting = [place for place in leaf.dial.places() if place not in known]
            turns = 0
            while budget > 0:
                if not waiting:
                    waiting = [place for place in _halves(known) if place not in closed]
                    turns += 1
                if not waiting or turns > _HALVINGS:
                    break
                place = waiting.pop(0)
                steps = leaf.question_with(place)
                if not self._neighbourhood.is_askable(steps, leaf.at):
                    closed.add(place)
                    continue
                budget -= cost(steps)
                if not self._same(mutant, steps):
                    return False
                known[place] = self._is_wrong(steps)
        return True

    def _dial_results(self, leaf: CallLeaf) -> dict[int, bool]:
        """The places of a dial that were asked, and whether the backend is wrong there."""
        assert leaf.dial is not None
        questions = {place: leaf.question_with(place) for place in (leaf.dial.now, *leaf.dial.places())}
        return {place: self._is_wrong(steps) for place, steps in questions.items() if _key(steps) in self._said}

    def _is_wrong(self, steps: AnySteps) -> bool:
        return self._remembered_answer(self.backend, steps, self._said) != self._remembered_answer(
            self.reference, steps, self._right
        )

    def _remembered_answer(self, client: Client, steps: AnySteps, memory: dict[str, str]) -> str:
        key = _key(steps)
        if key not in memory:
            memory[key] = self._digest(client.walk(steps))
        return memory[key]

    def _digest(self, found: Transcript | Lost) -> str:
        """Everything that was answered and written, in a few letters; what the contracts leave open is left out."""
        if not isinstance(found, Transcript):
            return "lost"
        loose = {glob for one in found.exchanges for glob in self.codebook[one.operator].contract.fuzz_loose}
        trees: dict[str, Any] = {
            name: {path: entry for path, entry in tree.items() if not any(fnmatchcase(path, one) for one in loose)}
            for name, tree in found.trees.items()
        }
        said = [[one.step, answer_of(one.observed) or str(one.observed)] for one in found.exchanges]
        text = json.dumps([said, trees, found.fault], sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()


def one_of_each(failing: Sequence[FailingQuestion]) -> list[FailingQuestion]:
    """Questions to ask others near of: the smallest of each group, then the next of each; those too long left out."""
    groups: dict[str, list[FailingQuestion]] = {}
    for one in failing:
        groups.setdefault(one.group, []).append(one)
    in_order = (sorted(group, key=lambda one: (cost(one.steps), repr(one.steps))) for group in groups.values())
    return [one for one in by_turns(in_order) if cost(one.steps) <= 20 * LONGEST][:MOST_CASES]


def _halves(known: dict[int, bool]) -> list[int]:
    """The places half way between two at which the backend is right and wrong."""
    return [(a + b) // 2 for a, b in pairwise(sorted(known)) if known[a] is not known[b] and b - a > 1]


def _is_length(leaf: CallLeaf) -> bool:
    """Numbers come before lengths, whose notable places are asked anyway."""
    return leaf.dial is None or leaf.dial.counts


def _key(steps: AnySteps) -> str:
    return repr([asked_of(step) for step in steps])


NEW_CALLS: Final = 100  # of each operator; fuzzing finds nine of ten mutants that it finds at all within as many
MOST_LEFT_OUT: Final = 24  # frozen cases that the run left out
_SEED: Final = "diagnosis"  # other calls than those of the run
_FUZZING: Final = "standard"  # the least profile that fuzzes; new calls are asked in every one


@dataclass
class MutantInterview:
    """Asks mutants in fresh processes; `backend` is the one under test, `reference` knows what is right."""

    plan: Plan
    corpus: Corpus
    codebook: Codebook
    backend: Client
    reference: Client
    declared: frozenset[str] | None = None  # what the backend declares; a mutant is asked no other operator
    _probing: dict[tuple[str, ...], MutantProbe] = field(default_factory=dict, init=False)

    def checks(self, mutant: Mutant, wanted: Sequence[str]) -> Mapping[str, Result]:
        """The mutant's results in these vectors and laws, by id; golden cases are left out, they take hours."""
        chosen = frozenset(wanted)
        tried = attempt(mutant.backend, self._having(chosen), self.codebook, declared=self.declared)
        found = dict(tried.results)
        trials = [trial for trial in self.plan.trials if trial.checks[0].kind is Kind.LAW and chosen & {*trial.ids}]
        for finished in self._driver(mutant).run([trial.conversation for trial in trials]):
            found |= {result.check.id: result for result in finished.finding or ()}
        return found

    def alike_near(self, mutant: Mutant, failed: Sequence[Result], left_out: Sequence[str]) -> bool:
        """Whether the mutant answers what fuzzing found, what the run left out and what lies near as the backend does.

        `left_out` are frozen cases that kill the mutant; those that call what the backend does not declare are skipped.
        """
        key = tuple(sorted(result.check.id for result in failed))
        if key not in self._probing:
            failing = list(self._failing(failed))
            operators = {result.check.operator for result in failed}
            # The failing cases come first, so that what makes them fail is tried everywhere.
            cases = sorted(self._cases(operators), key=lambda case: (case.id not in key, case.id))
            self._probing[key] = MutantProbe(self.codebook, self.backend, self.reference, failing, cases)
        probing = self._probing[key]
        cases = self._having(frozenset(left_out))
        known = [case for case in cases if self.declared is None or case.operators <= self.declared]
        counterexamples = [one.steps for one in probing.failing]
        with Client(self._driver(mutant)) as other:
            return probing.answers_alike(other, [*counterexamples, *questions_of(known)])

    def _having(self, ids: frozenset[str]) -> list[Case]:
        return [case for case in self.corpus if case.id in ids]

    def _cases(self, operators: set[str]) -> Iterator[Case]:
        for operator in sorted(operators):
            yield from (case for case in self.corpus.cases.get(operator, ()) if case.profile != TOO_SLOW)

    def _failing(self, failed: Sequence[Result]) -> Iterator[FailingQuestion]:
        """The questions that failed, each as short as known so far."""
        by_id = {case.id: case for case in self._cases({result.check.operator for result in failed})}
        for result in failed:
            call, case = result.call, by_id.get(result.check.id)
            if call is not None and self._stands_alone(call.operator):
                # Its inputs already contain what earlier calls of the case answered.
                group = case.group if case is not None else result.check.group
                yield FailingQuestion((QuestionCall("call", call.operator, call.inputs),), "", group)
            elif case is not None and case.steps:
                yield FailingQuestion(_until(case.steps, result.step), result.step, case.group)
            elif result.steps:
                yield FailingQuestion(result.steps, result.step, result.check.group)

    def _stands_alone(self, operator: str) -> bool:
        """Whether the answer of a call depends on its inputs alone."""
        forms = self.codebook[operator]
        return forms.contract.purity == "pure" and not forms.handles and not forms.roots

    def fresh(self, mutant: Mutant, operators: Sequence[str]) -> bool:
        """Whether the mutant and the backend answer alike in new calls of those operators that can be fuzzed."""
        with Client(self._driver(mutant)) as other:
            for fuzzing in self._fuzzed:
                if fuzzing.contract.operator not in operators:
                    continue
                cases = self.corpus.cases.get(fuzzing.contract.operator, ())
                options = {"examples": NEW_CALLS, "seed": _SEED, "trusted": False}
                result, _ = fuzzing.fuzz(cases, self.backend, other, self.codebook, **options)
                if result.difference is not None:
                    return False
        return True

    @cached_property
    def _fuzzed(self) -> tuple[Fuzzing, ...]:
        """How the operators are fuzzed in every profile."""
        return replace(self.plan, options=replace(self.plan.options, profile=_FUZZING)).fuzzed

    def _driver(self, mutant: Mutant) -> Driver:
        return driver_of(mutant.backend, self.codebook, declared=self.declared)


def questions_of(cases: Sequence[Case]) -> list[AnySteps]:
    """Up to MOST_LEFT_OUT questions of frozen cases, one of each group, then the next of each; a long one only where
    there are no others.
    """
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(f"{case.operator}::{case.group}", []).append(case)
    found: list[AnySteps] = [case.steps for case in by_turns(groups.values()) if case.steps]
    return [steps for steps in found if not is_long(steps)][:MOST_LEFT_OUT] or found[:1]


def _until(steps: AnySteps, last: str) -> AnySteps:
    """The steps up to the first wrong answer, so that nothing else is wrong; later steps were never asked."""
    for k, step in enumerate(steps):
        if last and getattr(step, "name", "") == last:
            return steps[: k + 1]
    return steps
