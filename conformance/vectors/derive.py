"""The answers of one backend to all questions: one derivation, which is compared with another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from conformance.backend.driver import Conversation, Driver, Talk
from conformance.backend.hello import Hello
from conformance.backend.outcome import Observed, ObservedFailure, ObservedResult
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS, Dialect
from conformance.vectors.accumulate import Accumulated, accumulate, window_of
from conformance.vectors.case import Accumulation, Expected, ExpectedFailure, ExpectedResult, Question
from conformance.vectors.compact import compact
from conformance.vectors.difference import undecodable
from conformance.vectors.exchange import Transcript, exchanges, may_share, restarts

WINDOWS: Final = 64  # calls of a long run that the reference confirms (DESIGN 5)
PATIENCE: Final = 120.0  # seconds without an answer; the slowest single call of the corpus takes the reference 4
Judge = Callable[[Question, Transcript], None]
Tick = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Answers:
    """A backend's answers to one question's calls in order, compacted; `fault` says why there are not more."""

    expected: Mapping[str, Expected]  # by step
    fault: str = ""
    trees: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by label of the step


@dataclass(frozen=True, slots=True)
class Derivation:
    """Everything that one backend answered, by case id."""

    backend: str
    operators: frozenset[str]
    answers: Mapping[str, Answers]
    accumulated: Mapping[str, Accumulated]
    faults: Mapping[str, str]  # case id -> how the backend was lost in it

    def covers(self, question: Question) -> bool:
        """Whether the backend declares every operator that the question calls."""
        return question.operators <= self.operators


def introduce(backend: str, codebook: Codebook) -> Hello:
    """A backend's hello; raises BackendNotFound, BadHello, LostBackend."""
    process, hello = Driver(resolve(backend, codebook.suite), DIALECTS["json"], codebook, PATIENCE).start()
    process.settle()
    return hello


def derive(
    backend: str,
    questions: Sequence[Question],
    codebook: Codebook,
    hello: Hello,
    judge: Judge | None = None,
    tick: Tick | None = None,
) -> Derivation:
    """Ask one backend; questions with operators that it does not declare are left out. `judge` sees whole answers."""
    asked = {question.id: question for question in questions if question.operators <= hello.operators}
    answers: dict[str, Answers] = {}
    accumulated: dict[str, Accumulated] = {}
    faults: dict[str, str] = {}
    # Long lists travel as typed arrays on the CBOR wire, which is several times faster than decimal strings.
    for dialect, runs in ((DIALECTS["json"], False), (_fastest(hello), True)):
        talks = [
            Conversation(
                one.id, partial(_talk, one, codebook, dialect), restarts(one.steps), may_share(one.steps, codebook)
            )
            for one in asked.values()
            if runs == (one.accumulation is not None)
        ]
        for one in Driver(resolve(backend, codebook.suite, dialect.name), dialect, codebook, PATIENCE).hold(talks):
            if one.finding is None:
                faults[one.key] = str(one.lost)
            elif runs:
                accumulated[one.key] = one.finding
            else:
                answers[one.key] = _answers(one.finding, codebook)
                if judge is not None:
                    judge(asked[one.key], one.finding)
            if tick is not None:
                tick()
    return Derivation(backend, hello.operators, answers, accumulated, faults)


def _talk(question: Question, codebook: Codebook, dialect: Dialect) -> Talk[Any]:
    if question.accumulation is None:
        return exchanges(question.steps, codebook, dialect)
    return accumulate(question.accumulation, codebook, dialect, keep=kept_calls(question))


def _fastest(hello: Hello) -> Dialect:
    return DIALECTS["cbor" if "cbor" in hello.wires else "json"]


def kept_calls(question: Question) -> frozenset[int]:
    """The calls of a run, from 0, whose windows the reference will be asked for: spread evenly, the last among them."""
    if question.accumulation is None or question.confirm != "windows":
        return frozenset()
    count = question.accumulation.count
    return frozenset(k * (count - 1) // (WINDOWS - 1) for k in range(WINDOWS))


def confirm_windows(
    backend: str, accumulation: Accumulation, run: Accumulated, codebook: Codebook, hello: Hello
) -> Iterator[tuple[int, str, str]]:
    """Ask `backend` the windows of a run one by one: (call from 0, the run's SHA-256, what the backend gives)."""
    dialect = _fastest(hello)
    talks = [
        Conversation(str(call), partial(window_of, accumulation, window.inputs, codebook, dialect))
        for call, window in run.windows.items()
    ]
    for finished in Driver(resolve(backend, codebook.suite, dialect.name), dialect, codebook, PATIENCE).hold(talks):
        call = int(finished.key)
        yield call, run.windows[call].sha256, finished.finding or f"no result ({finished.lost})"


def _answers(transcript: Transcript, codebook: Codebook) -> Answers:
    expected: dict[str, Expected] = {}
    for exchange in transcript.exchanges:
        answer = expectation(exchange.observed, exchange.operator, codebook)
        if isinstance(answer, str):
            return Answers(expected, f"step {exchange.step}: {answer}", transcript.trees)
        expected[exchange.step] = answer
    for name, tree in transcript.trees.items():
        if not transcript.fault and (spoilt := next(undecodable(tree), None)) is not None:
            return Answers(expected, f"{name}: the file {spoilt!r} is not what its codec makes", transcript.trees)
    return Answers(expected, transcript.fault, transcript.trees)


def expectation(observed: Observed, operator: str, codebook: Codebook) -> Expected | str:
    """An observed outcome as it is frozen, or why it cannot be."""
    match observed:
        case ObservedResult(fields):
            return ExpectedResult(compact(fields, codebook[operator].contract.outputs))
        case ObservedFailure(code, data):
            return ExpectedFailure(code, data)
    return str(observed)
