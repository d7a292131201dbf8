"""The evidence of a mutant besides frozen cases: laws, fuzzing, crash workloads, and the parts that it breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from conformance.backend.driver import Driver
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.contract.cache import digest_of_texts
from conformance.contract.family import Mutant
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.lint.call import FrozenCall, UnreadableCase, calls_of
from conformance.lint.checks import check_of, check_text, guard_text
from conformance.trial.cases import conversation_verdicts
from conformance.trial.check import Kind, Result, Verdict
from conformance.trial.client import Client
from conformance.trial.crash.recording import BrokenWorkload
from conformance.trial.crash.trial import CrashOptions, try_workload
from conformance.trial.crash.workload import crash_workloads
from conformance.trial.fuzz import Fuzzing, fuzz_operator
from conformance.trial.fuzz.draw import DrawnCall
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.options import RunOptions
from conformance.trial.plan import Plan, Trial
from conformance.trial.run import reference
from conformance.trial.runner import digest
from conformance.vectors.case import CallStep, Case, ExpectedFailure
from conformance.vectors.frozen.corpus import Corpus

INSTANCES: Final = 12  # of each law that a mutant is put to; all of them take 24 s, for every mutant
CRASH_STATES: Final = 400  # per workload; a mistake in the order of writes shows in a few


@dataclass(frozen=True)
class MutantChecks:
    """Tries mutants in the laws, fuzzing and crash workloads of a suite; the methods return check strings or names."""

    library: Library
    corpus: Corpus
    codebook: Codebook
    _calls: dict[str, tuple[DrawnCall, ...]] = field(default_factory=dict, repr=False)

    def laws(self, mutant: Mutant, changed: frozenset[str] | None) -> frozenset[str]:
        """Laws, as `law:OPERATOR#name`, that the mutant breaks or does not finish.

        Those that its requirements name are all tried; of the others, none after the first that it breaks.
        """
        named = self._named(mutant)
        trials = [trial for trial in self._laws if _reaches(self._operators_called(trial), changed)]
        first = [trial for trial in trials if _text(trial) in named]
        found = self._broken(mutant, first, every=True)
        return found or self._broken(mutant, [trial for trial in trials if _text(trial) not in named], every=False)

    def fuzz(self, mutant: Mutant, changed: frozenset[str] | None) -> frozenset[str]:
        """Operators and machines whose fuzzing tells the mutant from the reference.

        Those that its requirements name are all tried; of the others, none after the first that does.
        """
        named = self._named(mutant)
        asked = [one for one in self._plan.fuzzed if _reaches([one.contract.operator], changed)]
        # An operator that the checks of a requirement name comes first: its fuzzing most likely finds the mistake.
        near = {check_of(text).operator for text in named}
        asked.sort(key=lambda one: (f"fuzz:{one.contract.operator}" not in named, one.contract.operator not in near))
        if not asked:
            return frozenset()
        found: set[str] = set()
        with Client(self._driver(mutant)) as backend, reference(self._plan.options, self.codebook) as right:
            for one in asked:
                if found and f"fuzz:{one.contract.operator}" not in named:
                    break
                if self._differs(one, backend, right):
                    found.add(one.contract.operator)
        return frozenset(found)

    def crash(self, mutant: Mutant) -> frozenset[str] | None:
        """The workloads, as `workload:OPERATOR#name`, that find a bad state; None if the mutant names none.

        Raises NotRun if nothing can be traced here, Untraceable if the mutant cannot be.
        """
        wanted = {text for text in self._named(mutant) if check_of(text).kind == "workload"}
        if not wanted:
            return None
        found = set()
        for plan in crash_workloads(self.library, self.codebook):
            text = "workload:" + plan.id.replace("%", "#")
            if text not in wanted:
                continue
            options = CrashOptions(mutant.backend, states=CRASH_STATES, sweeps=("order",))
            try:
                killed = not try_workload(plan, self.codebook, options).satisfied
            except BrokenWorkload:
                killed = True
            if killed:
                found.add(text)
        return frozenset(found)

    def prepare(self) -> None:
        """Draw the calls for all mutants, so that processes that are forked later have them."""
        for one in self._plan.fuzzed:
            self._drawn_calls(one)

    @cached_property
    def _plan(self) -> Plan:
        return Plan(self.library, self.corpus, RunOptions().within(self.library.suite), self.codebook)

    @cached_property
    def _laws(self) -> tuple[Trial, ...]:
        """Some instances of every law, spread over all of them, always the same ones."""
        apart: dict[tuple[str, str], list[Trial]] = {}
        for trial in self._plan.trials:
            if trial.checks[0].kind is Kind.LAW:
                apart.setdefault((trial.operator, trial.checks[0].group), []).append(trial)
        return tuple(trial for trials in apart.values() for trial in sorted(trials, key=digest)[:INSTANCES])

    def _broken(self, mutant: Mutant, trials: Sequence[Trial], *, every: bool) -> frozenset[str]:
        """The laws of these trials that the mutant breaks: all of them, or the first one found."""
        driver = self._driver(mutant, tolerant=True)
        by_key = {trial.conversation.key: trial for trial in trials}
        found: set[str] = set()
        for one in (finished := driver.run([trial.conversation for trial in trials])):
            trial = by_key[one.key]
            judged = conversation_verdicts(trial.checks, one, driver.declared)
            if any(result.verdict is not Verdict.PASS for result in judged.results):
                found.add(_text(trial))
                if not every:
                    break
        finished.close()  # ends its process
        return frozenset(found)

    def _named(self, mutant: Mutant) -> frozenset[str]:
        """The checks that the rows of the mutant's requirements name, and those that it must break."""
        rows = filter(None, map(self.library.requirement, mutant.requirements))
        return frozenset(text for row in rows for text in row.checks) | set(mutant.breaks)

    def _operators_called(self, trial: Trial) -> Iterable[str]:
        return (trial.operator, *self.library.laws[trial.checks[0].group].calls)

    def _differs(self, fuzzing: Fuzzing, backend: Client, right: Client) -> bool:
        cases, drawn = self.corpus.cases.get(fuzzing.contract.operator, ()), self._drawn_calls(fuzzing)
        with right.recalled(fuzzing.check.id):
            result, _ = fuzzing.fuzz(cases, backend, right, self.codebook, trusted=False, drawn=drawn)
        return result.difference is not None or bool(result.outcome)

    def _drawn_calls(self, fuzzing: Fuzzing) -> tuple[DrawnCall, ...]:
        """The calls of a pure operator, drawn once; none for machines and files, which are drawn as they answer."""
        contract = fuzzing.contract
        if fuzzing.way is not fuzz_operator or contract.machine is not None:
            return ()
        if contract.operator not in self._calls:
            cases = self.corpus.cases.get(contract.operator, ())
            self._calls[contract.operator] = calls_for(self.codebook[contract.operator], cases)
        return self._calls[contract.operator]

    def _driver(self, mutant: Mutant, tolerant: bool = False) -> Driver:
        options, command = self._plan.options, resolve(mutant.backend, self.codebook.suite)
        return Driver(command, DIALECTS["json"], self.codebook, options.timeout, options.start_timeout, tolerant)


def _text(trial: Trial) -> str:
    return f"law:{trial.operator}#{trial.checks[0].group}"


def _reaches(operators: Iterable[str], changed: frozenset[str] | None) -> bool:
    """Whether a mistake can show in any of these operators; a machine includes its methods."""
    if changed is None:
        return True
    return any(name == one or name.startswith(f"{one}.") for one in operators for name in changed)


_OUTCOMES = ("outcome", "error.message")  # where a difference is one of the code, or of result against failure


@dataclass(frozen=True, slots=True)
class ContractPrediction:
    """The prediction of the contract for one frozen call."""

    call: FrozenCall
    guard: str  # the check string of the guard that refuses it; "" if none does
    refusals: frozenset[str]  # the check strings of the refusals whose code it fails with


@dataclass(frozen=True, slots=True)
class BrokenParts:
    """Reads wrong answers; keeps the contract's prediction for every frozen call."""

    codebook: Codebook
    _known: dict[str, Mapping[str, ContractPrediction]] = field(default_factory=dict, repr=False)

    def broken(self, mutant: Mutant, results: Iterable[tuple[Case, Result]]) -> dict[str, int]:
        """How many cases show each thing that a mutant breaks, by check string."""
        counted: Counter[str] = Counter()
        for case, result in results:
            counted.update(set(self._of_result(mutant, case, result)))
        return dict(sorted(counted.items()))

    def digest(self, mutant: Mutant, cases: Iterable[Case]) -> str:
        """The digest, 16 hex digits, of what `broken` is read with: the clauses of every operator that the cases call,
        and what the mutant must break."""
        called = {name for case in cases for name in case.operators}
        called |= {machine.name for name in called if (machine := self.codebook[name].contract.machine) is not None}
        texts = (repr([name, *_clause_texts(self.codebook[name].contract)]) for name in sorted(called))
        return digest_of_texts([*texts, repr(sorted(mutant.breaks))])[:16]

    def foreseen(self, case: Case) -> Mapping[str, ContractPrediction]:
        """The calls of a case by step, those left out that lint cannot read."""
        if case.id not in self._known:
            try:
                calls = list(calls_of(case, self.codebook))
            except UnreadableCase:
                calls = []
            self._known[case.id] = {call.step: self._foreseen(call) for call in calls}
        return self._known[case.id]

    def _foreseen(self, call: FrozenCall) -> ContractPrediction:
        contract = self.codebook[call.operator].contract
        if call.succeeds or not contract.foresees(call.inputs):
            return ContractPrediction(call, "", frozenset())
        guard = contract.refusal(call.inputs)
        if guard is not None:
            return ContractPrediction(call, guard_text(contract, guard.id), frozenset())
        possible = (one.id for one in contract.refuses if one.code == call.code)
        return ContractPrediction(call, "", frozenset(check_text(contract, "refuses", id_) for id_ in possible))

    def _of_result(self, mutant: Mutant, case: Case, result: Result) -> Iterator[str]:
        calls = self.foreseen(case)
        if result.verdict is Verdict.ERROR:
            # The call in which it was lost is unknown: only the checks that the mutant must break count.
            for one in calls.values():
                yield from {one.guard, *one.refusals} & set(mutant.breaks)
            yield from self._left_out(mutant, [step for step in _refused(case) if step.name not in calls])
            return
        if result.call is None or result.difference is None:
            return
        yield from self._clauses(result)
        found = calls.get(result.step or next(iter(calls), ""))
        if found is None:
            refused = _refused(case)
            yield from self._left_out(mutant, [one for one in refused if one.name == result.step or len(refused) == 1])
            return
        if found.call.operator != result.call.operator:
            return
        yield from found.refusals & set(mutant.breaks)
        if found.guard and (result.difference.path in _OUTCOMES or found.guard in mutant.breaks):
            yield found.guard
        elif found.call.succeeds and result.outcome == "failure":
            yield from self._too_strict(mutant, result)

    def _left_out(self, mutant: Mutant, steps: Iterable[CallStep]) -> Iterator[str]:
        """The refusals that a mutant is to break, of frozen calls that lint does not read: their inputs are recipes."""
        for step in steps:
            assert isinstance(step.expected, ExpectedFailure)
            contract = self.codebook[step.operator].contract
            possible = (one.id for one in contract.refuses if one.code == step.expected.code)
            yield from {check_text(contract, "refuses", id_) for id_ in possible} & set(mutant.breaks)

    def _clauses(self, result: Result) -> Iterator[str]:
        assert result.call is not None
        contract = self.codebook[result.call.operator].contract
        own = {clause.id for clause in contract.ensures}
        for id_ in result.broken:
            if id_ in own:
                yield check_text(contract, "ensures", id_)
            elif contract.machine is not None:
                yield check_text(self.codebook[contract.machine.name].contract, "invariant", id_)

    def _too_strict(self, mutant: Mutant, result: Result) -> Iterator[str]:
        """The guards and refusals with the code of a call that must succeed, where the mutant is to break them."""
        assert result.call is not None
        assert result.difference is not None
        contract = self.codebook[result.call.operator].contract
        said = str(result.difference.actual)
        for guard in contract.requires:
            if said == f"failure {guard.code}" and guard_text(contract, guard.id) in mutant.breaks:
                yield guard_text(contract, guard.id)
        for refusal in contract.refuses:
            text = check_text(contract, "refuses", refusal.id)
            if said == f"failure {refusal.code}" and text in mutant.breaks:
                yield text


def _clause_texts(contract: Contract) -> Iterator[tuple[str, ...]]:
    """The ids, codes and expressions of a contract's guards, refusals, postconditions and invariants."""
    yield from ((guard.id, guard.code, guard.expression.text) for guard in contract.requires)
    yield from ((refusal.id, refusal.code) for refusal in contract.refuses)
    yield from ((clause.id, clause.expression.text) for clause in (*contract.ensures, *contract.invariants))
    for environment in (contract.environment, contract.result_environment, contract.state_environment):
        yield from ((let.name, let.expression.text) for let in (environment.lets if environment is not None else ()))


def _refused(case: Case) -> list[CallStep]:
    return [step for step in case.steps if isinstance(step, CallStep) and isinstance(step.expected, ExpectedFailure)]
