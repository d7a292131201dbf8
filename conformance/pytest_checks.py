"""The checks of one pytest worker, judged in a child process with one lasting backend process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import Final

from conformance.backend.carrier import stand_in_for
from conformance.backend.driver import Driver
from conformance.backend.hello import BadHello, Hello
from conformance.backend.outcome import Side
from conformance.backend.scheduler import ConversationResult
from conformance.codec.codebook import codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.library import Library
from conformance.report.failure import Reproduction, facts_of, headline, plain_lines
from conformance.report.record import entry_of, prose_of
from conformance.report.untrusted import one_line
from conformance.trial.cases import conversation_verdicts
from conformance.trial.check import Check, Result, Verdict, outcome_name
from conformance.trial.client import Client
from conformance.trial.forked import WorkerProcess
from conformance.trial.fuzz import Fuzzing
from conformance.trial.options import RunOptions
from conformance.trial.plan import Plan, Trial
from conformance.trial.run import reference, started_as
from conformance.vectors.corpus import Corpus

Judge = Callable[[Hello], Sequence[Result]]
_COLLECT: Final = ""  # the question for all checks; any other question is the id of one


@dataclass(frozen=True, slots=True)
class CollectedChecks:
    """Every check of the profile, sorted by id; what the backend declares, None where it says no valid hello; and the
    expected failures that match no check of any profile."""

    checks: tuple[Check, ...]
    declared: frozenset[str] | None
    unmatched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """The verdict on one check; of a failure one line, and the account that the terminal gives of it."""

    verdict: str
    line: str = ""
    account: str = ""


class CheckProcess:
    """Collects checks and tries them one at a time, in any order, in a child process.

    The suite's own Python is imported there, and the backend belongs to it. A backend that is lost is started again.
    """

    def __init__(self, library: Library, corpus: Corpus, options: RunOptions) -> None:
        self._partner = WorkerProcess(lambda questions: _answers(_Trials(library, corpus, options), questions))

    def collect(self) -> CollectedChecks:
        """The checks; raises BackendNotFound, NoSandbox, MalformedContract."""
        found: CollectedChecks = self._partner.ask(_COLLECT)
        return found

    def judge(self, id_: str) -> CheckVerdict:
        """The verdict on one check."""
        found: CheckVerdict = self._partner.ask(id_)
        return found

    def close(self) -> None:
        """End the backend and the child process."""
        self._partner.close()


def _answers(trials: _Trials, questions: Iterator[str]) -> Iterator[CollectedChecks | CheckVerdict]:
    try:
        for question in questions:
            yield trials.collected() if question == _COLLECT else trials.verdict_of(question)
    finally:
        trials.close()


class _Trials:
    """The checks and the backend, in the child process."""

    def __init__(self, library: Library, corpus: Corpus, options: RunOptions) -> None:
        options = options.within(library.suite)
        self._library, self._corpus, self._options = library, corpus, options
        self._dialect, self._codebook = DIALECTS[options.wire], codebook_of(library)
        command = started_as(options, library.suite)
        stand_in = stand_in_for(library.suite, options.wire, options.stand_in_timeout, options.reference)
        self._driver = Driver(command, self._dialect, self._codebook, options.timeout, stand_in=stand_in)
        self._plan = Plan(library, corpus, options, self._codebook)
        self._results: dict[str, Result] = {}

    def collected(self) -> CollectedChecks:
        """The items to collect; the backend is started to ask what it declares."""
        checks = tuple(check for check, _ in self._judges.values())
        declared = None if isinstance(self._hello, BadHello) else self._hello.operators
        unmatched = [one.check for one in self._options.expected_failures if not _matches(one.check, self._judges)]
        if unmatched:
            known = list(self._plan.of_largest_profile().ids)
            unmatched = [pattern for pattern in unmatched if not _matches(pattern, known)]
        return CollectedChecks(checks, declared, tuple(unmatched))

    @cached_property
    def _judges(self) -> Mapping[str, tuple[Check, Judge]]:
        """Every check and how to judge it."""
        found: dict[str, tuple[Check, Judge]] = {}
        for trial in self._plan.trials:
            for check in trial.checks:
                found[check.id] = (check, partial(self._results_of, trial))
        for fuzzing in self._plan.fuzzed:
            found[fuzzing.check.id] = (fuzzing.check, partial(self._fuzzed, fuzzing))
        return {id_: found[id_] for id_ in sorted(found)}

    @cached_property
    def _hello(self) -> Hello | BadHello:
        try:
            return self._driver.connect()
        except BadHello as error:
            return error

    def verdict_of(self, id_: str) -> CheckVerdict:
        """The verdict on one check; a trial of several checks runs once."""
        if id_ not in self._results:
            check, tried = self._judges[id_]
            hello = self._hello
            results = [self._unfit(check, hello)] if isinstance(hello, BadHello) else tried(hello)
            self._results |= {result.check.id: result for result in results}
        result = self._results[id_]
        if result.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE):
            return CheckVerdict(result.verdict.value)
        entry, options = entry_of(result), self._options
        tried_as = Reproduction(options.backend, options.profile, options.wire, options.seed)
        account = plain_lines(facts_of(entry, prose_of([entry], self._library), tried_as))
        # Where answers differ, the place says more than the rule that found it.
        line = headline({**entry, "message": ""} if "difference" in entry else entry).partition("\n")[0]
        return CheckVerdict(result.verdict.value, one_line(line), account)

    def close(self) -> None:
        """End the backend."""
        self._driver.disconnect()

    def _unfit(self, check: Check, error: BadHello) -> Result:
        said = f"no valid hello: {error}"
        stderr = self._driver.stderr_tail.decode("utf-8", "replace").strip()
        return Result(check, Verdict.ERROR, outcome_name(error.lost), message=f"{said}\n{stderr}".strip())

    def _results_of(self, trial: Trial, hello: Hello) -> Sequence[Result]:
        if trial.operator not in hello.operators:
            return [Result(check, Verdict.NOT_APPLICABLE) for check in trial.checks]
        (finished,) = self._driver.run([trial.conversation], lasting=True)
        if finished.lost is None and (loss := self._driver.unattributed or self._driver.stand_in_losses):
            # Pytest has no place for a loss that no check repeats alone: the check that it came in is red.
            side = Side.BACKEND if loss is self._driver.unattributed else Side.STAND_IN
            finished = ConversationResult(finished.key, None, loss.pop(), side=side)
        return conversation_verdicts(trial.checks, finished, self._driver.declared).results

    def _fuzzed(self, fuzzing: Fuzzing, hello: Hello) -> Sequence[Result]:
        contract, options = fuzzing.contract, self._options
        if contract.operator not in hello.operators:
            return [Result(fuzzing.check, Verdict.NOT_APPLICABLE)]
        cases = self._corpus.cases.get(contract.operator, ())
        right = reference(options, self._codebook)
        with Client(self._driver) as backend, right, right.recalled(fuzzing.check.id):
            result, _ = fuzzing.fuzz(contract, cases, backend, right, self._codebook, options.examples, options.seed)
        return [result]


def _matches(pattern: str, ids: Iterable[str]) -> bool:
    return any(fnmatchcase(id_, pattern) for id_ in ids)
