"""Asks the reference and a backend for `tally explain`: in short conversations, or in one lasting process each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from conformance.backend.driver import Call, Driver
from conformance.backend.hello import BadHello
from conformance.backend.outcome import (
    Lost,
    LostBackend,
    Observed,
    ObservedFailure,
    ObservedResult,
    ProtocolError,
    RawResult,
    Side,
    describe,
)
from conformance.backend.resolve import BackendNotFound
from conformance.backend.scheduler import Conversation, Talk
from conformance.cli.console import Complaint
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.trial.client import Asker, driver_of
from conformance.vectors.accumulate import accumulate, gap, inputs_of
from conformance.vectors.call_sequence import Inputs
from conformance.vectors.case import Accumulation, Expected, ExpectedFailure, ExpectedResult, Step
from conformance.vectors.difference import Difference, difference
from conformance.vectors.exchange import Exchange, Stage, exchanges
from conformance.vectors.state_tracking import Situation, situations

T = TypeVar("T")
_MOST_CALLS: Final = 1 << 16  # calls between two checkpoints that are compared one by one
_WIRE: Final = "json"


@dataclass(frozen=True, slots=True)
class Divergent:
    """The call of a long run that is to be explained, counted from 1."""

    number: int
    inputs: Mapping[str, Any]
    asked: str = ""  # which calls were asked to find it


@dataclass(frozen=True, slots=True)
class Interview:
    """Short conversations with any backend, each in a process of its own."""

    codebook: Codebook
    timeout: float

    @property
    def reference(self) -> str:
        """The suite's reference."""
        return self.codebook.suite.reference

    def native(self, operator: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Wire inputs as guards read them."""
        native: Mapping[str, Any] = self.codebook[operator].inputs.to_native(inputs)
        return native

    def situation(
        self, operator: str, inputs: Mapping[str, Any], observed: Observed, native: Mapping[str, Any] | None = None
    ) -> Situation:
        """One answered call as the clauses of its contract see it; `native` are its inputs with a machine's state."""
        forms = self.codebook[operator]
        result = None
        if isinstance(observed, ObservedResult):
            result = (forms.lasting or forms.outputs).to_native(observed.fields)
        return Situation(Exchange("", operator, inputs, observed), native or self.native(operator, inputs), result)

    def ask(self, backend: str, operator: str, inputs: Mapping[str, Any]) -> Observed:
        """What a backend answers to one call, whose roots are fresh; raises Complaint where it answers nothing."""

        def talk() -> Talk[Observed]:
            with Stage(self.codebook, DIALECTS[_WIRE]) as stage:
                try:
                    call = stage.call(operator, inputs)
                except KeyError as missing:
                    hint = "explain the check without --record: its earlier steps are asked again"
                    raise Complaint(
                        operator, "T003", f"the call needs the answer of the step {missing}", hint
                    ) from None
                (outcome,) = yield [call]
                return stage.note("asked", operator, inputs, outcome).observed

        return self.hold(backend, talk())

    def trace(self, steps: Sequence[Step], backend: str | None, wanted: str) -> tuple[Situation, Exchange | None]:
        """One step as the reference and the backend make it: the named one, else the first they part at, else the last.

        The backend's exchange is None where none was named or it never came so far.
        """
        dialect = DIALECTS[_WIRE]
        mine = self.hold(self.reference, exchanges(steps, self.codebook, dialect)).exchanges
        theirs: tuple[Exchange, ...] = ()
        if backend is not None:
            theirs = self.hold(backend, exchanges(steps, self.codebook, dialect)).exchanges
        found = situations(steps, mine, self.codebook)
        pairs = [(one, theirs[number] if number < len(theirs) else None) for number, one in enumerate(found)]
        if wanted:
            for one, other in pairs:
                if one.exchange.step == wanted:
                    return one, other
            known = ", ".join(one.exchange.step for one, _ in pairs)
            raise Complaint(f"--step {wanted!r}", "T003", "the trace has no such step", f"its steps are {known}")
        for one, other in pairs:
            if other is not None and one.exchange.observed != other.observed:
                return one, other
        return pairs[-1]

    def first_divergence(self, accumulation: Accumulation, backend: str | None, call: int | None) -> Divergent:
        """The first call of a long run that a backend answers otherwise than the reference; the first call without.

        With `call`, counted from 0, that one. The frozen checkpoints say between which two powers of two the runs
        part, so the reference is asked no call behind them.
        """
        if call is not None or backend is None:
            return self._call(accumulation, call or 0)
        dialect = DIALECTS[_WIRE]
        kept = range(accumulation.count) if accumulation.count <= _MOST_CALLS else ()
        found = self.hold(backend, accumulate(accumulation, self.codebook, dialect, kept))
        if found.stop is not None:
            return Divergent(found.stop.call, found.stop.inputs)
        between = gap(accumulation.checkpoints, found.checkpoints)
        if between is None:
            hint = "nothing to explain; without --backend the first call is derived"
            raise Complaint(f"--backend {backend!r}", "T008", "the whole run is right", hint, status=0)
        if between.differs - between.agreed > _MOST_CALLS:
            raise Complaint(f"--backend {backend!r}", "T008", f"{between}, too many to compare one by one")
        window = range(between.agreed, between.differs)
        short = replace(accumulation, count=between.differs, checkpoints=())
        mine = self.hold(self.reference, accumulate(short, self.codebook, dialect, window)).windows
        theirs = found.windows
        if not kept:
            theirs = self.hold(backend, accumulate(short, self.codebook, dialect, window)).windows
        asked = f"the checkpoint after {between.agreed} calls agrees" if between.agreed else "no checkpoint agrees"
        for number in window:
            if number not in theirs or theirs[number].sha256 != mine[number].sha256:
                said = f"{asked}, that after {between.differs} differs"
                return Divergent(number + 1, mine[number].inputs, said)
        raise Complaint(
            f"--backend {backend!r}", "T008", "it gave another answer when asked again: it is not pure", status=1
        )

    def _call(self, accumulation: Accumulation, number: int) -> Divergent:
        """One call of a long run; each call of a chain needs the answers before it."""
        if accumulation.generator != "chain":
            contract = self.codebook[accumulation.operator].contract
            return Divergent(number + 1, inputs_of(accumulation, contract, number))
        run = replace(accumulation, count=number + 1, checkpoints=())
        made = self.hold(self.reference, accumulate(run, self.codebook, DIALECTS[_WIRE], {number})).windows
        return Divergent(number + 1, made[number].inputs)

    def hold(self, backend: str, talk: Talk[T]) -> T:
        """Hold one conversation; raises Complaint where the backend is not there, says no hello, or is lost."""
        place = f"--backend {backend!r}"
        try:
            driver = driver_of(backend, self.codebook, self.timeout)
        except BackendNotFound as error:
            raise Complaint(place, "T001", str(error)) from None
        (finished,) = driver.hold([Conversation("interview", lambda: talk, alone=True)])
        if finished.lost is not None:
            if not finished.calls:
                _require_begun(driver, place)
            hint = "`tally run` with this backend says more"
            status = 1 if finished.side is Side.BACKEND else 2
            said = f"{finished.side.value} was lost: " if status == 2 else ""
            raise Complaint(place, "T007", said + describe(finished.lost), hint, status, finished.stderr.strip())
        if driver.declared is not None and not finished.called & driver.declared:
            message = f"it does not declare what is asked: {', '.join(sorted(finished.called))}"
            raise Complaint(place, "T008", message, "name a backend that declares the operator in its hello")
        assert finished.finding is not None
        return finished.finding


def _require_begun(driver: Driver, place: str) -> None:
    """Start a backend that was lost before any call once more; raises Complaint where its command starts none."""
    try:
        driver.start()[0].kill()
    except LostBackend:
        return
    except BadHello as error:
        if not error.begun:
            stderr = driver.stderr_tail.decode("utf-8", "replace")
            raise Complaint(place, "T002", str(error), "is the command right?", extra=stderr.strip()) from None


@dataclass(frozen=True, slots=True)
class Witness:
    """One who answers; `declared` is what its hello names, and `explains` whether it derives its answers."""

    name: str
    asker: Asker
    declared: frozenset[str]
    explains: bool = False

    def ask(self, operator: str, inputs: Inputs) -> Observed:
        """What it makes of one call; a loss is an answer too, and the next call finds a new process.

        Raises Complaint where the driver has given it up.
        """
        return next(self.ask_all(operator, [inputs]))

    def ask_all(self, operator: str, many: Sequence[Inputs]) -> Iterator[Observed]:
        """The same of many calls, which may be open at the same time."""
        for found in self.asker.ask([Call(operator, inputs) for inputs in many]):
            if isinstance(found, ProtocolError) and found.reason.startswith("not asked"):
                raise Complaint(self.name, "T007", found.reason, "shorten --timeout, or ask for one --position", 1)
            yield found

    def derivation(self, operator: str, inputs: Inputs, path: str, index: int | None) -> list[str]:
        """The lines in which it derives one output itself, none where it does not; raises LostBackend."""
        if not self.explains:
            return []
        params: dict[str, Any] = {"method": operator, "params": inputs, "path": path}
        if index is not None:
            params["index"] = str(index)
        outcome = self.asker.request("tally.explain", params)
        if isinstance(outcome, RawResult) and isinstance(outcome.value, dict):
            return list(map(str, outcome.value.get("lines", [])))
        return []


@dataclass(frozen=True, slots=True)
class Pair:
    """The reference, and the backend where one was named."""

    codebook: Codebook
    reference: Witness
    backend: Witness | None

    def required(self, operator: str) -> None:
        """Raise Complaint where the backend does not declare what is asked."""
        if self.backend is not None and operator not in self.backend.declared:
            hint = "name a backend that declares the operator in its hello"
            message = f"it does not declare what is asked: {operator}"
            raise Complaint(f"--backend {self.backend.name!r}", "T008", message, hint)

    def first_apart(self, operator: str, many: Sequence[Inputs]) -> tuple[int, Difference] | None:
        """The first of some calls that the backend answers otherwise than the reference, and where."""
        assert self.backend is not None
        contract = self.codebook[operator].contract
        answers = zip(self.reference.ask_all(operator, many), self.backend.ask_all(operator, many), strict=True)
        for number, (mine, theirs) in enumerate(answers):
            expected = expected_of(self.reference.name, mine)
            found = difference(expected, theirs, contract.outputs, contract.failure)
            if found is not None:
                return number, found
        return None


def expected_of(reference: str, observed: Observed) -> Expected:
    """What the reference said, as what is expected; raises Complaint where it said nothing."""
    match observed:
        case ObservedResult(fields):
            return ExpectedResult(fields)
        case ObservedFailure(code, data):
            return ExpectedFailure(code, data)
    said = describe(observed) if isinstance(observed, Lost) else str(observed)
    raise Complaint(reference, "T007", f"it gave no answer: {said}", "`tally run` with this backend says more")


@contextmanager
def pair_of(codebook: Codebook, backend: str | None, timeout: float) -> Iterator[Pair]:
    """Start both; raises Complaint where one cannot be started."""
    with ExitStack() as stack:

        def witness(name: str, place: str) -> Witness:
            try:
                driver = driver_of(name, codebook, timeout)
            except BackendNotFound as error:
                raise Complaint(place, "T001", str(error)) from None
            driver.tolerant = True  # a search may meet any number of calls that the backend does not survive
            try:
                hello = driver.connect()
            except BadHello as error:
                stderr = driver.stderr_tail.decode("utf-8", "replace").strip()
                status = 1 if error.begun else 2
                raise Complaint(place, "T002", str(error), "is the command right?", status, stderr) from None
            return Witness(name, stack.enter_context(Asker(driver)), hello.operators, hello.explains)

        reference = witness(codebook.suite.reference, codebook.suite.reference)
        other = None if backend is None else witness(backend, f"--backend {backend!r}")
        yield Pair(codebook, reference, other)
