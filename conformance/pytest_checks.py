"""The checks of one pytest worker, judged in a child process with one lasting backend process."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from conformance.backend.hello import BadHello
from conformance.backend.outcome import describe
from conformance.codec.codebook import codebook_of
from conformance.contract.library import Library
from conformance.report.failure import Reproduction, facts_of, headline, plain_lines
from conformance.report.record import entry_of, prose_of
from conformance.report.untrusted import one_line
from conformance.trial.cases import BAD, ConversationVerdicts, conversation_verdicts, stand_in_loss
from conformance.trial.check import Check, Result, Verdict, outcome_name
from conformance.trial.client import Client
from conformance.trial.forked import WorkerProcess
from conformance.trial.fuzz import Fuzzing
from conformance.trial.options import RunOptions
from conformance.trial.plan import Plan, Trial
from conformance.trial.run import driver_of_run, reference, unmatched_expectations
from conformance.trial.runner import PROBE, unasked
from conformance.vectors.frozen.corpus import Corpus

Judge = Callable[[], ConversationVerdicts]  # with an obstacle no expected failure excuses them
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
    """The verdict on one check; of a failure one line, and the account that the terminal gives of it.

    It is not `excusable` where `tally run` is red whatever failures are expected: no check alone is to blame.
    """

    verdict: str
    line: str = ""
    account: str = ""
    excusable: bool = True


class CheckProcess:
    """Collects checks and tries them one at a time, in any order, in a child process.

    The suite's own Python is imported there, and the backend belongs to it. A backend that is lost is started again.
    """

    def __init__(self, library: Library, corpus: Corpus, options: RunOptions, folder: Path | None = None) -> None:
        def serve(questions: Iterator[str]) -> Iterator[CollectedChecks | CheckVerdict]:
            if folder is not None and folder != Path.cwd():
                os.chdir(folder)  # where the command of the backend starts
            return _answers(_Trials(library, corpus, options), questions)

        self._partner = WorkerProcess(serve)

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
        self._codebook = codebook_of(library)
        self._driver = driver_of_run(options, self._codebook)
        self._plan = Plan(library, corpus, options, self._codebook)
        self._bad_hello: BadHello | None = None
        self._results: dict[str, Result] = {}
        self._inexcusable: set[str] = set()  # ids
        self._lost_in_a_row: Counter[str] = Counter()  # by operator

    def collected(self) -> CollectedChecks:
        """The items to collect; the backend is started to ask what it declares."""
        checks = tuple(check for check, _ in self._judges.values())
        declared = self._driver.declared if self._unfit is None else None
        unmatched = unmatched_expectations(self._options, self._judges, self._plan)
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

    @property
    def _unfit(self) -> BadHello | None:
        """Why the backend is not asked: a process of it, the first or a later one, said no valid hello."""
        if self._bad_hello is None:
            try:
                self._driver.connect()
            except BadHello as error:
                self._bad_hello = error
        return self._bad_hello

    def verdict_of(self, id_: str) -> CheckVerdict:
        """The verdict on one check; a trial of several checks runs once."""
        if id_ not in self._results:
            check, tried = self._judges[id_]
            found = tried() if self._unfit is None else self._without_hello(check, self._unfit)
            self._results |= {result.check.id: result for result in found.results}
            self._inexcusable |= {result.check.id for result in found.results if found.obstacle}
        result = self._results[id_]
        if result.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE):
            return CheckVerdict(result.verdict.value)
        entry, options = entry_of(result), self._options
        tried_as = Reproduction(options.backend, options.profile, options.wire, options.seed)
        account = plain_lines(facts_of(entry, prose_of([entry], self._library), tried_as))
        # Where answers differ, the place says more than the rule that found it.
        line = headline({**entry, "message": ""} if "difference" in entry else entry).partition("\n")[0]
        return CheckVerdict(result.verdict.value, one_line(line), account, id_ not in self._inexcusable)

    def close(self) -> None:
        self._driver.disconnect()

    def _without_hello(self, check: Check, error: BadHello) -> ConversationVerdicts:
        said = f"no valid hello: {error}"
        stderr = self._driver.stderr_tail.decode("utf-8", "replace").strip()
        result = Result(check, Verdict.ERROR, outcome_name(error.lost), message=f"{said}\n{stderr}".strip())
        return ConversationVerdicts([result], said)

    def _declares(self, operator: str) -> bool:
        return self._driver.declared is not None and operator in self._driver.declared

    def _results_of(self, trial: Trial) -> ConversationVerdicts:
        if not self._declares(trial.operator):
            return ConversationVerdicts([Result(check, Verdict.NOT_APPLICABLE) for check in trial.checks])
        if self._lost_in_a_row[trial.operator] >= PROBE:
            why = f"the backend was lost in {PROBE} checks of this operator in a row"
            return ConversationVerdicts([unasked(check, why) for check in trial.checks])
        (finished,) = self._driver.run([trial.conversation], lasting=True)
        lost_before = self._lost_in_a_row[trial.operator]
        self._lost_in_a_row[trial.operator] = 0 if finished.lost is None else lost_before + 1
        return self._with_losses(conversation_verdicts(trial.checks, finished, self._driver.declared))

    def _fuzzed(self, fuzzing: Fuzzing) -> ConversationVerdicts:
        operator, options = fuzzing.contract.operator, self._options
        if not self._declares(operator):
            return ConversationVerdicts([Result(fuzzing.check, Verdict.NOT_APPLICABLE)])
        cases = self._corpus.cases.get(operator, ())
        right = reference(options, self._codebook)
        with Client(self._driver) as backend, right, right.recalled(fuzzing.check.id):
            drawn = {"examples": options.examples, "seed": options.seed}
            result, _ = fuzzing.fuzz(cases, backend, right, self._codebook, **drawn)
        return self._with_losses(ConversationVerdicts([result], result.message if result.of_suite else ""))

    def _with_losses(self, found: ConversationVerdicts) -> ConversationVerdicts:
        """Pytest has no place for a loss that no check repeats alone: the checks that it came in are errors."""
        losses = self._driver.unattributed or self._driver.stand_in_losses
        if not losses:
            return found
        why = f"no check repeats it alone: {describe(losses[0])}"
        if losses is self._driver.stand_in_losses:
            why = stand_in_loss(losses[0])
        outcome = outcome_name(losses[0])
        losses.clear()
        results = [
            one if one.verdict in BAD else Result(one.check, Verdict.ERROR, outcome, message=why)
            for one in found.results
        ]
        return ConversationVerdicts(results, why)
