"""The driver: conversations with one backend, pipelined, isolated from each other's crashes, repeatable.

A conversation is a generator. It yields a list of calls and is sent the list of their outcomes, or yields RESTART for
a new process; it returns its finding. When the process is lost, the unfinished conversations start again, each alone
in a fresh process, the one with the oldest open request first. A conversation is to blame only if the backend is lost
again. As soon as one is to blame, the others continue together (DESIGN 6).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from conformance.backend.carrier import GRACE, Carrier, InProcess, LostStandIn, StandIn, WithStandIn
from conformance.backend.command import Process
from conformance.backend.hello import BadHello, Hello, WrongHello
from conformance.backend.outcome import NOT_ASKED, Lost, LostBackend, Outcome, ProtocolError, Side, Timeout, Unsendable
from conformance.backend.resolve import BackendCommand
from conformance.backend.scheduler import (
    RESTART,
    Call,
    Conversation,
    ConversationResult,
    Pipeline,
    RestartRequest,
    Running,
    T,
    Talk,
    TimeoutBudget,
    outcomes_of,
)
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.codec.scalar import IllTyped

__all__ = ["RESTART", "Call", "Conversation", "ConversationResult", "Driver", "RestartRequest", "Talk"]

GIVE_UP_AFTER: Final = 20  # conversations lost in a row, or timeouts in total: each costs a process or a timeout
_SILENCES: Final = 5  # conversations in a row that end in a timeout: the backend no longer answers
_STARTS: Final = 3  # processes in a row without a valid hello
_PIPELINES: Final = 3  # after so many losses that no conversation repeats alone, all run one by one
_BRIEF: Final = 0.1  # seconds of grace for a backend that has ignored tally.bye before


class Driver:
    """Runs conversations with one backend; `unattributed` collects losses that no conversation repeats alone.

    A `tolerant` driver goes on after any number of crashes: each costs a process, but the findings do not depend on
    the order of the conversations. Silence costs a timeout; the driver counts it, or
    the `timeout_budget` that it shares with other drivers.

    With a `stand_in` the backend is asked only the operators that it declares: `declared`, else those of its first
    hello. Later hellos change nothing. `stand_in_losses` collects losses of the stand-in that no conversation repeats
    alone.
    """

    def __init__(
        self,
        command: BackendCommand,
        dialect: Dialect,
        codebook: Codebook,
        timeout: float,
        hello_timeout: float | None = None,
        tolerant: bool = False,
        stand_in: StandIn | None = None,
        declared: frozenset[str] | None = None,
    ) -> None:
        self.command, self.dialect, self.codebook = command, dialect, codebook
        self.timeout, self.hello_timeout, self.tolerant = timeout, hello_timeout, tolerant
        self.stand_in, self.declared = stand_in, declared
        self.unattributed: list[Lost] = []
        self.stand_in_losses: list[Lost] = []
        self.stderr_tail = b""
        self.calls = 0
        self._lost_in_a_row = 0
        self._begun = 0  # calls made before the conversation that runs alone
        self._timeouts = self._silences = 0
        self._failed_starts = 0
        self._grace = GRACE
        self._connected: tuple[Carrier, Hello] | None = None
        self.timeout_budget: TimeoutBudget | None = None

    def start(self) -> tuple[Carrier, Hello]:
        """Start a backend with its stand-in; return it after a valid hello. Raises BadHello."""
        carrier = self._carrier()
        try:
            hello = self._introduced(carrier)
        except BaseException:
            self._failed_starts += 1
            self._end(carrier)
            raise
        self._failed_starts = 0
        if self.declared is None:
            self.declared = hello.operators
        if self.stand_in is None or self.declared >= self.codebook.forms.keys():
            return carrier, hello
        return WithStandIn(carrier, self.declared, self._start_stand_in), hello

    def _introduced(self, carrier: Carrier) -> Hello:
        hello = carrier.hello()
        if (stray := self.codebook.stray_method(hello.operators)) is not None:
            method, machine = stray
            raise WrongHello(f"`operators` names {method} alone; declare {machine}, which promises all of its methods")
        promised = self.codebook.promised
        changed = None if hello.changed is None else promised(hello.changed)
        return replace(hello, operators=promised(hello.operators), changed=changed)

    def _start_stand_in(self) -> tuple[Carrier, Hello]:
        assert self.stand_in is not None
        command, timeout = self.stand_in.command, self.stand_in.timeout
        carrier = Process(command.arguments, self.dialect, timeout, command.environment, folder=command.folder)
        try:
            return carrier, self._introduced(carrier)
        except BaseException:
            carrier.kill()
            raise

    def connect(self) -> Hello:
        """Start the lasting process if none runs; return its hello. Raises BadHello."""
        self._connected = self._connected or self.start()
        return self._connected[1]

    def request(self, method: str, params: Any) -> Outcome:
        """The outcome of a request that is no call, from the lasting process; raises BadHello and LostBackend."""
        self.connect()
        assert self._connected is not None
        carrier = self._connected[0]
        try:
            carrier.submit(method, params)
            ((_, outcome),) = carrier.wait()
        except LostBackend:
            self.disconnect()
            raise
        return outcome

    def disconnect(self, settle: bool = False) -> None:
        """End the lasting process; `settle` waits for its last messages."""
        if self._connected is not None:
            carrier, self._connected = self._connected[0], None
            try:
                if settle:
                    self._settle(carrier)
            except LostBackend as lost:
                self._unattributed_loss(lost)
            finally:
                self._end(carrier)

    def run(self, conversations: Iterable[Conversation[T]], lasting: bool = False) -> Generator[ConversationResult[T]]:
        """Run every conversation; each is finished exactly once, in no particular order; no loss is raised.

        With `lasting`, conversations without restarts run in one process that later calls also use.
        """
        together: deque[Conversation[T]] = deque()
        in_step: deque[Conversation[T]] = deque()
        apart: deque[Conversation[T]] = deque()
        for conversation in conversations:
            restarting = in_step if conversation.in_step else apart
            (restarting if conversation.alone else together).append(conversation)
        while together and self._why_given_up is None:
            given_up = [one for one in together if self._given_up(one) is not None]
            for conversation in given_up:
                together.remove(conversation)
                yield self._run_alone(conversation)
            yield from self._run_together(together, lasting)
        yield from self._run_in_step(in_step)
        for conversation in (*together, *apart):
            yield self._run_alone(conversation)

    @property
    def _why_given_up(self) -> str | None:
        """The reason why the driver asks nothing more; None if it still asks."""
        if self._lost_in_a_row >= GIVE_UP_AFTER and not self.tolerant:
            return f"the backend was lost in {GIVE_UP_AFTER} conversations in a row"
        if self.timeout_budget is not None and (why := self.timeout_budget.exhausted) is not None:
            return why
        if self._silences >= _SILENCES and self.timeout_budget is None:
            return f"the backend was silent until the timeout in {_SILENCES} conversations in a row"
        if self._timeouts >= GIVE_UP_AFTER and self.timeout_budget is None:
            return f"the backend was silent until the timeout {GIVE_UP_AFTER} times"
        if self._failed_starts >= _STARTS:
            return f"{_STARTS} processes in a row said no valid hello"
        return None

    def _given_up(self, conversation: Conversation[T]) -> str | None:
        """The reason why this conversation is not started; None if it may start."""
        why = self._why_given_up
        if why is not None or self.timeout_budget is None:
            return why
        return self.timeout_budget.why_check_given_up(conversation.key)

    def _run_together(self, waiting: deque[Conversation[T]], lasting: bool) -> Iterator[ConversationResult[T]]:
        try:
            carrier, hello = (lasting and self._connected) or self.start()
        except BadHello as error:
            self._counted(error.lost)
            if lasting:
                yield self._run_alone(waiting.popleft())
            else:
                self.unattributed.append(error.lost)
            return
        limit = hello.max_in_flight if len(self.unattributed) < _PIPELINES else 1
        pipeline: Pipeline[T] = Pipeline(carrier, self.submit, limit)
        if lasting:
            self._connected = None  # until it has answered them all
        try:
            for finished in pipeline.run(waiting):
                self._lost_in_a_row = self._silences = 0
                yield finished
            if lasting:
                self._connected = (carrier, hello)
            else:
                self._settle(carrier)
        except LostBackend as lost:
            self._end(carrier)
            self._counted(lost.reason)
            yield from self._blame(lost, pipeline.interrupted(), waiting)
        finally:
            if self._connected is None or self._connected[0] is not carrier:
                self._end(carrier)

    def _run_in_step(self, conversations: Iterable[Conversation[T]]) -> Iterator[ConversationResult[T]]:
        """Run conversations that restart the process, as many processes as the one with the most restarts needs."""
        unfinished = {conversation.key: conversation for conversation in conversations}
        waiting = deque(one for one in unfinished.values() if self._given_up(one) is None)
        resumed: list[Running[T]] = []
        pipeline: Pipeline[T] | None = None
        loss: LostBackend | None = None
        while (waiting or resumed) and loss is None and self._why_given_up is None:
            carrier: Carrier | None = None
            try:
                carrier, hello = self.start()
                pipeline = Pipeline(carrier, self.submit, hello.max_in_flight)
                for finished in pipeline.run(waiting, resumed):
                    self._lost_in_a_row = self._silences = 0
                    del unfinished[finished.key]
                    yield finished
                self._settle(carrier)
                resumed = pipeline.resting
            except LostBackend as lost:
                loss = lost
            except BadHello as error:
                loss = LostBackend(error.lost)
            finally:
                if carrier is not None:
                    self._end(carrier)
        if pipeline is not None:
            pipeline.interrupted()  # closed now, so that their roots are removed before they start again
        if loss is not None:
            self._counted(loss.reason)
        guilty = False
        for conversation in unfinished.values():
            finished = self._run_alone(conversation)
            guilty = guilty or finished.lost is not None
            yield finished
        if loss is not None and not guilty:
            self._unattributed_loss(loss)

    def _blame(
        self, loss: LostBackend, interrupted: Sequence[Conversation[T]], waiting: deque[Conversation[T]]
    ) -> Iterator[ConversationResult[T]]:
        suspects, guilty = deque(interrupted), False
        # After several losses in a row, running them together would only lose the backend again.
        while suspects and not (guilty and self._lost_in_a_row < _PIPELINES):
            finished = self._run_alone(suspects.popleft())
            guilty = guilty or finished.lost is not None
            yield finished
        waiting.extendleft(reversed(suspects))
        if not guilty:
            self._unattributed_loss(loss)

    def _unattributed_loss(self, loss: LostBackend) -> None:
        (self.unattributed if loss.side is Side.BACKEND else self.stand_in_losses).append(loss.reason)

    def _run_alone(self, conversation: Conversation[T]) -> ConversationResult[T]:
        """Run one conversation in processes of its own, with as many restarts as it asks for."""
        if (why := self._given_up(conversation)) is not None:
            return ConversationResult(conversation.key, None, ProtocolError(NOT_ASKED + why), asked=False)
        talk, self._begun = conversation.start(), self.calls
        carrier: Carrier | None = None
        outcomes: list[Outcome]
        called: set[str] = set()
        try:
            request = next(talk)
            while True:
                if isinstance(request, RestartRequest):
                    if carrier is not None:
                        self._settle(carrier)
                    carrier, outcomes = None, []
                else:
                    carrier = carrier or self.start()[0]
                    outcomes = outcomes_of(carrier, self.submit, request, called)
                request = talk.send(outcomes)
        except StopIteration as end:
            try:
                if carrier is not None:
                    self._settle(carrier)
            except LostBackend as lost:
                return self._lost(conversation, lost, called, carrier)
            self._lost_in_a_row = self._silences = 0
            return ConversationResult(conversation.key, end.value, called=frozenset(called))
        except LostBackend as lost:
            return self._lost(conversation, lost, called, carrier)
        except BadHello as error:
            return self._lost(conversation, LostBackend(error.lost), called, None)
        except Unsendable as error:
            return ConversationResult(conversation.key, None, error.reason, called=frozenset(called))
        finally:
            talk.close()
            if carrier is not None:
                self._end(carrier)

    def _lost(
        self, conversation: Conversation[T], loss: LostBackend, called: set[str], carrier: Carrier | None
    ) -> ConversationResult[T]:
        reason = self._counted(loss.reason)
        self._lost_in_a_row += 1
        self._silences = self._silences + 1 if isinstance(reason, Timeout) else 0
        if self.timeout_budget is not None and isinstance(reason, Timeout):
            self.timeout_budget.silent(conversation.key)
        tail = self.stderr_tail if carrier is None else carrier.stderr_tail
        stderr = (loss.stderr if isinstance(loss, LostStandIn) else tail).decode("utf-8", "replace")
        calls = self.calls - self._begun
        return ConversationResult(
            conversation.key, None, reason, stderr, called=frozenset(called), calls=calls, side=loss.side
        )

    def _counted(self, reason: Lost) -> Lost:
        if isinstance(reason, Timeout):
            self._timeouts += 1
            if self.timeout_budget is not None:
                self.timeout_budget.timed_out()
        return reason

    def submit(self, carrier: Carrier, call: Call) -> int:
        """Queue one call on a carrier; return the id of its request. Raises Unsendable."""
        if call.operator not in self.codebook:
            raise KeyError(f"no contract describes {call.operator}; ask only what one does")
        try:
            params = self.dialect.outgoing(self.codebook[call.operator].inputs, call.inputs)
            id_ = carrier.submit(call.operator, params)
        except (IllTyped, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise Unsendable(call.operator, error) from None
        self.calls += 1
        return id_

    def _carrier(self) -> Carrier:
        if self.command.in_process:
            return InProcess(self.command.in_process, self.dialect, self.codebook)
        command = self.command
        arguments, environment = command.arguments, command.environment
        return Process(arguments, self.dialect, self.timeout, environment, self.hello_timeout, command.folder)

    def _settle(self, carrier: Carrier) -> None:
        if not carrier.settle(self._grace):
            self._grace = _BRIEF

    def _end(self, carrier: Carrier) -> None:
        carrier.kill()
        self.stderr_tail = carrier.stderr_tail or self.stderr_tail
