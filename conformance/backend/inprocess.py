"""A `python:` backend in the harness's own process, for debuggers; nothing is isolated and nothing times out."""

from __future__ import annotations

import sys
import traceback
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.backend.answer import outcome_of
from conformance.backend.carrier import GRACE
from conformance.backend.hello import BadHello, Hello, hello_from
from conformance.backend.outcome import Crash, LostBackend, Outcome, Result, describe
from conformance.backend.session import MissingObject, Session, load_object
from conformance.backend.signature import KnownSignatures
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect


class InProcess:
    """The carrier behind --same-process; every message still crosses the wire's bytes, so values are what they are.

    A module is imported once, so what it remembers outlives a restart; a class is called anew.
    """

    def __init__(self, target: str, dialect: Dialect, codebook: Codebook) -> None:
        self._target, self._dialect, self._codebook = target, dialect, codebook
        self._session: Session | None = None
        self._asked: deque[Mapping[str, Any]] = deque()
        self._next_id = 0
        self.stderr_tail = b""  # what it prints goes where the harness prints
        self.closed = False

    @property
    def backlog(self) -> int:
        """Nothing: requests are taken one at a time."""
        return 0

    def hello(self) -> Hello:
        """The introduction; raises BadHello."""
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)
        try:
            subject = load_object(self._target)
        except MissingObject as error:
            raise BadHello(str(error)) from None
        except Exception as error:
            raise BadHello(f"{self._target!r} cannot be imported: {error!r}") from error
        self._session = Session(subject, KnownSignatures(self._codebook), self._dialect.name)
        self.submit("tally.hello", {"protocol": 1})
        try:
            ((_, outcome),) = self.wait()
        except LostBackend as lost:
            raise BadHello(f"tally.hello was answered by {describe(lost.reason)}") from lost
        if isinstance(outcome, Result):
            return hello_from(outcome.value)
        raise BadHello(f"tally.hello was answered by {describe(outcome)}")

    def submit(self, method: str, params: Any) -> int:
        """Remember one request; its id."""
        id_ = self._next_id
        self._next_id += 1
        self._asked.append({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return id_

    def wait(self) -> list[tuple[int, Outcome]]:
        """The answer to the oldest request; raises LostBackend, from what the object raised."""
        assert self._session is not None, "hello comes first"
        request = self._asked.popleft()
        try:
            answer = self._session.answer(self._carried(request))
            assert answer is not None, "every request has an id"
            return [(request["id"], outcome_of(self._carried(answer)))]
        except Exception as error:
            traceback.print_exc()
            raise LostBackend(Crash(f"it raised {type(error).__name__}")) from error

    def settle(self, grace: float = GRACE) -> bool:
        """Forget the object."""
        self.kill()
        return True

    def kill(self) -> None:
        """Forget the object."""
        self.closed = True
        self._session = None
        self._asked.clear()

    def _carried(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        (carried,) = self._dialect.splitter().feed(self._dialect.dump(message))
        return carried
