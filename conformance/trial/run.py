"""`run_trial`: one backend, one run, one value (DESIGN 7). The runner knows contracts, never a family."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from conformance import __version__
from conformance.backend.carrier import stand_in_for
from conformance.backend.driver import Driver
from conformance.backend.hello import BadHello, Hello, WrongHello
from conformance.backend.outcome import describe
from conformance.backend.resolve import resolve
from conformance.backend.sandbox import Sandbox, bwrap_version
from conformance.backend.scheduler import OF_AN_OPERATOR
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.library import Library
from conformance.trial.check import BackendIdentity, Counts, Diagnosis, Kind, Result, RunResult, Verdict
from conformance.trial.client import Client
from conformance.trial.forked import in_child_process, share_out
from conformance.trial.known_answers import AnswerStore, answers_of
from conformance.trial.options import NO_PROGRESS, PROFILES, FailureLimit, Progress, RunOptions, Selection
from conformance.trial.plan import Plan, Trial
from conformance.trial.runner import TrialResults, run_trials, shuffled, unasked
from conformance.vectors.files.temp_roots import run_folder
from conformance.vectors.frozen.corpus import CONTRACT, Corpus
from conformance.vectors.frozen.lock import contract_digests

if TYPE_CHECKING:
    from conformance.trial.fuzz import Fuzzing


class UnfitBackend(Exception):
    """No valid hello; whether the backend has `begun` to read or write, and whether its answer was `understood`."""

    def __init__(self, reason: str, stderr_tail: str, begun: bool = True, understood: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.stderr_tail, self.begun, self.understood = reason, stderr_tail, begun, understood

    def __reduce__(self) -> tuple[type[UnfitBackend], tuple[str, str, bool, bool]]:
        return UnfitBackend, (self.reason, self.stderr_tail, self.begun, self.understood)


def run_trial(library: Library, corpus: Corpus, options: RunOptions, progress: Progress = NO_PROGRESS) -> RunResult:
    """Test one backend; raises BackendNotFound before anything starts, UnfitBackend where hello fails.

    Where the suite has Python of its own and the run needs it, all of that happens in a child process.
    """

    def run(progress: Progress) -> RunResult:
        return _Run(library, corpus, options, progress).result()

    # Expected failures may name checks of larger profiles, laws among them.
    needs_code = library.suite.has_code and (options.includes("standard") or options.expected_failures)
    if needs_code and not options.same_process:
        return in_child_process(run, progress)
    return run(progress)


def selected_checks(library: Library, corpus: Corpus, options: RunOptions) -> tuple[str, ...]:
    """The ids of the checks that a run with these options would make of a backend that declares everything, sorted.

    No backend is started. The suite's own Python is imported in a child process.
    """

    def listed(progress: Progress) -> tuple[str, ...]:
        return tuple(sorted(_Run(library, corpus, options, progress).selected))

    if library.suite.has_code and options.includes("standard"):
        return in_child_process(listed, NO_PROGRESS)
    return listed(NO_PROGRESS)


CONVERSATIONS: Final = "cases, laws and behaviour"  # stages
FUZZING: Final = "differential fuzzing"


@dataclass(slots=True)
class _Run:
    library: Library
    corpus: Corpus
    options: RunOptions
    progress: Progress
    codebook: Codebook = field(init=False)
    plan: Plan = field(init=False)
    selection: Selection = field(init=False)
    selected: frozenset[str] = field(init=False)  # ids of checks
    limit: FailureLimit = field(init=False)
    fuzzings: tuple[Fuzzing, ...] = ()  # of the selected checks
    results: list[Result] = field(default_factory=list)
    unattributed: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # by check
    stderr: dict[str, str] = field(default_factory=dict)  # by check of fuzzing in which a process was lost
    crash_states: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # by workload
    declared: frozenset[str] | None = None  # by the first hello; what later processes say changes nothing

    def __post_init__(self) -> None:
        self.codebook = codebook_of(self.library)
        self.options = self.options.within(self.library.suite)
        self.plan = Plan(self.library, self.corpus, self.options, self.codebook)
        self.selection = Selection(self.options.select, self.plan.ids, self.options.last_failed)
        self.selected = frozenset(id_ for id_ in self.plan.ids if id_ in self.selection)
        self.limit = FailureLimit(self.options)
        if self.options.last_failed and not self.selection.among_failed:
            known = f"none of the {len(self.options.last_failed)} checks that failed last is among the checks"
            self.progress.note(f"--last-failed: {known} of this profile, so all are selected")

    def result(self) -> RunResult:
        started = time.perf_counter()
        self.fuzzings = self.plan.fuzzings(self.selected)
        hello = self.hello()
        self.declared = hello.operators
        selected = list(self.plan.case_trials(self.selected))
        selected += self.plan.rule_trials(self.selected)
        asked = [trial for trial in selected if trial.operator in hello.operators]
        planned = self.planned(asked, hello)
        found = self.run_trials(asked)
        undeclared = (trial for trial in selected if trial.operator not in hello.operators)
        checks = (check for trial in undeclared for check in trial.checks if check.id in self.selected)
        self.results += (Result(check, Verdict.NOT_APPLICABLE) for check in checks)
        fuzz = self.fuzz(hello, found.hopeless)
        crash = self.crash(hello) if self.options.crash and not self.limit.is_reached else None
        results = tuple(sorted(self.results, key=lambda result: result.check.id))
        options, ran = self.options, sum(result.verdict is not Verdict.NOT_APPLICABLE for result in results)
        stopped = self.limit.found if self.limit.is_reached else 0
        passed = [one.check.id for one in results if one.verdict is Verdict.PASS]
        passing = [id_ for entry in options.expected_failures for id_ in passed if fnmatchcase(id_, entry.check)]
        unmatched = unmatched_expectations(options, (one.check.id for one in results), self.plan)
        run = RunResult(
            backend=BackendIdentity(
                options.backend,
                hello.name,
                hello.version,
                hello.language,
                options.wire,
                tuple(sorted(hello.operators)),
                options.sandbox,
            ),
            profile=options.profile,
            selection=str(self.selection),
            seed=options.seed,
            counts=Counts(
                loaded=len(self.plan.ids),
                selected=len(results) - ran + planned if stopped else len(results),
                not_applicable=len(results) - ran,
                expected_to_fail=len(options.expected_failures),
                run=ran,
            ),
            results=results,
            unattributed=tuple(sorted(self.unattributed)),
            declarable=len(self.library.declarable),
            unconfirmed=self.unconfirmed(results),
            missing=tuple(sorted({*options.require} - hello.operators)),
            stopped=stopped,
            crash=crash,
            obstacles=tuple(sorted(set(self.obstacles))),
            fuzz=fuzz,
            expected_failures=options.expected_failures,
            unexpected_passes=tuple(sorted(passing)),
            unmatched_expectations=tuple(sorted(unmatched)),
            diagnosis=None,
            contracts=contract_digests(self.library),
            vectors=self.corpus.index.root,
            harness=__version__,
            observations={
                "seconds": round(time.perf_counter() - started, 3),
                "calls": found.calls,
                "crash_states": self.crash_states,
                "durations": {id_: round(spent, 4) for id_, spent in sorted({**found.seconds, **self.seconds}.items())},
                "jobs": options.jobs,
                "sandbox": bwrap_version() if options.sandbox == "bwrap" else options.sandbox,
                "stderr_tail": found.stderr_tail.decode("utf-8", "replace"),
                "stderr": dict(sorted({**found.stderr, **self.stderr}.items())),
            },
        )
        failed = any(result.verdict in (Verdict.FAIL, Verdict.ERROR) for result in results)
        if run.conformant or options.challenge or not failed:  # a certification needs no diagnosis
            return run
        return replace(run, diagnosis=self.diagnosis(results))

    def unconfirmed(self, results: Sequence[Result]) -> tuple[int, int]:
        """How many of the vectors that ran have a value of one implementation alone, and how many of these values the
        contract determines; where it does, they count only if the suite declares that it has one implementation."""
        known, contracts = self.corpus.index.operators, self.library.contracts
        ran = [r.check for r in results if r.check.kind is Kind.VECTOR and r.verdict is not Verdict.NOT_APPLICABLE]
        found = [(one.operator, known[one.operator].confirmed_by.get(one.id)) for one in ran if one.operator in known]
        of_contract = Counter(name for name, by in found if by == (CONTRACT,) and name in contracts)
        suite = self.library.suite
        determined = sum(number for name, number in of_contract.items() if contracts[name].of_one(suite))
        return sum(by == () for _, by in found) + determined, determined

    def diagnosis(self, results: Sequence[Result]) -> Diagnosis | None:
        """The known mistake that explains the failures; None if no kill matrix is committed."""
        # Only a run with failures pays for these imports.
        from conformance.trial.committed_reports import MATRIX_FILE, UnreadableReport
        from conformance.trial.diagnosis.diagnosis import MOST_UNLISTED, diagnose, unlisted
        from conformance.trial.diagnosis.interview import MutantInterview
        from conformance.trial.mutants.kill_matrix import believed, read_matrix

        file = self.library.suite.reports / MATRIX_FILE
        if not file.is_file():
            return None
        try:
            matrix = read_matrix(file)
        except UnreadableReport as error:
            self.progress.note(str(error))
            return None
        if (new := len(unlisted(self.library.mutants, matrix))) > MOST_UNLISTED:
            self.progress.note(f"{new} known mistakes are not in {file.name} and were not looked at")
        self.progress.stage("looking for the mistake that explains it", 1)
        with Client(self.driver()) as backend, reference(self.options, self.codebook) as right:
            interview = MutantInterview(self.plan, self.corpus, self.codebook, backend, right, self.declared)
            sure = believed(matrix, self.corpus, self.declared)
            return diagnose(results, self.library.mutants, matrix, interview, sure)

    # -- the run

    def planned(self, asked: Sequence[Trial], hello: Hello) -> int:
        """The number of checks that will be judged; the user is shown the stages ahead."""
        fuzzed = [one for one in self.fuzzings if one.contract.operator in hello.operators]
        crashed = [one for one in self.plan.workloads if one.id in self.selected and one.operators <= hello.operators]
        checks = sum(id_ in self.selected for trial in asked for id_ in trial.ids) + len(fuzzed) + len(crashed)
        self.progress.plan(checks, {CONVERSATIONS: len(asked), FUZZING: len(fuzzed)})
        return checks

    def driver(self) -> Driver:
        return driver_of_run(self.options, self.codebook, self.declared)

    def hello(self) -> Hello:
        driver = self.driver()
        try:
            process, hello = driver.start()
        except BadHello as error:
            tail, understood = driver.stderr_tail.decode("utf-8", "replace"), isinstance(error, WrongHello)
            raise UnfitBackend(str(error), tail, error.begun, understood) from None
        process.kill()
        return hello

    def run_trials(self, trials: Sequence[Trial]) -> TrialResults:
        self.progress.stage(CONVERSATIONS, len(trials))
        if self.options.most_failures:
            trials = sorted(trials, key=lambda trial: shuffled(trial, self.options.shuffle))
        found = TrialResults()
        for part in self.limit.parts(trials):
            some = run_trials(part, self.driver, self.options.jobs, self.options.shuffle, self.progress)
            by_id = {result.check.id: result for result in some.results if result.check.id in self.selected}
            results = (by_id[id_] for trial in part for id_ in trial.ids if id_ in by_id)
            self.results += self.limit.results_within(results)
            found.add(some)
        self.unattributed += found.unattributed
        self.obstacles += found.obstacles
        return found

    def fuzz(self, hello: Hello, hopeless: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
        """The figures of every operator that is fuzzed; `hopeless` ones are not asked."""
        asked, hopeless_ones = [], []
        for fuzzing in self.fuzzings:
            operator = fuzzing.contract.operator
            if operator not in hello.operators:
                self.results.append(Result(fuzzing.check, Verdict.NOT_APPLICABLE))
            elif why := hopeless.get(operator):
                hopeless_ones.append(unasked(fuzzing.check, why))
            else:
                asked.append(fuzzing)
        self.results += self.limit.results_within(hopeless_ones)
        if not asked or self.limit.is_reached:
            return {}
        self.progress.stage(FUZZING, len(asked))
        silent = multiprocessing.Value("i", 0)
        figures: dict[str, Mapping[str, Any]] = {}
        quiet = 0
        for part in self.limit.parts(asked, first=8):
            found = self._fuzzed(part, silent)
            for one in part:
                # All fuzzing after the last that may be silent counts as not asked, although another process may have
                # asked it: the record does not depend on the number of processes.
                result = unasked(one.check, f"the backend was silent in the fuzzing of {quiet} operators")
                if quiet < OF_AN_OPERATOR:
                    result, counted = found[one.figures]
                    quiet += result.outcome == "timeout" and not result.of_suite
                    if result.of_suite:
                        self.obstacles.append(f"{result.check.id}: {result.message}")
                    if not self.limit.is_reached:
                        figures[one.figures] = counted
                self.results += self.limit.results_within([result])
        return figures

    def _fuzzed(self, some: Sequence[Fuzzing], silent: Any) -> dict[str, tuple[Result, Mapping[str, Any]]]:
        """The results and figures of some operators, which as many processes fuzz as there are jobs."""
        found: dict[str, tuple[Result, Mapping[str, Any]]] = {}

        def take(message: tuple[str, Result, Mapping[str, Any], float, str] | list[str]) -> None:
            if isinstance(message, list):
                self.unattributed += message
            else:
                figures, result, counted, self.seconds[result.check.id], stderr = message
                if stderr:
                    self.stderr[result.check.id] = stderr
                found[figures] = result, counted
                self.progress.note_verdict(result.check.id, result.verdict.value)
                self.progress.step()

        share_out(partial(self._fuzz_some, silent), some, self.options.jobs, take)
        return found

    def _fuzz_some(self, silent: Any, some: Iterator[Fuzzing], tell: Callable[[Any], None]) -> None:
        """Fuzz one operator after the other until `silent`, which all processes share, is too much."""
        examples, seed = self.options.examples, self.options.seed
        with Client(self.driver()) as backend, reference(self.options, self.codebook) as right:
            for one in some:
                if silent.value >= OF_AN_OPERATOR:
                    break
                since = time.perf_counter()
                cases = self.corpus.cases.get(one.contract.operator, ())
                try:
                    with right.recalled(one.check.id):
                        result, figures = one.fuzz(cases, backend, right, self.codebook, examples=examples, seed=seed)
                except Exception as error:
                    error.add_note(f"in the check {one.check.id}")
                    raise
                with silent.get_lock():
                    silent.value += result.outcome == "timeout" and not result.of_suite
                stderr = (right if result.of_suite else backend).stderr if result.outcome == "crash" else ""
                tell((one.figures, result, figures, time.perf_counter() - since, stderr))
        tell([describe(reason) for reason in backend.unattributed])

    def crash(self, hello: Hello) -> dict[str, Mapping[str, Any]]:
        """The level that each workload reached; those of undeclared operators are not tried."""
        from conformance.trial.crash.trial import CrashOptions, crash_check, crashed

        options = self.options
        chosen = CrashOptions(
            options.backend,
            options.wire,
            timeout=options.timeout,
            reference=options.reference,
            declared=hello.operators,
            bytecode=options.bytecode,
        )
        levels: dict[str, Mapping[str, Any]] = {}
        for plan in self.plan.workloads:
            if plan.id not in self.selected or self.limit.is_reached:
                continue
            if not plan.operators <= hello.operators:
                self.results.append(Result(crash_check(plan), Verdict.NOT_APPLICABLE))
                continue
            since = time.perf_counter()
            found = crashed(plan, self.codebook, chosen, self.progress)
            self.seconds[plan.id] = time.perf_counter() - since
            self.results += self.limit.results_within([found.result])
            self.progress.note_verdict(plan.id, found.result.verdict.value)
            self.obstacles += filter(None, [found.obstacle])
            levels[plan.id], self.crash_states[plan.id] = found.levels, found.states
        return levels


def driver_of_run(options: RunOptions, codebook: Codebook, declared: frozenset[str] | None = None) -> Driver:
    """A driver of the backend under test with its stand-in; raises BackendNotFound, NoSandbox."""
    suite, seconds, start = codebook.suite, options.stand_in_timeout, options.start_timeout
    command = resolve(options.backend, suite, options.wire, options.same_process, options.bytecode)
    if options.sandbox != "none":
        command = Sandbox(suite, run_folder(), options.readable, options.secret).command(command)
    stand_in = stand_in_for(suite, options.wire, seconds, options.reference, options.bytecode)
    return Driver(command, DIALECTS[options.wire], codebook, options.timeout, start, True, stand_in, declared)


def reference(options: RunOptions, codebook: Codebook) -> Client:
    """A partner that gives the right answers.

    Known answers of earlier runs count only if the backend is trusted not to forge them, and if it is asked the usual
    questions: with a seed of its own, every run draws others.
    """
    command, dialect = resolve(options.reference, codebook.suite, bytecode=options.bytecode), DIALECTS["json"]
    is_usual = options.sandbox == "none" and not options.seed
    answers = answers_of(options.reference, codebook) if is_usual else AnswerStore()
    return Client(Driver(command, dialect, codebook, options.timeout, options.start_timeout), answers)


def unmatched_expectations(options: RunOptions, made: Iterable[str], plan: Plan) -> list[str]:
    """The expected failures that match no check of any profile; `made` are the ids of the checks that were made."""

    def missing(patterns: Iterable[str], ids: Iterable[str]) -> list[str]:
        known = list(ids)
        return [pattern for pattern in patterns if not any(fnmatchcase(id_, pattern) for id_ in known)]

    found = missing((entry.check for entry in options.expected_failures), made)
    # They may be there, but not selected or of a larger profile.
    largest = replace(plan, options=replace(plan.options, profile=PROFILES[-1]))
    return missing(found, largest.ids) if found else []
