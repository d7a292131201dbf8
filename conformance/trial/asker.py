"""A lasting partner for lock-step questions: one process, asked batch by batch, replaced when it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from conformance.backend.carrier import Carrier
from conformance.backend.drive import Call, Driver
from conformance.backend.observed import Observed, observe
from conformance.backend.outcome import LostBackend, Outcome
from conformance.backend.resolve import BackendCommand
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect


class Asker:
    """Asks one backend; a loss is the answer to the call that causes it alone, every other call is asked again."""

    def __init__(self, command: BackendCommand, dialect: Dialect, codebook: Codebook, timeout: float) -> None:
        self._driver = Driver(command, dialect, codebook, timeout)
        self._codebook, self._dialect = codebook, dialect
        self._process: Carrier | None = None
        self._limit = 1

    def __enter__(self) -> Asker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def ask(self, calls: Sequence[Call]) -> list[Observed]:
        """What the backend makes of each call; raises BadHello where a fresh process does not introduce itself."""
        try:
            outcomes = self._outcomes(calls)
        except LostBackend as lost:
            self.close()
            outcomes = [lost.reason] if len(calls) == 1 else [self._alone(call) for call in calls]
        return [
            observe(outcome, call.operator, self._codebook, self._dialect)
            for call, outcome in zip(calls, outcomes, strict=True)
        ]

    def _alone(self, call: Call) -> Outcome:
        self.close()
        try:
            return self._outcomes([call])[0]
        except LostBackend as lost:
            return lost.reason
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
            forms = self._codebook[call.operator].inputs
            order.append(process.submit(call.operator, self._dialect.outgoing(forms, call.inputs)))
        while len(outcomes) < len(order):
            outcomes.update(process.wait())
        return [outcomes[id_] for id_ in order]
