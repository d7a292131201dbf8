"""A client that asks a backend in one lasting process, and the results of a backend in frozen cases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from conformance.backend.carrier import stand_in_for
from conformance.backend.driver import Call, Conversation, ConversationResult, Driver, RestartRequest, Talk
from conformance.backend.outcome import Lost, Observed, Outcome, describe, observe
from conformance.backend.resolve import resolve
from conformance.backend.scheduler import T
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.trial.cases import CaseRunner, check_of, conversation_verdicts, stand_in_loss
from conformance.trial.check import FailedCall, Kind, Result, Verdict
from conformance.trial.known_answers import AnswerStore, KnownAnswers
from conformance.trial.options import DEFAULT_TIMEOUT
from conformance.vectors.case import Case
from conformance.vectors.conversation.exchange import (
    AnyStep,
    CallObserver,
    ConversationContext,
    Transcript,
    exchanges,
    runs_alone,
)


def driver_of(
    backend: str, codebook: Codebook, timeout: float = DEFAULT_TIMEOUT, declared: frozenset[str] | None = None
) -> Driver:
    """A driver on the JSON wire; a stand-in answers what the backend does not declare. Raises BackendNotFound."""
    stand_in = stand_in_for(codebook.suite, "json", max(timeout, DEFAULT_TIMEOUT))
    command = resolve(backend, codebook.suite)
    return Driver(command, DIALECTS["json"], codebook, timeout, stand_in=stand_in, declared=declared)


class Client:
    """Asks one backend in a lasting process; a loss is the answer to the call that causes it alone.

    `unattributed` has the losses that no call repeats alone. `known` are its answers in earlier runs to the questions
    of the check that is `recalled`.
    """

    def __init__(self, driver: Driver, answers: AnswerStore | None = None) -> None:
        self._driver, self._answers = driver, answers or AnswerStore()
        self.known = KnownAnswers()
        self.unattributed = driver.unattributed
        self.dialect = driver.dialect
        self.stderr = ""  # the end of what the process wrote on stderr that was lost last

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._driver.disconnect(settle=kind is None)

    @contextmanager
    def recalled(self, check: str) -> Iterator[None]:
        """Recall the known answers in a check while it runs, then keep the new ones."""
        self.known = self._answers.of(check)
        try:
            yield
        finally:
            self.known.keep()
            self.known = KnownAnswers()

    def ask(self, calls: Sequence[Call]) -> Iterator[Observed]:
        """The outcome of each call, in order; after a loss each further call is asked only when its turn comes."""
        talks = [Conversation(str(place), partial(_asking, call)) for place, call in enumerate(calls)]
        answers = ((int(one.key), self._answer(one)) for one in self._driver.run(talks, lasting=True))
        known: dict[int, Outcome] = {}
        for place, outcome in answers:
            known[place] = outcome
            if isinstance(outcome, Lost):
                break
        for place, call in enumerate(calls):
            while place not in known:
                known.update([next(answers)])
            yield observe(known[place], call.operator, self._driver.codebook, self._driver.dialect)

    def walk(self, steps: Sequence[AnyStep], watch: CallObserver | None = None) -> Transcript | Lost:
        """Take the steps of one trace; a call on a handle that was not given is passed over."""
        return self.run(partial(self._walking, steps, watch), alone=runs_alone(steps))

    def last_call(self, steps: Sequence[AnyStep]) -> FailedCall | None:
        """The call in which the backend is lost when it takes the steps of a trace again; None if it is not lost."""
        last = _LastCall()
        return last.call if isinstance(self.walk(steps, last), Lost) else None

    def walk_all(self, traces: Sequence[Sequence[AnyStep]]) -> list[Transcript | Lost]:
        """Take the steps of several traces at a time, because a backend that waits for each call costs as much again as
        the calls."""
        talks = [
            Conversation(str(place), partial(self._walking, steps), runs_alone(steps))
            for place, steps in enumerate(traces)
        ]
        found = dict[str, Transcript | Lost]()
        for finished in self._driver.run(talks, lasting=True):
            answer = self._answer(finished)
            found[finished.key] = answer
        return [found[talk.key] for talk in talks]

    def _walking(self, steps: Sequence[AnyStep], watch: CallObserver | None = None) -> Talk[Transcript]:
        return exchanges(steps, self._driver.codebook, self._driver.dialect, passing=True, watch=watch)

    def run(self, start: Callable[[], Talk[T]], alone: bool = False) -> T | Lost:
        """Run one conversation; `alone` if it has its processes to itself."""
        (finished,) = self._driver.run([Conversation("talk", start, alone)], lasting=True)
        return self._answer(finished)

    def _answer(self, finished: ConversationResult[T]) -> T | Lost:
        if finished.lost is not None:
            self.stderr = finished.stderr
            return finished.lost
        assert finished.finding is not None
        return finished.finding


class _LastCall:
    """Remembers the call that was made last."""

    call: FailedCall | None = None

    def before(self, stage: ConversationContext, step: Any) -> None:
        self.call = FailedCall(step.operator, stage.inputs(step))

    def after(self, stage: ConversationContext, step: Any) -> None:
        self.call = None


TOGETHER: Final = 16  # traces that are walked at a time
Walked = tuple[Transcript | Lost, Transcript | Lost]  # by the reference, and by the backend


def asked_of_both(calls: Sequence[Call], reference: Client, backend: Client) -> Iterator[tuple[Observed, Observed]]:
    """The answers of reference and backend to each call, in order; a known answer of the reference is not asked for."""
    known = reference.known
    questions = [known.question(call) for call in calls]
    is_new = [not known.is_known(question) for question in questions]  # before any is noted: a call may occur twice
    answers = reference.ask([call for call, asked in zip(calls, is_new, strict=True) if asked])
    for call, question, asked, said in zip(calls, questions, is_new, backend.ask(calls), strict=True):
        if asked:
            right = next(answers)
            known.note(question, right)
            yield right, said
        else:
            yield said if known.agrees(question, said) else next(reference.ask([call])), said


def walked_by_both(
    asked: Iterable[T], steps: Callable[[T], Sequence[AnyStep]], reference: Client, backend: Client
) -> Iterator[tuple[T, Walked]]:
    """Each of `asked` with the two walks of its steps, in order; a few are walked before the caller wants them."""
    left, known = iter(asked), reference.known
    while some := list(islice(left, TOGETHER)):
        traces = [steps(one) for one in some]
        questions = [known.question(trace) for trace in traces]
        said = backend.walk_all(traces)
        right = {k: one for k, one in enumerate(said) if known.agrees(questions[k], one)}
        new = [k for k in range(len(traces)) if k not in right]
        for k, one in zip(new, reference.walk_all([traces[k] for k in new]), strict=True):
            right[k] = one
            known.note(questions[k], one)
        yield from ((one, (right[k], said[k])) for k, one in enumerate(some))


def _asking(call: Call) -> Talk[Outcome]:
    (outcome,) = yield [call]
    return outcome


TOO_SLOW: Final = "golden"  # the profile whose cases are left out


@dataclass(frozen=True, slots=True)
class Attempt:
    """The results of a backend in some cases, by case id; none if `refusal` says why it could not be asked."""

    results: Mapping[str, Result]
    refusal: str = ""
    stderr_tail: str = ""

    @property
    def wrong(self) -> frozenset[str]:
        """The ids of the cases that did not pass."""
        return frozenset(id_ for id_, result in self.results.items() if result.verdict is not Verdict.PASS)


def attempt(
    backend: str,
    cases: Sequence[Case],
    codebook: Codebook,
    timeout: float = DEFAULT_TIMEOUT,
    *,
    stateless: bool = False,
    names_broken: bool = False,
    declared: frozenset[str] | None = None,
    until_wrong: bool = False,
) -> Attempt:
    """Try the cases, all but golden ones, on one process of a backend; a stand-in answers what is not `declared`.

    A mutant is the reference, which would take hours for a golden case.
    A restart asks whether a backend keeps state, and costs a process. It is passed over inside a trace of pure
    operators, and always for a `stateless` backend. `names_broken` adds the postconditions that wrong results violate.
    With `until_wrong` the first case that goes wrong is the last one asked.
    """
    driver = driver_of(backend, codebook, timeout, declared)
    runner = CaseRunner(codebook, driver.dialect, names_broken)
    by_id = {case.id: case for case in cases if case.profile != TOO_SLOW}
    results: dict[str, Result] = {}
    obstacles: list[str] = []
    for finished in driver.run([conversation_of(runner, case, stateless) for case in by_id.values()]):
        judged = conversation_verdicts([check_of(by_id[finished.key])], finished, driver.declared)
        (results[finished.key],) = judged.results
        obstacles += filter(None, [judged.obstacle])
        if until_wrong and judged.results[0].verdict is not Verdict.PASS:
            break
    tail = driver.stderr_tail.decode("utf-8", "replace")
    if driver.unattributed:
        return Attempt({}, describe(driver.unattributed[0]), tail)
    if obstacles := [*obstacles, *map(stand_in_loss, driver.stand_in_losses)]:
        return Attempt({}, obstacles[0], tail)
    return Attempt(dict(sorted(results.items())), "", tail)


def behaviour(result: Result) -> str:
    """A digest of what a backend did where a case went wrong: equal for equal answers to the same call.

    The answer counts whole, failure record included; if it is not well typed, the first difference counts.
    """
    answer: Any = result.call.answer if result.call is not None else None
    if answer is None and result.difference is not None:
        answer = [result.difference.path, result.difference.expected, result.difference.actual]
    seen = [result.verdict.value, result.outcome, result.step, answer]
    if result.check.kind is Kind.LAW:
        seen.append(result.message)  # it has the values that show the mistake
    return hashlib.sha256(json.dumps(seen, sort_keys=True, default=repr).encode()).hexdigest()


def conversation_of(runner: CaseRunner, case: Case, stateless: bool = False) -> Conversation[Sequence[Result]]:
    """A case as it is asked in an attempt: restarts that only ask whether a backend keeps state are left out."""
    pure = (runner.codebook[operator].contract.purity == "pure" for operator in case.operators)
    whole = runner.conversation(case)
    if stateless or all(pure):
        return replace(whole, start=lambda: _without_restarts(runner.talk(case)), alone=False, in_step=False)
    return whole


def _without_restarts(talk: Talk[T]) -> Talk[T]:
    try:
        request = next(talk)
        while True:
            request = talk.send([] if isinstance(request, RestartRequest) else (yield request))
    except StopIteration as end:
        finding: T = end.value
        return finding
