"""Questions to a lasting process, and a bare attempt of a backend at frozen cases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from conformance.backend.carrier import Carrier, stand_in_for
from conformance.backend.driver import Call, Conversation, Driver, Finished, Restart
from conformance.backend.hello import BadHello
from conformance.backend.outcome import Lost, LostBackend, Observed, Outcome, Unsendable, describe, observe
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.trial.cases import CaseRunner, blamed, check_of, forsaken
from conformance.trial.check import Kind, Result, Verdict
from conformance.trial.options import DEFAULT_TIMEOUT
from conformance.vectors.case import Case
from conformance.vectors.exchange import AnyStep, Held, Watch, exchanges


class Asker:
    """Asks one backend; a loss is the answer to the call that causes it alone, every other call is asked again.

    `unattributed` collects the losses that no call repeats alone.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver, self._codebook, self._dialect = driver, driver.codebook, driver.dialect
        self._process: Carrier | None = None
        self._limit = 1
        self.unattributed: list[Lost] = []

    def __enter__(self) -> Asker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and kind is None:
            try:
                self._process.settle()
            except LostBackend as lost:
                self.unattributed.append(lost.reason)
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def ask(self, calls: Sequence[Call]) -> Iterator[Observed]:
        """What the backend makes of each call, in their order; after a loss each is asked again as its turn comes."""
        try:
            outcomes: Iterator[Outcome] = iter(self._outcomes(calls))
        except LostBackend as lost:
            outcomes = self._each_alone(calls, lost.reason)
        except BadHello as error:
            outcomes = iter([error.lost] * len(calls))
        for call, outcome in zip(calls, outcomes, strict=True):
            yield observe(outcome, call.operator, self._codebook, self._dialect)

    def walk(self, steps: Sequence[AnyStep], watch: Watch | None = None) -> Held | Lost:
        """Take the steps of one trace on the lasting process; a loss counts if it comes again in a fresh one.

        A call on a handle that was not given is passed over.
        """
        first = self._walk(steps, watch)
        if isinstance(first, Held):
            return first
        again = self._walk(steps, watch)
        if isinstance(again, Held):
            self.unattributed.append(first)
        return again

    def _walk(self, steps: Sequence[AnyStep], watch: Watch | None) -> Held | Lost:
        talk = exchanges(steps, self._codebook, self._dialect, passing=True, watch=watch)
        outcomes: Any = None
        try:
            while True:
                wish = talk.send(outcomes)
                outcomes = []
                if isinstance(wish, Restart):
                    self.close()
                else:
                    outcomes = self._outcomes(wish)
        except StopIteration as end:
            held: Held = end.value
            return held
        except LostBackend as lost:
            self.close()
            return lost.reason
        except BadHello as error:
            self.close()
            return error.lost
        finally:
            talk.close()

    def _each_alone(self, calls: Sequence[Call], reason: Lost) -> Iterator[Outcome]:
        guilty = False
        for call in calls:
            outcome = self._alone(call)
            guilty = guilty or isinstance(outcome, Lost)
            yield outcome
        if not guilty:
            self.unattributed.append(reason)

    def _alone(self, call: Call) -> Outcome:
        self.close()
        try:
            return self._outcomes([call])[0]
        except LostBackend as lost:
            return lost.reason
        except BadHello as error:
            return error.lost
        finally:
            self.close()

    def _outcomes(self, calls: Sequence[Call]) -> list[Outcome]:
        if self._process is None:
            self._process, hello = self._driver.start()
            self._limit = hello.max_in_flight
        process, outcomes = self._process, dict[int, Outcome]()
        order: list[int] = []
        for call in calls:
            while len(order) - len(outcomes) >= self._limit:
                outcomes.update(process.wait())
            try:
                order.append(self._driver.submit(process, call))
            except Unsendable as error:
                order.append(-len(order) - 1)  # no carrier gives such an id
                outcomes[order[-1]] = error.reason
        while len(outcomes) < len(order):
            outcomes.update(process.wait())
        return [outcomes[id_] for id_ in order]


TOO_SLOW: Final = "golden"  # the profile whose cases are left out


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a backend made of some cases, by case id; there is none where `refusal` says why it could not be asked."""

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
) -> Attempt:
    """Try the cases, all but golden ones, on one process of a backend; a stand-in answers what is not `declared`.

    A mutant is the reference, which would take hours for a golden case.
    A restart asks whether a backend keeps state, and costs a process. It is passed over inside a trace of pure
    operators, and always for a `stateless` backend. `names_broken` adds the postconditions that wrong results violate.
    """
    dialect = DIALECTS["json"]
    runner = CaseRunner(codebook, dialect, names_broken)
    stand_in = stand_in_for(dialect.name, DEFAULT_TIMEOUT)
    driver = Driver(resolve(backend), dialect, codebook, timeout, stand_in=stand_in, declared=declared)
    by_id = {case.id: case for case in cases if case.profile != TOO_SLOW}
    results: dict[str, Result] = {}
    obstacles: list[str] = []
    for finished in driver.hold([conversation_of(runner, case, stateless) for case in by_id.values()]):
        found = None if finished.finding is None else [finished.finding]
        whole: Finished[Sequence[Result]] = Finished(
            finished.key, found, finished.lost, called=finished.called, side=finished.side
        )
        judged = blamed([check_of(by_id[finished.key])], whole, driver.declared)
        (results[finished.key],) = judged.results
        obstacles += filter(None, [judged.obstacle])
    tail = driver.stderr_tail.decode("utf-8", "replace")
    if driver.unattributed:
        return Attempt({}, describe(driver.unattributed[0]), tail)
    if obstacles := [*obstacles, *map(forsaken, driver.forsaken)]:
        return Attempt({}, obstacles[0], tail)
    return Attempt(dict(sorted(results.items())), "", tail)


def behaviour(result: Result) -> str:
    """A digest of what a backend did where a case went wrong: equal for equal answers to the same call.

    The answer counts whole, failure record included; where there is no well-typed answer, the first difference does.
    """
    answer: Any = result.call.answer if result.call is not None else None
    if answer is None and result.difference is not None:
        answer = [result.difference.path, result.difference.expected, result.difference.actual]
    seen = [result.verdict.value, result.outcome, result.step, answer]
    if result.check.kind is Kind.LAW:
        seen.append(result.message)  # it holds the values that show it
    return hashlib.sha256(json.dumps(seen, sort_keys=True, default=repr).encode()).hexdigest()


def conversation_of(runner: CaseRunner, case: Case, stateless: bool = False) -> Conversation[Result]:
    """A case as it is asked in an attempt: restarts that only ask whether a backend keeps state are left out."""
    pure = (runner.codebook[operator].contract.purity == "pure" for operator in case.operators)
    if stateless or all(pure):
        return Conversation(case.id, lambda: _without_restarts(runner.talk(case)))
    return runner.conversation(case)


def _without_restarts(
    talk: Generator[Sequence[Call] | Restart, Sequence[Outcome], Result],
) -> Generator[Sequence[Call] | Restart, Sequence[Outcome], Result]:
    try:
        wish = next(talk)
        while True:
            wish = talk.send([] if isinstance(wish, Restart) else (yield wish))
    except StopIteration as end:
        finding: Result = end.value
        return finding
