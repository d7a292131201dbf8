"""A bare attempt of a backend at frozen cases: verdicts by case id, without laws, record or report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.backend.drive import Call, Conversation, Driver, Restart
from conformance.backend.hello import BadHello
from conformance.backend.outcome import Lost, LostBackend, Outcome, describe
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import DIALECTS
from conformance.trial.cases import CaseRunner, check_of
from conformance.trial.check import Result, Verdict
from conformance.trial.judge import outcome_name
from conformance.trial.options import DEFAULT_TIMEOUT
from conformance.vectors.case import Case

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
) -> Attempt:
    """Try the cases, all but golden ones, on one process of a backend.

    A mutant is the reference, which would take hours for a golden case.
    A restart inside a trace of pure operators is passed over, and so is every other one of a `stateless` backend: it
    asks whether a backend keeps state, and costs a process.
    """
    dialect = DIALECTS["json"]
    runner = CaseRunner(codebook, dialect, names_broken=False)
    driver = Driver(resolve(backend), dialect, codebook, timeout)
    by_id = {case.id: case for case in cases if case.profile != TOO_SLOW}
    results: dict[str, Result] = {}
    for finished in driver.hold([_conversation(runner, case, stateless) for case in by_id.values()]):
        if finished.finding is not None:
            results[finished.key] = finished.finding
        elif finished.lost is not None:
            results[finished.key] = _lost(by_id[finished.key], finished.lost)
    tail = driver.stderr_tail.decode("utf-8", "replace")
    if driver.unattributed:
        return Attempt({}, describe(driver.unattributed[0]), tail)
    return Attempt(dict(sorted(results.items())), "", tail)


def reachable(backend: str, cases: Sequence[Case], codebook: Codebook) -> Sequence[Case]:
    """The cases that a mutant's mistake can reach, by its own hello; all of them where it says nothing of that.

    The others are answered by the unchanged reference, whose answers they hold.
    """
    try:
        process, hello = Driver(resolve(backend), DIALECTS["json"], codebook, DEFAULT_TIMEOUT).start()
    except (BadHello, LostBackend):
        return cases  # asking them tells why
    process.kill()
    return cases if hello.changed is None else [case for case in cases if case.operators & hello.changed]


def behaviour(result: Result) -> str:
    """A digest of what a backend did where a case went wrong: equal for equal answers to the same call.

    The answer counts whole, failure record included; where there is no well-typed answer, the first difference does.
    """
    answer: Any = result.call.answer if result.call is not None else None
    if answer is None and result.difference is not None:
        answer = [result.difference.path, result.difference.expected, result.difference.actual]
    seen = [result.verdict.value, result.outcome, result.step, answer]
    return hashlib.sha256(json.dumps(seen, sort_keys=True, default=repr).encode()).hexdigest()


def _conversation(runner: CaseRunner, case: Case, stateless: bool) -> Conversation[Result]:
    if stateless or all(runner.codebook[operator].contract.purity == "pure" for operator in case.operators):
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


def _lost(case: Case, reason: Lost) -> Result:
    return Result(check_of(case), Verdict.ERROR, outcome_name(reason), message=describe(reason))
