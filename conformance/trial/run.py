"""`run_trial`: one backend, one run, one value (DESIGN 7). The runner knows contracts, never a family."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from conformance import __version__
from conformance.backend.drive import Conversation, Driver
from conformance.backend.hello import BadHello, Hello
from conformance.backend.outcome import Lost, LostBackend, describe
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.dialect import DIALECTS
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.mutant import Mutant
from conformance.trial.asker import Asker
from conformance.trial.attempt import attempt
from conformance.trial.behaviour import BehaviourRules, behaviour_check
from conformance.trial.cases import CaseRunner, check_of
from conformance.trial.check import Check, Kind, Result, Verdict
from conformance.trial.diagnosis import diagnose
from conformance.trial.fuzz import fuzz_check, fuzz_operator
from conformance.trial.judge import outcome_name
from conformance.trial.laws.law import Instance, LawBroken, LawTalk, Tools, known_laws
from conformance.trial.mutants_report import FILE as MATRIX_FILE
from conformance.trial.mutants_report import UnreadableMatrix, read_matrix
from conformance.trial.options import Progress, RunOptions, Silence
from conformance.trial.run_result import BackendIdentity, Counts, Diagnosis, RunResult
from conformance.vectors.case import Case
from conformance.vectors.corpus import Corpus
from conformance.vectors.lock import contract_digest


class UnfitBackend(Exception):
    """A backend was started but gave no valid hello; carries what it wrote on stderr."""

    def __init__(self, reason: str, stderr_tail: str) -> None:
        super().__init__(reason)
        self.reason, self.stderr_tail = reason, stderr_tail


@dataclass(frozen=True, slots=True)
class Trial:
    """One check of the plan: what it is called, and the conversation that tries it."""

    checks: tuple[Check, ...]
    conversation: Conversation[Sequence[Result]]


def run_trial(library: Library, corpus: Corpus, options: RunOptions, progress: Progress | None = None) -> RunResult:
    """Put one backend on trial; raises BackendNotFound before anything starts, UnfitBackend where hello fails."""
    return _Run(library, corpus, options, progress or Silence()).result()


@dataclass(slots=True)
class _Run:
    library: Library
    corpus: Corpus
    options: RunOptions
    progress: Progress
    codebook: Codebook = field(init=False)
    results: list[Result] = field(default_factory=list)
    unattributed: list[str] = field(default_factory=list)
    stderr_tail: bytes = b""
    calls: int = 0

    def __post_init__(self) -> None:
        self.codebook = codebook_of(self.library)

    def result(self) -> RunResult:
        started = time.perf_counter()
        hello = self.hello()
        plan = self.plan(hello)
        selected = [trial for trial in plan if any(map(self.options.selects, ids(trial)))]
        runnable = [trial for trial in selected if self.applicable(trial, hello)]
        self.results += [
            Result(check, Verdict.NOT_APPLICABLE)
            for trial in selected
            if not self.applicable(trial, hello)
            for check in trial.checks
        ]
        self.hold(runnable)
        fuzz = self.fuzz(hello) if self.options.includes("standard") else {}
        results = tuple(sorted(self.results, key=lambda result: result.check.id))
        ran = sum(result.verdict is not Verdict.NOT_APPLICABLE for result in results)
        counts = Counts(
            loaded=sum(len(trial.checks) for trial in plan) + self.fuzzable(hello),
            selected=len(results),
            not_applicable=len(results) - ran,
            expected_to_fail=len(self.options.expected_failures),
            run=ran,
        )
        return self.assembled(hello, counts, results, fuzz, time.perf_counter() - started)

    def assembled(
        self,
        hello: Hello,
        counts: Counts,
        results: tuple[Result, ...],
        fuzz: Mapping[str, Mapping[str, Any]],
        seconds: float,
    ) -> RunResult:
        options = self.options
        unmatched, passing = expectations(options, results)
        run = RunResult(
            backend=BackendIdentity(
                options.backend, hello.name, hello.version, hello.language, options.wire, tuple(sorted(hello.operators))
            ),
            profile=options.profile,
            selection=" ".join(options.select),
            seed=options.seed,
            counts=counts,
            results=results,
            unattributed=tuple(sorted(self.unattributed)),
            fuzz=fuzz,
            expected_failures=options.expected_failures,
            unexpected_passes=passing,
            unmatched_expectations=unmatched,
            diagnosis=None,
            contracts={name: f"{c.version} {contract_digest(c)}" for name, c in self.contracts()},
            vectors=self.corpus.index.root,
            harness=__version__,
            observations={
                "seconds": round(seconds, 3),
                "calls": self.calls,
                "jobs": options.jobs,
                "stderr_tail": self.stderr_tail.decode("utf-8", "replace"),
            },
        )
        return replace(run, diagnosis=self.diagnosis(results)) if not run.conformant else run

    def diagnosis(self, results: Sequence[Result]) -> Diagnosis | None:
        """The known mistake behind the failures, where the committed kill matrix is there to look it up in."""
        file = self.library.layout.reports / MATRIX_FILE
        if not file.is_file():
            return None
        try:
            matrix = read_matrix(file)
        except UnreadableMatrix as error:
            self.progress.note(str(error))
            return None
        self.progress.stage("looking for the mistake behind it", 1)

        def ask(mutant: Mutant, wanted: Sequence[str]) -> Mapping[str, Result]:
            return attempt(mutant.backend, [self.corpus.find(id_) for id_ in wanted], self.codebook).results

        return diagnose(results, self.library.mutants, matrix, ask)

    # -- the plan

    def contracts(self) -> list[tuple[str, Contract]]:
        return sorted(self.library.contracts.items())

    def plan(self, hello: Hello) -> list[Trial]:
        """Everything that the profile asks for, whether or not the backend declares it."""
        dialect = DIALECTS[self.options.wire]
        runner = CaseRunner(self.codebook, dialect)
        cases = [case for case in self.corpus if self.options.includes(case.profile)]
        plan = [_single(check_of(case), runner.conversation(case)) for case in cases]
        if self.options.includes("standard"):
            rules = BehaviourRules(self.codebook, dialect)
            contracts = [contract for _, contract in self.contracts()]
            plan += [_behaviour(contract, rules, cases) for contract in contracts if rules.applies(contract, cases)]
            plan += self.laws(Tools(self.codebook, dialect))
        return plan

    def laws(self, tools: Tools) -> Iterator[Trial]:
        for operator, contract in self.contracts():
            for use in contract.laws:
                if not self.options.includes(use.profile):
                    continue
                law = known_laws()[use.law]
                for instance in law.instances(tools, contract, use):
                    id_ = f"{operator}#{law.name}::{instance.slug}"
                    check = Check(id_, Kind.LAW, operator, law.name, law.sentence, use.requirements, use.rulings)
                    yield _single(check, _law_conversation(check, instance))

    def applicable(self, trial: Trial, hello: Hello) -> bool:
        check = trial.checks[0]
        if check.kind is Kind.VECTOR:
            return bool(self.corpus.find(check.id).operators <= hello.operators)
        if check.kind is Kind.LAW:
            return {check.operator, *known_laws()[check.group].calls} <= hello.operators
        return check.operator in hello.operators

    def fuzzable(self, hello: Hello) -> int:
        return len(list(self.fuzzed_contracts(hello)))

    def fuzzed_contracts(self, hello: Hello) -> Iterator[Contract]:
        if not self.options.includes("standard"):
            return
        for operator, contract in self.contracts():
            if contract.purity == "pure" and operator in hello.operators:
                yield contract

    # -- the run

    def driver(self) -> Driver:
        command = resolve(self.options.backend, self.options.wire)
        return Driver(command, DIALECTS[self.options.wire], self.codebook, self.options.timeout)

    def hello(self) -> Hello:
        driver = self.driver()
        try:
            process, hello = driver.start()
        except (BadHello, LostBackend) as error:
            reason = describe(error.reason) if isinstance(error, LostBackend) else str(error)
            raise UnfitBackend(reason, driver.stderr_tail.decode("utf-8", "replace")) from None
        process.kill()
        return hello

    def hold(self, trials: Sequence[Trial]) -> None:
        ordered = sorted(trials, key=lambda trial: shuffled(trial, self.options.shuffle))
        by_key = {trial.conversation.key: trial for trial in ordered}
        self.progress.stage("cases, laws and behaviour", len(ordered))

        def work(part: Sequence[Trial]) -> tuple[Driver, list[Result]]:
            driver = self.driver()
            results: list[Result] = []
            for finished in driver.hold([trial.conversation for trial in part]):
                if finished.finding is not None:
                    results += finished.finding
                elif finished.lost is not None:
                    results += [lost(check, finished.lost) for check in by_key[finished.key].checks]
                self.progress.step()
            return driver, results

        jobs = max(1, min(self.options.jobs, len(ordered)))
        with ThreadPoolExecutor(jobs) as executor:
            for driver, results in executor.map(work, [ordered[k::jobs] for k in range(jobs)] if ordered else []):
                self.results += results
                self.unattributed += [describe(reason) for reason in driver.unattributed]
                self.stderr_tail = driver.stderr_tail or self.stderr_tail
                self.calls += driver.calls

    def fuzz(self, hello: Hello) -> dict[str, Mapping[str, Any]]:
        contracts = [c for c in self.fuzzed_contracts(hello) if self.options.selects(fuzz_check(c).id)]
        figures: dict[str, Mapping[str, Any]] = {}
        if not contracts:
            return figures
        self.progress.stage("differential fuzzing", len(contracts))
        with self.asker(self.options.backend, self.options.wire) as backend, self.asker("reference") as reference:
            for contract in contracts:
                result, figures[contract.operator] = fuzz_operator(
                    contract,
                    self.corpus.cases.get(contract.operator, ()),
                    backend,
                    reference,
                    self.codebook,
                    self.options.examples,
                    self.options.seed,
                )
                self.results.append(result)
                self.progress.step()
        return figures

    def asker(self, backend: str, wire: str = "json") -> Asker:
        return Asker(resolve(backend, wire), DIALECTS[wire], self.codebook, self.options.timeout)


def ids(trial: Trial) -> Iterator[str]:
    """The ids of a trial's checks."""
    return (check.id for check in trial.checks)


def shuffled(trial: Trial, seed: str) -> tuple[str, str]:
    """The sort key that puts trials in id order, or in the order that a seed gives."""
    key = trial.conversation.key
    return (hashlib.sha256(f"{seed}\0{key}".encode()).hexdigest() if seed else "", key)


def lost(check: Check, reason: Lost) -> Result:
    """The verdict on a check in which the backend was lost, alone."""
    return Result(check, Verdict.ERROR, outcome_name(reason), message=describe(reason))


def expectations(options: RunOptions, results: Sequence[Result]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The expected failures that match no check, and the listed checks that pass."""
    unmatched, passing = [], []
    for entry in options.expected_failures:
        matched = [result for result in results if fnmatchcase(result.check.id, entry.check)]
        if not matched:
            unmatched.append(entry.check)
        passing += [result.check.id for result in matched if result.verdict is Verdict.PASS]
    return tuple(sorted(unmatched)), tuple(sorted(passing))


def _single(check: Check, conversation: Conversation[Result]) -> Trial:
    def start() -> Any:
        finding = yield from conversation.start()
        return [finding]

    return Trial((check,), Conversation(conversation.key, start, conversation.alone))


def _behaviour(contract: Contract, rules: BehaviourRules, cases: Sequence[Case]) -> Trial:
    checks = (behaviour_check(contract, "pure"), behaviour_check(contract, "shape"))
    return Trial(checks, rules.conversation(contract, cases))


def _law_conversation(check: Check, instance: Instance) -> Conversation[Result]:
    def start() -> Any:
        talk: LawTalk = instance.start()
        try:
            yield from talk
        except LawBroken as broken:
            return Result(check, Verdict.FAIL, "result", message=broken.message, call=broken.answered())
        return Result(check, Verdict.PASS)

    return Conversation(check.id, start, instance.alone)

