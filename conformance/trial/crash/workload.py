"""A workload of a contract: its calls, its roots, the steps to ask, and which write each answer acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.backend.outcome import BadAnswer, ObservedFailure, ObservedResult, RawResult, describe, observe
from conformance.backend.scheduler import Call, Talk
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect, Garbage, Splitter
from conformance.contract.library import Library
from conformance.contract.model import Contract, Workload
from conformance.contract.types import ROOT, members_of
from conformance.trial.crash.operation import snapshot
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.crash.states import CrashModel
from conformance.trial.crash.strace import Event
from conformance.vectors.conversation.exchange import resolve
from conformance.vectors.draft import Draft, Reference, YamlPlace
from conformance.vectors.files.temp_roots import fault_of
from conformance.vectors.leaf import UnknownPath, type_at, value_at


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """One call."""

    name: str
    operator: str
    inputs: Mapping[str, Any]  # JSON wire form; {"from": "step.path"} for what an earlier step answered
    roots: Mapping[str, str]  # which inputs are roots, and which
    acknowledged: bool = True
    # The answers that mean that the data does not exist: a failure code, or fields of a result or record by path.
    absent: tuple[str | Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class HarnessRead:
    """A read by the harness itself: the digests of files of a root, by path."""

    name: str
    root: str
    files: str  # a pattern for the whole path below the root, as fnmatch reads it
    where: str = ""  # an earlier read; if that is absent, so is this


@dataclass(frozen=True, slots=True)
class InitialFile:
    """A file that exists before the recording."""

    root: str
    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class CrashWorkload:
    """A workload made ready: the recorded steps, those of the recovery, and the reads after it."""

    id: str  # OPERATOR%name
    why: str
    level: CrashModel
    before: tuple[WorkloadStep | InitialFile, ...]
    steps: tuple[WorkloadStep, ...]
    recover: tuple[WorkloadStep, ...]
    verify: tuple[WorkloadStep | HarnessRead, ...]
    requirements: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()

    @property
    def roots(self) -> tuple[str, ...]:
        """Every root that a step names."""
        names: dict[str, None] = {}
        for step in (*self.before, *self.steps, *self.recover, *self.verify):
            names |= dict.fromkeys(step.roots.values() if isinstance(step, WorkloadStep) else (step.root,))
        return tuple(names)

    @property
    def operators(self) -> frozenset[str]:
        """Every operator that a backend must have: those of the recorded steps; a stand-in answers the others."""
        return frozenset(step.operator for step in self.steps)

    @property
    def recovery(self) -> tuple[WorkloadStep, ...]:
        """The calls that recover a tree: the reads where no step is named for it."""
        return self.recover or tuple(step for step in self.verify if isinstance(step, WorkloadStep))

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the reads."""
        return tuple(step.name for step in self.verify)

    def floor(self, answers: int) -> int:
        """The last version that must not be lost once so many steps are answered."""
        kept = [k + 1 for k, step in enumerate(self.steps[:answers]) if step.acknowledged]
        return max(kept, default=0)


def crash_workloads(library: Library, codebook: Codebook) -> Iterator[CrashWorkload]:
    """Every workload of a library; raises Unusable."""
    for _, contract in sorted(library.contracts.items()):
        for workload in contract.workloads:
            yield workload_of(contract, workload, codebook)


def workload_of(contract: Contract, workload: Workload, codebook: Codebook) -> CrashWorkload:
    """One workload made ready; raises Unusable."""
    builder = _Builder(contract, codebook, YamlPlace(contract.source, workload.path), workload.body)
    return CrashWorkload(
        id=f"{contract.operator}%{workload.name}",
        why=workload.why,
        level=CrashModel[workload.level.upper()],
        before=tuple(step for step in builder.steps("before") if not isinstance(step, HarnessRead)),
        steps=builder.calls("steps"),
        recover=builder.calls("recover"),
        verify=tuple(step for step in builder.steps("verify") if not isinstance(step, InitialFile)),
        requirements=workload.requirements,
        rulings=workload.rulings,
    )


@dataclass(frozen=True, slots=True)
class _Builder:
    contract: Contract
    codebook: Codebook
    place: YamlPlace
    body: Mapping[str, Any]

    def steps(self, key: str) -> Iterator[WorkloadStep | HarnessRead | InitialFile]:
        """The steps under a key, in order; their names differ."""
        earlier: dict[str, str] = {}
        for k, body in enumerate(self.body.get(key, ())):
            place = self.place / key / k
            if "put" in body:
                yield _put_of(body["put"], place / "put")
                continue
            name = body["step"]
            if name in earlier:
                raise (place / "step").problem("C011", f"the step {name!r} occurs twice", "rename one")
            if "tree" in body:
                where = body["tree"].get("where", "")
                if where and where not in earlier:
                    raise (place / "tree" / "where").problem("C010", f"{where!r} names no earlier step", "name a read")
                earlier[name] = ""
                yield HarnessRead(name, body["tree"]["root"], body["tree"]["files"], where)
            else:
                step = self.step(body, place, earlier)
                earlier[name] = step.operator
                yield step

    def calls(self, key: str) -> tuple[WorkloadStep, ...]:
        return tuple(step for step in self.steps(key) if isinstance(step, WorkloadStep))

    def step(self, body: Mapping[str, Any], place: YamlPlace, earlier: Mapping[str, str]) -> WorkloadStep:
        operator = body.get("call", self.contract.operator)
        if operator not in self.codebook:
            raise (place / "call").problem("C014", f"unknown operator {operator!r}", "name a contract of this library")
        contract = self.codebook[operator].contract
        draft = Draft(contract)
        if "base" in body:
            draft.base(body["base"], place / "base")
        draft.apply(body, place)
        for path, text in body.get("use", {}).items():
            self.require_answer(text, earlier, place / "use" / path)
            draft.set(path, Reference(text), place / "use" / path)
        inputs = draft.wire(place)
        roots = {name: inputs[name][ROOT] for name in members_of(contract.inputs, ROOT) if name in inputs}
        return WorkloadStep(
            body["step"], operator, inputs, roots, body.get("acknowledged", True), tuple(body.get("absent", ()))
        )

    def require_answer(self, text: str, earlier: Mapping[str, str], place: YamlPlace) -> None:
        """Refuse a reference to an answer that no earlier step of the same list gives."""
        step, _, output = text.partition(".")
        if not earlier.get(step) or not output:
            known = ", ".join(earlier) or "none"
            raise place.problem("C010", f"{text!r} names no earlier step", f"write step.output; calls so far: {known}")
        try:
            type_at(self.codebook[earlier[step]].contract.outputs, output)
        except UnknownPath as error:
            raise place.problem("C010", f"{earlier[step]} has no output {output!r}", error.hint) from None


def _put_of(body: Mapping[str, Any], place: YamlPlace) -> InitialFile:
    path = body["path"]
    if fault_of(path):
        hint = "write a relative path without `.` and `..`"
        raise (place / "path").problem("C009", f"the path {path!r} leaves its root", hint)
    try:
        content = bytes.fromhex(body["bytes"]) if "bytes" in body else body["text"].encode()
    except ValueError:
        raise (place / "bytes").problem("C009", "not hexadecimal", "two digits for each byte") from None
    return InitialFile(body["root"], path, content)


class AnswerKind(Enum):
    """The kinds of answers to a step."""

    RESULT = "a result"
    ABSENT = "nothing there"
    FAILURE = "a failure"
    BAD = "an ill-typed answer"
    UNASKED = "no call, because an earlier answer is missing"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one step; the value is the fields of a result, the code and record of a failure, or a sentence."""

    kind: AnswerKind
    value: Any = None

    @property
    def usable(self) -> bool:
        """Whether it is a result, or a failure that means "absent"."""
        return self.kind in (AnswerKind.RESULT, AnswerKind.ABSENT)

    def __str__(self) -> str:
        text = "" if self.value is None else f" {self.value}"
        return f"{self.kind.value}{text if len(text) <= 200 else text[:200] + '...'}"


@dataclass(frozen=True, slots=True)
class WorkloadClient:
    """Asks the steps of a workload and reads the answers; the folder that it is given contains the roots."""

    codebook: Codebook
    dialect: Dialect

    def ask(
        self,
        steps: Sequence[WorkloadStep | HarnessRead | InitialFile],
        folder: Path,
        goes_on: Callable[[WorkloadStep, Answer], bool] = lambda step, answer: True,
    ) -> Talk[tuple[Answer, ...]]:
        """The answers to the steps in order, until `goes_on` stops after a call."""
        given: dict[str, Any] = {}
        answers: list[Answer] = []
        absent: set[str] = set()
        for step in steps:
            if isinstance(step, InitialFile):
                answers.append(_put_file(step, folder))
                continue
            if isinstance(step, HarnessRead):
                answer = Answer(AnswerKind.ABSENT) if step.where in absent else _look(step, folder)
            else:
                answer = yield from self._call(step, folder, given)
            answers.append(answer)
            if answer.kind is AnswerKind.ABSENT:
                absent.add(step.name)
            if isinstance(step, WorkloadStep) and not goes_on(step, answer):
                break
        return tuple(answers)

    def _call(self, step: WorkloadStep, folder: Path, given: dict[str, Any]) -> Talk[Answer]:
        """The answer to one call; `given` collects the results by step."""
        roots = {name: str(folder / root) for name, root in step.roots.items()}

        def answer(reference: Mapping[str, str]) -> Any:
            earlier, _, path = reference["from"].partition(".")
            return value_at(given[earlier], path)

        try:
            call = Call(step.operator, {**resolve(step.inputs, answer, {}), **roots})
        except KeyError:
            return Answer(AnswerKind.UNASKED)
        (outcome,) = yield [call]
        if isinstance(outcome, RawResult):
            given[step.name] = outcome.value
        return self.answer(step, outcome)

    def answer(self, step: WorkloadStep, outcome: Any) -> Answer:
        """An outcome read by its contract; ABSENT if the step lists it among the `absent` answers."""
        observed = observe(outcome, step.operator, self.codebook, self.dialect)
        if isinstance(observed, ObservedResult):
            said = Answer(AnswerKind.RESULT, observed.fields)
        elif isinstance(observed, ObservedFailure):
            said = Answer(AnswerKind.FAILURE, {"code": observed.code, **observed.data})
        elif isinstance(observed, BadAnswer):
            return Answer(AnswerKind.BAD, str(observed.error))
        else:
            return Answer(AnswerKind.BAD, describe(observed))
        return Answer(AnswerKind.ABSENT) if any(_means(said, sign) for sign in step.absent) else said


def _look(step: HarnessRead, folder: Path) -> Answer:
    """The digests of the files that a look names; no file is ABSENT."""
    digests = snapshot(folder / step.root).digests()
    found = {path: digest for path, digest in digests.items() if digest and fnmatchcase(path, step.files)}
    return Answer(AnswerKind.RESULT, found) if found else Answer(AnswerKind.ABSENT)


def _put_file(step: InitialFile, folder: Path) -> Answer:
    """Write a file, and make the folders above it."""
    file = folder / step.root / step.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(step.content)
    return Answer(AnswerKind.RESULT)


def _means(said: Answer, sign: str | Mapping[str, Any]) -> bool:
    if isinstance(sign, str):
        return said.kind is AnswerKind.FAILURE and said.value["code"] == sign
    try:
        return all(value_at(said.value, path) == value for path, value in sign.items())
    except KeyError:
        return False


_WRITES = ("write", "writev")
_CHANNELS = ("pipe:", "socket:", "UNIX")


def answers_by_event(events: Sequence[Event], dialect: Dialect, wanted: int) -> dict[int, int]:
    """How many answers are complete after a write, by the write's index; raises Untraceable where any is missing.

    The answer to tally.hello is none. The wire is whichever channel carries messages with the ids 0, 1, 2, ...; of
    several, an answer counts where it is written first.
    """
    splitters: dict[str, Splitter | None] = {}
    found: dict[str, dict[int, int]] = {}
    for index, event in enumerate(events):
        if event.name not in _WRITES or event.result <= 0:
            continue
        channel = event.descriptor(0).path
        if not channel.startswith(_CHANNELS):
            continue
        splitter = splitters.setdefault(channel, dialect.splitter())
        if splitter is None:
            continue
        try:
            messages = list(splitter.feed(b"".join(event.strings())[: event.result]))
        except Garbage:
            splitters[channel] = None
            continue
        for message in messages:
            id_ = message.get("id")
            if type(id_) is int and id_ >= 0 and ("result" in message or "error" in message):
                found.setdefault(channel, {})[index] = id_
    wires = [answers for answers in found.values() if max(answers.values(), default=0) == wanted]
    if not wires:
        raise Untraceable("the answers on stdout were not written with write or writev")
    first: dict[int, int] = {}
    for index, count in sorted(pair for answers in wires for pair in answers.items()):
        first.setdefault(count, index)
    return {index: count for count, index in first.items() if count}
