"""The checks of one pytest worker, judged in one lasting backend process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

from conformance.backend.carrier import stand_in_for
from conformance.backend.driver import Driver
from conformance.backend.hello import BadHello, Hello
from conformance.backend.outcome import Side
from conformance.backend.scheduler import Finished
from conformance.codec.codebook import codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.library import Library
from conformance.report.failure import Tried, facts_of, plain
from conformance.report.record import entry_of, prose_of
from conformance.trial.cases import blamed
from conformance.trial.check import Check, Result, Verdict, outcome_name
from conformance.trial.client import Asker
from conformance.trial.forked import apart
from conformance.trial.fuzz import Fuzzing
from conformance.trial.options import RunOptions, Silence
from conformance.trial.plan import Plan, Trial
from conformance.trial.run import reference, started_as
from conformance.vectors.corpus import Corpus

Judge = Callable[[Hello], Sequence[Result]]


class Bench:
    """Tries checks one at a time, in any order; a backend that is lost is started again."""

    def __init__(self, library: Library, corpus: Corpus, options: RunOptions) -> None:
        options = options.within(library.suite)
        self._library, self._corpus, self._options = library, corpus, options
        self._dialect, self._codebook = DIALECTS[options.wire], codebook_of(library)
        command = started_as(options, library.suite)
        stand_in = stand_in_for(library.suite, options.wire, options.stand_in_timeout, options.reference)
        self._driver = Driver(command, self._dialect, self._codebook, options.timeout, stand_in=stand_in)
        self._plan = Plan(library, corpus, options, self._codebook)
        self._results: dict[str, Result] = {}

    @cached_property
    def checks(self) -> Mapping[str, Check]:
        """Every check of the profile by its id, sorted; the suite's own modules are not imported for this."""
        return apart(lambda _: {id_: check for id_, (check, _) in self._judges.items()}, Silence())

    @cached_property
    def _judges(self) -> Mapping[str, tuple[Check, Judge]]:
        """Every check and how to judge it."""
        found: dict[str, tuple[Check, Judge]] = {}
        for trial in self._plan.trials:
            for check in trial.checks:
                found[check.id] = (check, partial(self._tried, trial))
        for fuzzing in self._plan.fuzzed:
            found[fuzzing.check.id] = (fuzzing.check, partial(self._fuzzed, fuzzing))
        return {id_: found[id_] for id_ in sorted(found)}

    @cached_property
    def _hello(self) -> Hello | BadHello:
        try:
            return self._driver.connect()
        except BadHello as error:
            return error

    def judge(self, id_: str) -> Result:
        """The verdict on one check; a trial of several checks runs once."""
        if id_ not in self._results:
            check, tried = self._judges[id_]
            hello = self._hello
            results = [self._unfit(check, hello)] if isinstance(hello, BadHello) else tried(hello)
            self._results |= {result.check.id: result for result in results}
        return self._results[id_]

    def told(self, result: Result) -> str:
        """A failure as the terminal report tells it."""
        entry, options = entry_of(result), self._options
        tried = Tried(options.backend, options.profile, options.wire, options.seed)
        return plain(facts_of(entry, prose_of([entry], self._library), tried))

    def close(self) -> None:
        """End the backend."""
        self._driver.disconnect()

    def _unfit(self, check: Check, error: BadHello) -> Result:
        said = f"no valid hello: {error}"
        stderr = self._driver.stderr_tail.decode("utf-8", "replace").strip()
        return Result(check, Verdict.ERROR, outcome_name(error.lost), message=f"{said}\n{stderr}".strip())

    def _tried(self, trial: Trial, hello: Hello) -> Sequence[Result]:
        if trial.operator not in hello.operators:
            return [Result(check, Verdict.NOT_APPLICABLE) for check in trial.checks]
        (finished,) = self._driver.hold([trial.conversation], lasting=True)
        if finished.lost is None and (loss := self._driver.unattributed or self._driver.forsaken):
            # Pytest has no place for a loss that no check repeats alone: the check that it came in is red.
            side = Side.BACKEND if loss is self._driver.unattributed else Side.STAND_IN
            finished = Finished(finished.key, None, loss.pop(), side=side)
        return blamed(trial.checks, finished, self._driver.declared).results

    def _fuzzed(self, fuzzing: Fuzzing, hello: Hello) -> Sequence[Result]:
        contract, options = fuzzing.contract, self._options
        if contract.operator not in hello.operators:
            return [Result(fuzzing.check, Verdict.NOT_APPLICABLE)]
        cases = self._corpus.cases.get(contract.operator, ())
        with Asker(self._driver) as backend, reference(options, self._codebook) as right:
            result, _ = fuzzing.fuzz(contract, cases, backend, right, self._codebook, options.examples, options.seed)
        return [result]
