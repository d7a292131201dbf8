"""A backend process: started once, spoken to over stdin and stdout, its stderr kept at the edge.

One thread, one selector: reading, writing and waiting cannot deadlock, and nothing grows without bound. A process
that ends, stalls or answers garbage is lost; who was waiting learns why (DESIGN 6).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.backend.hello import BadHello, Hello, hello_from
from conformance.backend.outcome import Crash, Failure, Lost, Outcome, ProtocolError, Result, Timeout
from conformance.codec.dialect import Dialect
from conformance.codec.splitter import Garbage

_CHUNK: Final = 1 << 20
_STDERR_TAIL: Final = 4096  # bytes of stderr kept for the observations
_GRACE: Final = 2.0  # seconds between tally.bye and the end of the process


class LostBackend(Exception):
    """The process can no longer be spoken to; `reason` is the outcome of whoever caused it."""

    def __init__(self, reason: Lost) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Process:
    """One running backend process; not thread-safe, one conversation partner only."""

    def __init__(
        self,
        command: Sequence[str],
        dialect: Dialect,
        timeout: float,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.dialect, self.timeout = dialect, timeout
        self.stderr_tail = b""
        self._child = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment) if environment is not None else None,
            bufsize=0,
            start_new_session=True,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._stdin, self._stdout, self._stderr = self._child.stdin, self._child.stdout, self._child.stderr
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._writing = False
        self._splitter = dialect.splitter()
        self._outgoing = bytearray()
        self._answers: list[tuple[int, Outcome]] = []
        self._open: set[int] = set()
        self._next_id = 0
        self._progress = time.monotonic()
        self.closed = False

    # -- asking

    def hello(self) -> Hello:
        """The introduction; raises BadHello, LostBackend."""
        wanted = self.submit("tally.hello", {"protocol": 1})
        while True:
            for id_, outcome in self.wait():
                if id_ != wanted:
                    continue
                if isinstance(outcome, Result):
                    return hello_from(outcome.value)
                raise BadHello(f"tally.hello was answered by {describe(outcome)}")

    def submit(self, method: str, params: Any) -> int:
        """Queue one request; its id."""
        id_ = self._next_id
        self._next_id += 1
        if not self._open:
            self._progress = time.monotonic()
        self._open.add(id_)
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        self._outgoing += self.dialect.dump(message)
        return id_

    def wait(self) -> list[tuple[int, Outcome]]:
        """At least one answer; raises LostBackend where none can come."""
        while not self._answers:
            self._turn(self._progress + self.timeout - time.monotonic())
        answers, self._answers = self._answers, []
        return answers

    def settle(self) -> None:
        """Say goodbye and let the process end; raises LostBackend where it says anything more."""
        with contextlib.suppress(OSError):
            self._outgoing += self.dialect.dump({"jsonrpc": "2.0", "method": "tally.bye"})
        end = time.monotonic() + _GRACE
        try:
            while time.monotonic() < end:
                if not self._outgoing and not self._stdin.closed:
                    self._close_stdin()
                self._turn(end - time.monotonic(), settling=True)
        except LostBackend as lost:
            if isinstance(lost.reason, ProtocolError):
                raise
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and everything it started; safe to call twice."""
        if self.closed:
            return
        self.closed = True
        with contextlib.suppress(OSError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.kill()
        self._child.wait()
        with contextlib.suppress(OSError, ValueError):
            self._keep(self._stderr.read() or b"")
        self._selector.close()
        for stream in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                stream.close()

    # -- one turn of the loop

    def _turn(self, patience: float, settling: bool = False) -> None:
        if self._outgoing:
            self._write()
        events = self._selector.select(max(patience, 0))
        if not events and not settling:
            raise self._lost(Timeout(self.timeout))
        for key, _ in events:
            if key.fileobj is self._stdout:
                self._read()
            elif key.fileobj is self._stderr:
                self._read_stderr()

    def _write(self) -> None:
        try:
            written = os.write(self._stdin.fileno(), memoryview(self._outgoing)[:_CHUNK])
            del self._outgoing[:written]
        except BlockingIOError:
            pass
        except OSError:
            # The process closed its stdin; what it still says, or its end, tells why.
            self._outgoing.clear()
        if bool(self._outgoing) != self._writing and not self._stdin.closed:
            self._writing = not self._writing
            if self._writing:
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
            else:
                self._selector.unregister(self._stdin)

    def _close_stdin(self) -> None:
        if self._writing:
            self._selector.unregister(self._stdin)
            self._writing = False
        with contextlib.suppress(OSError):
            self._stdin.close()

    def _read(self) -> None:
        try:
            data = os.read(self._stdout.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if not data:
            raise self._lost(Crash(self._ending()))
        try:
            for message in self._splitter.feed(data):
                self._accept(message)
        except Garbage as garbage:
            raise self._lost(ProtocolError(f"{garbage.reason}: {garbage.sample!r}")) from None

    def _read_stderr(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._stderr.fileno(), _CHUNK)
            if not data:
                self._selector.unregister(self._stderr)
            self._keep(data)

    def _keep(self, data: bytes) -> None:
        self.stderr_tail = (self.stderr_tail + data)[-_STDERR_TAIL:]

    def _accept(self, message: Mapping[str, Any]) -> None:
        id_ = message.get("id")
        if type(id_) is not int or not 0 <= id_ < self._next_id:
            error = message.get("error")
            said = f" saying {error!r:.200}" if error is not None else ""
            raise self._lost(ProtocolError(f"an answer with the id {id_!r:.40}, which was never asked{said}"))
        if id_ not in self._open:
            raise self._lost(ProtocolError(f"a second answer to the request {id_}"))
        self._open.remove(id_)
        self._progress = time.monotonic()
        self._answers.append((id_, _outcome(message)))

    def _lost(self, reason: Lost) -> LostBackend:
        self.kill()
        return LostBackend(reason)

    def _ending(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_GRACE)
        status = self._child.returncode
        if status is None:
            return "it closed its stdout and went on running"
        if status < 0:
            return f"it was ended by {signal.Signals(-status).name}"
        return f"it exited with status {status}"


def _outcome(message: Mapping[str, Any]) -> Outcome:
    if message.get("jsonrpc") != "2.0":
        return ProtocolError('an answer without "jsonrpc": "2.0"')
    if ("result" in message) == ("error" in message):
        return ProtocolError("an answer must have either a result or an error")
    unknown = message.keys() - {"jsonrpc", "id", "result", "error"}
    if unknown:
        return ProtocolError(f"an answer with the unknown member {min(unknown)!r}")
    if "result" in message:
        return Result(message["result"])
    error = message["error"]
    if not isinstance(error, Mapping):
        return ProtocolError("an error that is not an object")
    return Failure(error.get("code"), error.get("message"), error.get("data"))


def describe(outcome: Outcome) -> str:
    """An outcome in a few words for people."""
    match outcome:
        case Result():
            return "a result"
        case Failure(code, message):
            return f"the failure {message!r} ({code!r})"
        case Crash(detail):
            return f"a crash: {detail}"
        case Timeout(seconds):
            return f"a timeout: no answer within {seconds:g} s"
        case ProtocolError(reason):
            return f"a protocol error: {reason}"
