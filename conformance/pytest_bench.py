"""The checks of one pytest worker, judged on one lasting backend process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Final

from conformance.backend.carrier import Carrier
from conformance.backend.conversation import Call, Conversation, Finished
from conformance.backend.drive import Driver
from conformance.backend.hello import BadHello, Hello
from conformance.backend.outcome import LostBackend
from conformance.backend.pipeline import Pipeline
from conformance.backend.resolve import resolve
from conformance.codec.codebook import codebook_of
from conformance.codec.dialect import DIALECTS
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.report.entry import entry_of
from conformance.report.failure import Tried, facts_of, plain
from conformance.report.prose import prose_of
from conformance.trial.check import Check, Result, Verdict
from conformance.trial.fuzz import fuzz_check, fuzz_operator
from conformance.trial.holding import lost
from conformance.trial.judge import outcome_name
from conformance.trial.options import RunOptions
from conformance.trial.plan import Plan, Trial
from conformance.trial.run import asker, reference
from conformance.vectors.corpus import Corpus

_PATIENCE: Final = 3  # then every check has a process of its own, whose driver gives up in the end
Judge = Callable[[Hello], Sequence[Result]]


class Bench:
    """Tries checks one at a time, in any order; a backend that is lost is started again."""

    def __init__(self, library: Library, corpus: Corpus, options: RunOptions) -> None:
        self._library, self._corpus, self._options = library, corpus, options
        self._dialect, self._codebook = DIALECTS[options.wire], codebook_of(library)
        command = resolve(options.backend, options.wire)
        self._driver = Driver(command, self._dialect, self._codebook, options.timeout)
        self._plan = Plan(library, corpus, options, self._codebook)
        self._results: dict[str, Result] = {}
        self._carrier: Carrier | None = None
        self._losses = 0  # of the lasting process, in a row

    @cached_property
    def checks(self) -> Mapping[str, tuple[Check, Judge]]:
        """Every check of the profile by its id, sorted, and how to judge it."""
        found: dict[str, tuple[Check, Judge]] = {}
        for trial in self._plan.trials:
            for check in trial.checks:
                found[check.id] = (check, partial(self._tried, trial))
        for contract in self._plan.fuzzed:
            check = fuzz_check(contract)
            found[check.id] = (check, partial(self._fuzzed, contract))
        return {id_: found[id_] for id_ in sorted(found)}

    @cached_property
    def _hello(self) -> Hello | BadHello:
        try:
            self._carrier, hello = self._driver.start()
        except BadHello as error:
            return error
        return hello

    def judge(self, id_: str) -> Result:
        """The verdict on one check; a trial of several checks is held once."""
        if id_ not in self._results:
            check, tried = self.checks[id_]
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
        if self._carrier is not None:
            self._carrier.kill()
            self._carrier = None

    def _unfit(self, check: Check, error: BadHello) -> Result:
        said = f"the backend did not introduce itself: {error}"
        stderr = self._driver.stderr_tail.decode("utf-8", "replace").strip()
        return Result(check, Verdict.ERROR, outcome_name(error.lost), message=f"{said}\n{stderr}".strip())

    def _tried(self, trial: Trial, hello: Hello) -> Sequence[Result]:
        if not self._plan.applicable(trial, hello.operators):
            return [Result(check, Verdict.NOT_APPLICABLE) for check in trial.checks]
        conversation = trial.conversation
        finished = self._alone(conversation) if conversation.alone else self._together(conversation, hello)
        if finished.finding is not None:
            return finished.finding
        assert finished.lost is not None
        return [lost(check, finished.lost) for check in trial.checks]

    def _together(self, conversation: Conversation[Sequence[Result]], hello: Hello) -> Finished[Sequence[Result]]:
        """Hold a conversation on the lasting process; whoever loses it is asked again alone, and is red either way."""
        if self._losses >= _PATIENCE:
            return self._alone(conversation)
        try:
            if self._carrier is None:
                self._carrier, _ = self._driver.start()
            pipeline = Pipeline[Sequence[Result]](self._carrier, self._submit, hello.max_in_flight)
            (finished,) = pipeline.hold(deque([conversation]))
        except (LostBackend, BadHello) as error:
            self._losses += 1
            self.close()
            again = self._alone(conversation)
            reason = error.reason if isinstance(error, LostBackend) else error.lost
            return again if again.lost is not None else Finished(conversation.key, None, reason)
        self._losses = 0
        return finished

    def _alone(self, conversation: Conversation[Sequence[Result]]) -> Finished[Sequence[Result]]:
        (finished,) = self._driver.hold([replace(conversation, alone=True)])
        return finished

    def _submit(self, carrier: Carrier, call: Call) -> int:
        inputs = self._codebook[call.operator].inputs
        return carrier.submit(call.operator, self._dialect.outgoing(inputs, call.inputs))

    def _fuzzed(self, contract: Contract, hello: Hello) -> Sequence[Result]:
        if contract.operator not in hello.operators:
            return [Result(fuzz_check(contract), Verdict.NOT_APPLICABLE)]
        cases, options = self._corpus.cases.get(contract.operator, ()), self._options
        with asker(options, self._codebook) as backend, reference(options, self._codebook) as right:
            result, _ = fuzz_operator(contract, cases, backend, right, self._codebook, options.examples, options.seed)
        return [result]
