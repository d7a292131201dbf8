"""The answers of one backend to all questions, compared with another backend's, with the pins and with the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from conformance.backend.driver import Conversation, Driver, Talk
from conformance.backend.hello import Hello
from conformance.backend.outcome import BadAnswer, Observed, ObservedFailure, ObservedResult, describe
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS, Dialect
from conformance.codec.scalar import show_path
from conformance.contract.cel.advice import without_value
from conformance.contract.types import ListOf, Type
from conformance.contract.yaml.source import Problem
from conformance.vectors.case import (
    Accumulation,
    CallStep,
    Case,
    Expected,
    ExpectedFailure,
    ExpectedResult,
    Pin,
    Question,
    QuestionCall,
    Step,
    TreeStep,
    label,
    looks,
)
from conformance.vectors.compact import compact, compact_list
from conformance.vectors.conversation.accumulate import AccumulatedRun, accumulate, window_of
from conformance.vectors.conversation.contradiction import Contradiction, evaluation_error
from conformance.vectors.conversation.difference import difference, first_difference, tree_difference, undecodable
from conformance.vectors.conversation.exchange import Exchange, Transcript, exchanges, may_share, runs_alone
from conformance.vectors.conversation.state_tracking import StateTransition
from conformance.vectors.draft import MARKER_KEYS
from conformance.vectors.frozen.vector_file import sealed
from conformance.vectors.leaf import type_at, value_at

WINDOWS: Final = 64  # calls of a long run that the reference confirms (DESIGN 5)
TIMEOUT: Final = 120.0  # seconds without an answer; the slowest single call of the corpus takes the reference 4
Judge = Callable[[Question, Transcript], None]
Tick = Callable[[], None]


@dataclass(frozen=True, slots=True)
class NoValue:
    """Why a backend gave no value; questions with the same `cause` likely have one mistake behind them."""

    said: str
    cause: str
    stderr: str = ""  # its end, if the backend was lost


@dataclass(frozen=True, slots=True)
class Answers:
    """A backend's answers to the calls of one question, in order, compacted; `fault` says why some are missing."""

    expected: Mapping[str, Expected]  # by step
    fault: NoValue | None = None
    trees: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by label of the step


@dataclass(frozen=True, slots=True)
class Derivation:
    """Everything that one backend answered, by case id."""

    backend: str
    operators: frozenset[str]
    answers: Mapping[str, Answers]
    accumulated: Mapping[str, AccumulatedRun]
    faults: Mapping[str, NoValue]  # case id -> how the backend ended during it

    def covers(self, question: Question) -> bool:
        """Whether the backend declares every operator that the question calls."""
        return question.operators <= self.operators


def introduce(backend: str, codebook: Codebook) -> Hello:
    """A backend's hello; raises BackendNotFound, BadHello."""
    process, hello = Driver(resolve(backend, codebook.suite), DIALECTS["json"], codebook, TIMEOUT).start()
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
    accumulated: dict[str, AccumulatedRun] = {}
    faults: dict[str, NoValue] = {}
    # Long lists travel as typed arrays on the CBOR wire, which is several times faster than decimal strings.
    for dialect, runs in ((DIALECTS["json"], False), (_fastest(hello), True)):
        talks = [
            Conversation(
                one.id, partial(_talk, one, codebook, dialect), runs_alone(one.steps), may_share(one.steps, codebook)
            )
            for one in asked.values()
            if runs == (one.accumulation is not None)
        ]
        for one in Driver(resolve(backend, codebook.suite, dialect.name), dialect, codebook, TIMEOUT).run(talks):
            if not one.asked and faults:
                faults[one.key] = list(faults.values())[-1]  # given up, for the reason of the last loss
            elif one.finding is None:
                assert one.lost is not None
                said = describe(one.lost)
                raised, colon, _ = one.stderr.rstrip().rpartition("\n")[2].partition(":")  # the kind of exception
                faults[one.key] = NoValue(said, f"{said}, {raised}" if colon else said, one.stderr)
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
    """The calls of a run, from 0, whose windows the reference is asked for: spread evenly, including the last."""
    if question.accumulation is None or question.confirm != "windows":
        return frozenset()
    count = question.accumulation.count
    return frozenset(k * (count - 1) // (WINDOWS - 1) for k in range(WINDOWS))


def confirm_windows(
    backend: str, accumulation: Accumulation, run: AccumulatedRun, codebook: Codebook, hello: Hello
) -> Iterator[tuple[int, str, str]]:
    """Ask `backend` the windows of a run one by one: (call from 0, the run's SHA-256, what the backend gives)."""
    dialect = _fastest(hello)
    talks = [
        Conversation(str(call), partial(window_of, accumulation, window.inputs, codebook, dialect))
        for call, window in run.windows.items()
    ]
    for finished in Driver(resolve(backend, codebook.suite, dialect.name), dialect, codebook, TIMEOUT).run(talks):
        call = int(finished.key)
        why = "" if finished.lost is None else f" ({describe(finished.lost)})"
        yield call, run.windows[call].sha256, finished.finding or f"no result{why}"


def _answers(transcript: Transcript, codebook: Codebook) -> Answers:
    expected: dict[str, Expected] = {}
    for exchange in transcript.exchanges:
        answer = expectation(exchange.observed, exchange.operator, codebook)
        if isinstance(answer, NoValue):
            said = f"step {exchange.step}: {answer.said}"
            return Answers(expected, NoValue(said, answer.cause), transcript.trees)
        expected[exchange.step] = answer
    for name, tree in transcript.trees.items():
        if not transcript.fault and (spoilt := next(undecodable(tree), None)) is not None:
            said = f"{name}: the file {spoilt!r} is not what its codec makes"
            return Answers(expected, NoValue(said, said), transcript.trees)
    fault = NoValue(transcript.fault, transcript.fault) if transcript.fault else None
    return Answers(expected, fault, transcript.trees)


def expectation(observed: Observed, operator: str, codebook: Codebook) -> Expected | NoValue:
    """An observed outcome as it is frozen, or why it cannot be."""
    match observed:
        case ObservedResult(fields):
            return ExpectedResult(compact(fields, codebook[operator].contract.outputs))
        case ObservedFailure(code, data):
            return ExpectedFailure(code, data)
        case BadAnswer(error):
            return NoValue(describe(observed), f"{show_path(error.path)}: {error.expected}")
    return NoValue(describe(observed), describe(observed))


def complaints(
    question: Question, situation: StateTransition, found: Contradiction | None, codebook: Codebook
) -> Iterator[Problem]:
    """The complaints about the reference's answer to one call; `found` is its contradiction of the contract."""
    exchange = situation.exchange
    observed: Any = exchange.observed
    where = f"{question.id}, step {exchange.step}"
    asked = next(step for step in question.calls if step.name == exchange.step)
    yield from pin_complaints(question, asked, exchange, codebook)
    if found is None:
        return
    if found.decision:
        failed = isinstance(observed, ObservedFailure)
        said = f"fails with {observed.code}" if failed else "answers with a result"
        predicted, hint = found.predicted, ""
        if found.guard and (error := evaluation_error(found.guard, situation, codebook)):
            why, hint = without_value(error)
            predicted += f" because it has no value ({why})"
        yield Problem(question.position, "V005", f"{where}: {predicted}, but the reference {said}", hint)
        return
    if found.domain:
        hint = "an input that no guard refuses is judged only inside the contract's `domain`"
        yield Problem(question.position, "V006", f"{where}: the inputs lie outside the domain", hint)
    for clause in found.postconditions:
        named = f"the postcondition {clause.id} ({clause.position})"
        if error := evaluation_error(clause, situation, codebook):
            message, hint = without_value(error)
            yield Problem(question.position, "V004", f"{where}: {named} has no value: {message}", hint)
        else:
            message = f"{where}: the reference's result breaks {named}"
            yield Problem(question.position, "V004", message, f"the result is {observed.fields!r:.300}")
    for clause in found.invariants:
        message = f"{where}: the state afterwards breaks the invariant {clause.id} ({clause.position})"
        yield Problem(question.position, "V004", message, f"the state is {situation.after!r:.300}")


def tree_complaints(question: Question, transcript: Transcript) -> Iterator[Problem]:
    """Every file left by the reference that differs from the contract's pins."""
    for name, step in looks(question.steps):
        if step.expected is None or name not in transcript.trees:
            continue
        if (apart := tree_difference(step, step.expected, transcript.trees[name])) is not None:
            shown = f"{apart.expected!r:.200}, the reference leaves {apart.actual!r:.200}"
            message = f"{question.id}, {name}: {apart.path} is pinned as {shown}"
            yield Problem(question.position, "V002", message)


def pin_complaints(
    question: Question, asked: QuestionCall, exchange: Exchange, codebook: Codebook
) -> Iterator[Problem]:
    """Every place where an answer differs from the pins of the requirement page."""
    pin, observed = asked.pin, exchange.observed
    if pin is None or not isinstance(observed, ObservedFailure | ObservedResult):
        return  # an answer that is none is a problem of its own
    if pin.failure:
        agrees = isinstance(observed, ObservedFailure) and observed.code == pin.failure
        said = [] if agrees else [f"pinned {pin.failure}, the reference gives {_answer_text(observed)}"]
    elif isinstance(observed, ObservedResult):
        said = list(_pin_differences(pin, observed.fields, codebook[asked.operator].contract.outputs))
    else:
        said = [f"pinned a result, the reference gives {_answer_text(observed)}"]
    for message in said:
        yield Problem(pin.position, "V002", f"{question.id}, step {asked.name}: {message}")


def _pin_differences(pin: Pin, fields: Mapping[str, Any], outputs: Type) -> Iterator[str]:
    for path, pinned in pin.values.items():
        try:
            actual = value_at(fields, path)
        except KeyError:
            yield f"{path} is pinned, but the reference's result has no such part"
            continue
        type_ = type_at(outputs, path)
        steps = tuple(int(step) if step.isdigit() else step for step in path.split("."))
        if isinstance(type_, ListOf) and isinstance(pinned, Mapping) and pinned.keys() <= MARKER_KEYS:
            marker = compact_list(actual, type_.item)
            wrong = next((key for key in sorted(pinned) if marker[key] != pinned[key]), None)
            if wrong is not None:
                yield f"{path} is pinned with {wrong} {pinned[wrong]!r}, the reference gives {marker[wrong]!r}"
        elif (found := first_difference(pinned, actual, type_, steps)) is not None:
            yield f"{found.path} is pinned as {found.expected!r:.200}, the reference gives {found.actual!r:.200}"


def keeps_pins(question: Question, case: Case, codebook: Codebook) -> bool:
    """Whether a frozen case agrees with the pins, and is as completely pinned as before.

    A pin that is written differently from the frozen value counts as a different value.
    """
    if question.accumulation is not None:
        assert case.accumulation is not None
        last = dict(case.accumulation.checkpoints)[question.accumulation.count]
        return bool(question.sha256_pin) == case.pinned and question.sha256_pin in ("", last)
    if any(
        isinstance(step, TreeStep) and step.expected is not None and step != frozen
        for step, frozen in zip(question.steps, case.steps, strict=True)
    ):
        return False
    answers = {step.name: step.expected for step in case.calls}
    if case.pinned != pinned_whole(question, Answers(answers)):
        return False
    return all(
        step.pin is None or _is_frozen(step.pin, answers[step.name], codebook[step.operator].contract.outputs)
        for step in question.calls
    )


def _is_frozen(pin: Pin, answer: Expected, outputs: Type) -> bool:
    if isinstance(answer, ExpectedFailure):
        return pin.failure == answer.code
    return not pin.failure and all(
        _has(answer.fields, path, value, type_at(outputs, path)) for path, value in pin.values.items()
    )


def _has(fields: Mapping[str, Any], path: str, value: Any, type_: Type) -> bool:
    try:
        frozen = value_at(fields, path)
    except KeyError:
        return False
    if isinstance(value, Mapping) and value.keys() <= MARKER_KEYS and isinstance(type_, ListOf):
        return isinstance(frozen, Mapping) and value.items() <= frozen.items()
    return bool(compact(value, type_) == frozen)


def _fixes(pin: Pin, answer: Expected) -> bool:
    """Whether a pin fixes the whole of an answer: a failure's code, or every part of a result."""
    leaves = _leaves(answer.fields) if isinstance(answer, ExpectedResult) and answer.fields else ()
    return bool(pin.failure) or all(
        any(path == name or name.startswith(f"{path}.") for path in pin.values) for name in leaves
    )


def _leaves(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and value and not value.keys() >= {"count", "sha256"}:
        for key, part in value.items():
            yield from _leaves(part, f"{path}.{key}" if path else key)
    else:
        yield path


def _answer_text(observed: Any) -> str:
    if isinstance(observed, ObservedFailure):
        return f"the failure {observed.code}"
    if isinstance(observed, ObservedResult):
        return f"the result {observed.fields!r:.200}"
    return str(observed)


def explicit_difference(question: Question, own: Answers, theirs: Answers, codebook: Codebook) -> str:
    """The first difference of a second derivation, with both values; empty if there is none."""
    ended = "" if theirs.fault is None else theirs.fault.said
    for number, step in enumerate(question.steps, start=1):
        if isinstance(step, TreeStep):
            name = label(step, number)
            if name not in theirs.trees:
                return ended or f"{name} was not reached"
            if apart := tree_difference(step, own.trees[name], theirs.trees[name]):
                return f"{name}: {apart.path} is {apart.expected!r:.200} against {apart.actual!r:.200}"
        if not isinstance(step, QuestionCall):
            continue
        answer = theirs.expected.get(step.name)
        if answer is None:
            return ended or f"step {step.name} has no answer"
        contract = codebook[step.operator].contract
        if apart := difference(own.expected[step.name], answer, contract.outputs, contract.failure):
            said = f"{apart.path} is {apart.expected!r:.200} against {apart.actual!r:.200}"
            return f"step {step.name}: {said}" if len(question.calls) > 1 else said
    return ended


def pinned_whole(question: Question, answers: Answers) -> bool:
    """Whether the pins of a question fix every answer, and every look at files, completely."""
    if any(isinstance(step, TreeStep) and step.expected is None for step in question.steps):
        return False
    return all(
        step.pin is not None and _fixes(step.pin, answers.expected[step.name]) for step in question.calls
    )


def _frozen_steps(question: Question, answers: Answers) -> Iterator[Step]:
    for number, step in enumerate(question.steps, start=1):
        match step:
            case QuestionCall():
                yield CallStep(step.name, step.operator, step.inputs, answers.expected[step.name])
            case TreeStep():
                yield replace(step, expected=answers.trees[label(step, number)])
            case _:
                yield step


def frozen_case(question: Question, answers: Answers | None, run: AccumulatedRun | None, pinned: bool) -> Case:
    """The case of a question with what was derived for it."""
    accumulation = question.accumulation
    if accumulation is not None and run is not None:
        accumulation = replace(accumulation, checkpoints=run.checkpoints)
    steps = () if answers is None else tuple(_frozen_steps(question, answers))
    return sealed(Case(**question.said, steps=steps, accumulation=accumulation, pinned=pinned))
