"""The reference and a backend, which `tally explain` asks the same calls, in a lasting process each or in new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from conformance.backend.driver import Call
from conformance.backend.hello import BadHello, Hello
from conformance.backend.outcome import (
    NOT_ASKED,
    Lost,
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
from conformance.cli.console import CommandError
from conformance.codec.codebook import Codebook
from conformance.trial.client import Client, driver_of
from conformance.vectors.call_sequence import Inputs
from conformance.vectors.case import Accumulation, Expected, ExpectedFailure, ExpectedResult, Step
from conformance.vectors.conversation.accumulate import accumulate, gap, inputs_of
from conformance.vectors.conversation.difference import Difference, difference
from conformance.vectors.conversation.exchange import ConversationContext, Exchange, exchanges
from conformance.vectors.conversation.state_tracking import StateTransition, situations

T = TypeVar("T")
_MOST_CALLS: Final = 1 << 16  # at most so many calls between two checkpoints are compared one by one
_MORE: Final = "`tally run` with this backend says more"


class LazyBackend:
    """A backend that starts at its first call; `place` is its name in complaints."""

    def __init__(self, name: str, place: str, codebook: Codebook, timeout: float) -> None:
        self.name, self.place, self.codebook = name, place, codebook
        try:
            self._driver = driver_of(name, codebook, timeout)
        except BackendNotFound as error:
            raise CommandError(place, "T001", str(error)) from None
        self._driver.tolerant = True  # a search may ask many calls that crash the backend
        self.client = Client(self._driver)
        self._hello: Hello | None = None

    def hello(self) -> Hello:
        """The hello of its first lasting process; raises CommandError."""
        try:
            self._hello = self._hello or self._driver.connect()
        except BadHello as error:
            raise self._unfit(error, 1 if error.begun else 2) from None
        return self._hello

    def _unfit(self, error: BadHello, status: int) -> CommandError:
        stderr = self._driver.stderr_tail.decode("utf-8", "replace").strip()
        return CommandError(self.place, "T002", str(error), "is the command right?", status, stderr)

    def ask(self, operator: str, inputs: Inputs) -> Observed:
        """The outcome of one call; a loss is an outcome too, and the next call gets a new process.

        Raises CommandError if the driver has given up.
        """
        return next(self.ask_all(operator, [inputs]))

    def ask_all(self, operator: str, many: Sequence[Inputs]) -> Iterator[Observed]:
        """The outcomes of many calls, which may be open at the same time."""
        self.hello()
        for found in self.client.ask([Call(operator, inputs) for inputs in many]):
            if isinstance(found, ProtocolError) and found.reason.startswith(NOT_ASKED):
                raise CommandError(self.name, "T007", found.reason, "shorten --timeout, or ask for one --position", 1)
            yield found

    def derivation(self, operator: str, inputs: Inputs, path: str, index: int | None) -> list[str]:
        """The lines in which the backend derives one output, empty if it does not; raises LostBackend."""
        if not self.hello().explains:
            return []
        params: dict[str, Any] = {"method": operator, "params": inputs, "path": path}
        if index is not None:
            params["index"] = str(index)
        outcome = self._driver.request("tally.explain", params)
        if isinstance(outcome, RawResult) and isinstance(outcome.value, dict):
            return list(map(str, outcome.value.get("lines", [])))
        return []

    def answer(self, operator: str, inputs: Inputs) -> Observed:
        """The answer to one call in a new process with new roots; raises CommandError if there is none."""

        def talk() -> Talk[Observed]:
            with ConversationContext(self.codebook, self.client.dialect) as stage:
                try:
                    call = stage.call(operator, inputs)
                except KeyError as missing:
                    hint = "explain the check without --record: its earlier steps are asked again"
                    message = f"the call needs the answer of the step {missing}"
                    raise CommandError(operator, "T003", message, hint) from None
                (outcome,) = yield [call]
                return stage.note("asked", operator, inputs, outcome).observed

        return self.run(talk)

    def exchanges(self, steps: Sequence[Step]) -> Sequence[Exchange]:
        """The answers to the steps of a trace; raises CommandError if the backend is lost."""
        return self.run(lambda: exchanges(steps, self.codebook, self.client.dialect)).exchanges

    def run(self, start: Callable[[], Talk[T]]) -> T:
        """Run one conversation in a new process; raises CommandError if the backend is lost or gives no hello."""
        driver = self._driver
        (finished,) = driver.run([Conversation("interview", start, alone=True)])
        if finished.lost is not None:
            if not finished.calls:
                self._require_begun()
            status = 1 if finished.side is Side.BACKEND else 2
            said = f"{finished.side.value} was lost: " if status == 2 else ""
            message = said + describe(finished.lost)
            raise CommandError(self.place, "T007", message, _MORE, status, finished.stderr.strip())
        if driver.declared is not None and not finished.called & driver.declared:
            raise undeclared(self.place, *finished.called)
        assert finished.finding is not None
        return finished.finding

    def _require_begun(self) -> None:
        """Start a backend again that was lost before any call; raises CommandError if its command starts none."""
        try:
            self._driver.start()[0].kill()
        except BadHello as error:
            if not error.begun:
                raise self._unfit(error, 2) from None


def undeclared(place: str, *operators: str) -> CommandError:
    """A backend does not declare the operator of a call."""
    message = f"it does not declare what is asked: {', '.join(sorted(operators))}"
    return CommandError(place, "T008", message, "name a backend that declares the operator in its hello")


@dataclass(frozen=True, slots=True)
class ExplainedCall:
    """One call to explain, and the known answers."""

    operator: str
    inputs: Mapping[str, Any]
    note: str = ""  # where the call comes from
    mine: Observed | None = None  # the reference's answer
    theirs: Observed | None = None
    native: Mapping[str, Any] | None = None  # in a trace: the inputs, with the state of the machine before the call


@dataclass(frozen=True, slots=True)
class BackendPair:
    """The reference, and the backend if one was named."""

    codebook: Codebook
    reference: LazyBackend
    backend: LazyBackend | None

    def required(self, operator: str) -> None:
        """Raise CommandError if the backend does not declare an operator."""
        if self.backend is not None and operator not in self.backend.hello().operators:
            raise undeclared(self.backend.place, operator)

    def native(self, operator: str, inputs: Inputs) -> Inputs:
        """Wire inputs in the form that guards read."""
        native: Inputs = self.codebook[operator].inputs.to_native(inputs)
        return native

    def difference(self, operator: str, mine: Observed, theirs: Observed) -> Difference | None:
        """The first difference between the answers of backend and reference."""
        contract = self.codebook[operator].contract
        return difference(self.expected(mine), theirs, contract.outputs, contract.failure)

    def expected(self, observed: Observed) -> Expected:
        """The answer of the reference as an expectation; raises CommandError if it gave none."""
        match observed:
            case ObservedResult(fields):
                return ExpectedResult(fields)
            case ObservedFailure(code, data):
                return ExpectedFailure(code, data)
        said = describe(observed) if isinstance(observed, Lost) else str(observed)
        raise CommandError(self.reference.name, "T007", f"it gave no answer: {said}", _MORE)

    def first_different_call(self, operator: str, many: Sequence[Inputs]) -> tuple[int, Difference] | None:
        """The first of some calls with different answers of backend and reference, and the difference."""
        assert self.backend is not None
        answers = zip(self.reference.ask_all(operator, many), self.backend.ask_all(operator, many), strict=True)
        for number, (mine, theirs) in enumerate(answers):
            if (found := self.difference(operator, mine, theirs)) is not None:
                return number, found
        return None

    def situation(
        self, operator: str, inputs: Inputs, observed: Observed, native: Inputs | None = None
    ) -> StateTransition:
        """One answered call in the form that clauses read; `native` are its inputs with a machine's state."""
        forms = self.codebook[operator]
        result = None
        if isinstance(observed, ObservedResult):
            result = (forms.lasting or forms.outputs).to_native(observed.fields)
        return StateTransition(
            Exchange("", operator, inputs, observed), native or self.native(operator, inputs), result
        )

    def trace(self, steps: Sequence[Step], wanted: str) -> ExplainedCall:
        """One step, made by both: the named one, else the first with different answers, else the last."""
        found = list(situations(steps, self.reference.exchanges(steps), self.codebook))
        theirs = () if self.backend is None else self.backend.exchanges(steps)
        names = [one.exchange.step for one in found]
        if wanted and wanted not in names:
            hint = f"its steps are {', '.join(names)}"
            raise CommandError(f"--step {wanted!r}", "T003", "the trace has no such step", hint)
        apart = (k for k, other in enumerate(theirs[: len(found)]) if found[k].exchange.observed != other.observed)
        k = names.index(wanted) if wanted else next(apart, len(found) - 1)
        mine, note = found[k].exchange, f"step {names[k]}"
        other = theirs[k].observed if k < len(theirs) else None
        return ExplainedCall(mine.operator, mine.inputs, note, mine.observed, other, found[k].inputs)

    def first_divergence(self, accumulation: Accumulation, call: int | None) -> ExplainedCall:
        """The first call of a long run with different answers; without a backend, the first call.

        With `call`, counted from 0, that call. The frozen checkpoints show between which two powers of two the runs
        part, so the reference is asked no later call.
        """
        backend, codebook, dialect = self.backend, self.codebook, self.reference.client.dialect
        if call is not None or backend is None:
            return self._call(accumulation, call or 0)
        kept = range(accumulation.count) if accumulation.count <= _MOST_CALLS else ()
        found = backend.run(lambda: accumulate(accumulation, codebook, dialect, kept))
        if found.stop is not None:
            return _of_run(accumulation, found.stop.call, found.stop.inputs)
        between = gap(accumulation.checkpoints, found.checkpoints)
        if between is None:
            hint = "nothing to explain; without --backend the first call is derived"
            raise CommandError(backend.place, "T008", "the whole run is right", hint, status=0)
        if between.differs - between.agreed > _MOST_CALLS:
            raise CommandError(backend.place, "T008", f"{between}, too many to compare one by one")
        window = range(between.agreed, between.differs)
        short = replace(accumulation, count=between.differs, checkpoints=())

        def asked_again() -> Talk[Any]:
            return accumulate(short, codebook, dialect, window)

        mine = self.reference.run(asked_again).windows
        theirs = found.windows if kept else backend.run(asked_again).windows
        asked = f"the checkpoint after {between.agreed} calls agrees" if between.agreed else "no checkpoint agrees"
        for number in window:
            if number not in theirs or theirs[number].sha256 != mine[number].sha256:
                said = f"; {asked}, that after {between.differs} differs"
                return _of_run(accumulation, number + 1, mine[number].inputs, said)
        raise CommandError(backend.place, "T008", "it gave another answer when asked again: it is not pure", status=1)

    def _call(self, accumulation: Accumulation, number: int) -> ExplainedCall:
        """One call of a long run; each call of a chain needs the answers before it."""
        if accumulation.generator != "chain":
            contract = self.codebook[accumulation.operator].contract
            return _of_run(accumulation, number + 1, inputs_of(accumulation, contract, number))
        run = replace(accumulation, count=number + 1, checkpoints=())
        dialect = self.reference.client.dialect
        made = self.reference.run(lambda: accumulate(run, self.codebook, dialect, {number})).windows
        return _of_run(accumulation, number + 1, made[number].inputs)


def _of_run(run: Accumulation, number: int, inputs: Inputs, asked: str = "") -> ExplainedCall:
    """The call of a long run, counted from 1; `asked` names the calls that were asked to find it."""
    return ExplainedCall(run.operator, inputs, f"call {number} of {run.count}{asked}")


@contextmanager
def pair_of(codebook: Codebook, backend: str | None, timeout: float) -> Iterator[BackendPair]:
    """Both backends for a block; raises CommandError if one cannot start."""
    name = codebook.suite.reference
    reference = LazyBackend(name, name, codebook, timeout)
    with reference.client:
        if backend is None:
            yield BackendPair(codebook, reference, None)
            return
        other = LazyBackend(backend, f"--backend {backend!r}", codebook, timeout)
        with other.client:
            yield BackendPair(codebook, reference, other)
