"""`run_trial`: one backend, one run, one value (DESIGN 7). The runner knows contracts, never a family."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from conformance import __version__
from conformance.backend.drive import Driver
from conformance.backend.hello import BadHello, Hello
from conformance.backend.outcome import LostBackend, describe
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.dialect import DIALECTS
from conformance.contract.library import Library
from conformance.contract.mutant import Mutant
from conformance.trial.asker import Asker
from conformance.trial.attempt import attempt
from conformance.trial.check import Result, Verdict
from conformance.trial.diagnosis import diagnose
from conformance.trial.fuzz import fuzz_check, fuzz_operator
from conformance.trial.holding import Held, hold_trials, unasked
from conformance.trial.mutants_report import FILE as MATRIX_FILE
from conformance.trial.mutants_report import UnreadableMatrix, read_matrix
from conformance.trial.options import Progress, RunOptions, Selection, Silence
from conformance.trial.plan import Plan, Trial
from conformance.trial.run_result import BackendIdentity, Counts, Diagnosis, RunResult
from conformance.vectors.corpus import Corpus
from conformance.vectors.lock import contract_digest


class UnfitBackend(Exception):
    """A backend was started but gave no valid hello; carries what it wrote on stderr."""

    def __init__(self, reason: str, stderr_tail: str) -> None:
        super().__init__(reason)
        self.reason, self.stderr_tail = reason, stderr_tail


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
    plan: Plan = field(init=False)
    selection: Selection = field(init=False)
    results: list[Result] = field(default_factory=list)
    unattributed: list[str] = field(default_factory=list)
    stderr_tail: bytes = b""
    calls: int = 0

    def __post_init__(self) -> None:
        self.codebook = codebook_of(self.library)
        self.plan = Plan(self.library, self.corpus, self.options, self.codebook)
        self.selection = Selection(self.options.select, frozenset(self.plan.ids))

    def result(self) -> RunResult:
        started = time.perf_counter()
        hello = self.hello()
        selected = [trial for trial in self.plan.trials if any(id_ in self.selection for id_ in trial.ids)]
        apart: dict[bool, list[Trial]] = {True: [], False: []}
        for trial in selected:
            apart[self.plan.applicable(trial, hello.operators)].append(trial)
        self.results += [Result(check, Verdict.NOT_APPLICABLE) for trial in apart[False] for check in trial.checks]
        held = self.hold(apart[True])
        fuzz = self.fuzz(hello, held.hopeless)
        results = tuple(sorted(self.results, key=lambda result: result.check.id))
        ran = sum(result.verdict is not Verdict.NOT_APPLICABLE for result in results)
        counts = Counts(
            loaded=sum(1 for _ in self.plan.ids),
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
        unmatched, passing = expectations(options, results, self.plan)
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
            contracts={one.operator: f"{one.version} {contract_digest(one)}" for one in self.plan.contracts},
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

    # -- the run

    def driver(self) -> Driver:
        options = self.options
        command = resolve(options.backend, options.wire, options.same_process)
        dialect, start = DIALECTS[options.wire], options.start_timeout
        return Driver(command, dialect, self.codebook, options.timeout, start, tolerant=True)

    def hello(self) -> Hello:
        driver = self.driver()
        try:
            process, hello = driver.start()
        except (BadHello, LostBackend) as error:
            reason = describe(error.reason) if isinstance(error, LostBackend) else str(error)
            raise UnfitBackend(reason, driver.stderr_tail.decode("utf-8", "replace")) from None
        process.kill()
        return hello

    def hold(self, trials: Sequence[Trial]) -> Held:
        """Vectors, laws and behaviour."""
        self.progress.stage("cases, laws and behaviour", len(trials))
        held = hold_trials(trials, self.driver, self.options.jobs, self.options.shuffle, self.progress)
        self.results += held.results
        self.unattributed += held.unattributed
        self.stderr_tail, self.calls = held.stderr_tail, held.calls
        return held

    def fuzz(self, hello: Hello, hopeless: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
        """The figures of every operator that is fuzzed; `hopeless` ones are not asked."""
        contracts = [contract for contract in self.plan.fuzzed if fuzz_check(contract).id in self.selection]
        asked = []
        for contract in contracts:
            if contract.operator not in hello.operators:
                self.results.append(Result(fuzz_check(contract), Verdict.NOT_APPLICABLE))
            elif why := hopeless.get(contract.operator):
                self.results.append(unasked(fuzz_check(contract), why))
            else:
                asked.append(contract)
        figures: dict[str, Mapping[str, Any]] = {}
        if asked:
            self.progress.stage("differential fuzzing", len(asked))
            with asker(self.options, self.codebook) as backend, reference(self.options, self.codebook) as right:
                for contract in asked:
                    cases, examples = self.corpus.cases.get(contract.operator, ()), self.options.examples
                    result, figures[contract.operator] = fuzz_operator(
                        contract, cases, backend, right, self.codebook, examples, self.options.seed
                    )
                    self.results.append(result)
                    self.progress.step()
            self.unattributed += map(describe, backend.unattributed)
        return figures


def asker(options: RunOptions, codebook: Codebook) -> Asker:
    """A partner for lock-step questions to the backend on trial."""
    command = resolve(options.backend, options.wire, options.same_process)
    return Asker(Driver(command, DIALECTS[options.wire], codebook, options.timeout, options.start_timeout))


def reference(options: RunOptions, codebook: Codebook) -> Asker:
    """A partner that knows the right answers."""
    return asker(replace(options, backend="reference", wire="json", same_process=False), codebook)


def expectations(options: RunOptions, results: Sequence[Result], plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The expected failures that match no check of any profile, and the listed checks that pass."""
    unmatched, passing = [], []
    known: list[str] = []
    for entry in options.expected_failures:
        matched = [result for result in results if fnmatchcase(result.check.id, entry.check)]
        passing += [result.check.id for result in matched if result.verdict is Verdict.PASS]
        if not matched:
            # It may be there, but not selected or of a larger profile.
            known = known or list(plan.whole().ids)
            if not any(fnmatchcase(id_, entry.check) for id_ in known):
                unmatched.append(entry.check)
    return tuple(sorted(unmatched)), tuple(sorted(passing))
