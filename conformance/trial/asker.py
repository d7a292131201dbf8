"""A lasting partner for lock-step questions: one process, asked batch by batch, replaced when it is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from conformance.backend.carrier import Carrier
from conformance.backend.drive import Call, Driver, Restart
from conformance.backend.hello import BadHello
from conformance.backend.observed import Observed, observe
from conformance.backend.outcome import Lost, LostBackend, Outcome, Unsendable
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
