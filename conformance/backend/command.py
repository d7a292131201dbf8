"""A backend process: requests go to its stdin, answers come from its stdout, the end of its stderr is kept.

One thread, one poll: reading, writing and waiting cannot deadlock, and nothing grows without bound. A process
that ends, stalls or answers garbage is lost, and each waiting caller gets the reason (DESIGN 6).

A timeout limits the silence, not the single call: `wait` allows `timeout` seconds until the next answer to any
request, and the clock runs only while the harness waits. So no request is blamed for others before it in the queue, and
time that the harness spends elsewhere does not count. Only an answer starts the clock again: stderr, half a message or
a slow reader do not.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from conformance.backend.carrier import GRACE
from conformance.backend.guardian import guardian
from conformance.backend.hello import BadHello, Hello, WrongHello, hello_from
from conformance.backend.outcome import (
    STDOUT_IS_WIRE,
    Crash,
    Lost,
    LostBackend,
    Outcome,
    ProtocolError,
    RawResult,
    Timeout,
    describe,
    outcome_of,
    unexpected_message,
    unfinished,
)
from conformance.backend.resolve import BackendNotFound
from conformance.codec.framing import MAX_MESSAGE, Dialect, Garbage

# Windows has neither: there the module can be imported, but it starts no process.
with contextlib.suppress(ModuleNotFoundError):
    import fcntl
    import termios

_CHUNK: Final = 1 << 18
_STDERR_TAIL: Final = 4096  # bytes of stderr kept for the observations
_LOOK: Final = 0.1  # seconds between two checks that the process lives; its children may keep stdout open
_DEAF: Final = "it closed its stdout and went on running"


class Process:
    """One running backend process; not thread-safe, one conversation partner only."""

    def __init__(
        self,
        command: Sequence[str],
        dialect: Dialect,
        timeout: float,
        environment: Mapping[str, str] | None = None,
        hello_timeout: float | None = None,
        folder: Path | None = None,
    ) -> None:
        self.dialect, self.timeout = dialect, timeout
        self.hello_timeout = timeout if hello_timeout is None else hello_timeout
        self.stderr_tail = b""
        self._child = _started(command, environment, folder)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._stdin = self._child.stdin
        self._streams = (self._stdin, self._child.stdout, self._child.stderr)
        self._sink, self._source, self._complaints = (stream.fileno() for stream in self._streams)
        for descriptor in (self._sink, self._source, self._complaints):
            os.set_blocking(descriptor, False)
        _widen(self._source)
        self._poll = select.poll()
        self._poll.register(self._source, select.POLLIN)
        self._poll.register(self._complaints, select.POLLIN)
        self._writing = False
        self._splitter = dialect.splitter()
        # Every read fills it again: a new bytes object of this size costs 8 µs, the rest of a read 1 µs.
        self._room = memoryview(bytearray(_CHUNK))
        self._outgoing = bytearray()
        self._answers: list[tuple[int, Outcome]] = []
        self._open: set[int] = set()
        self._next_id = 0
        self._written = 0
        self._begun = False  # after its end: whether it read or wrote anything
        self._grace = GRACE
        self.closed = False

    # -- asking

    def hello(self) -> Hello:
        """The introduction; raises BadHello, which carries the end of stderr."""
        self.submit("tally.hello", {"protocol": 1})
        try:
            ((_, outcome),) = self._wait(self.hello_timeout)
            if isinstance(outcome, RawResult):
                return hello_from(outcome.value, self.dialect.name)
            raise WrongHello(f"tally.hello was answered by {describe(outcome)}")
        except LostBackend as lost:
            raise self._no_hello(lost.reason) from None
        except BadHello as error:
            self.kill()
            raise type(error)(str(error), error.lost, self._stderr_text()) from None

    def submit(self, method: str, params: Any) -> int:
        """Queue one request; return its id. Raises ValueError, TypeError, RecursionError if no message can have it."""
        id_ = self._next_id
        message = self.dialect.dump({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        if len(message) > MAX_MESSAGE:
            raise ValueError(f"it has {len(message)} bytes, more than {MAX_MESSAGE}")
        self._next_id += 1
        self._open.add(id_)
        self._outgoing += message
        return id_

    @property
    def backlog(self) -> int:
        """The number of bytes of requests that the process has not read yet."""
        return len(self._outgoing)

    def wait(self) -> list[tuple[int, Outcome]]:
        """Wait for at least one answer; raises LostBackend if none can come."""
        return self._wait(self.timeout)

    def _wait(self, timeout: float) -> list[tuple[int, Outcome]]:
        end = time.monotonic() + timeout
        while not self._answers:
            self._turn(end)
            if not self._answers and time.monotonic() >= end:
                raise self._lost(Timeout(timeout, self._splitter.unfinished()))
        answers, self._answers = self._answers, []
        return answers

    def settle(self, grace: float = GRACE) -> bool:
        """Send tally.bye; return whether the process then ended. Raises LostBackend if it sends another message."""
        self._outgoing += self.dialect.dump({"jsonrpc": "2.0", "method": "tally.bye"})
        end = time.monotonic() + grace
        self._grace = grace
        try:
            while time.monotonic() < end:
                if not self._outgoing:
                    self._close_stdin()
                self._turn(end)
        except LostBackend as lost:
            if isinstance(lost.reason, ProtocolError):
                raise
            if begun := self._splitter.unfinished():
                raise LostBackend(ProtocolError(f"the beginning of a message after tally.bye: {begun!r}")) from None
            return True
        finally:
            self.kill()
        return False

    def kill(self) -> None:
        """End the process and everything that it started in its session; safe to call twice."""
        if self.closed:
            return
        self.closed = True
        # This comes before the process is reaped: afterwards its number may belong to another process.
        with contextlib.suppress(OSError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.kill()
        guardian().forget(self._child.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(GRACE)
        # Read only once: a process that left its session may keep writing.
        with contextlib.suppress(OSError, ValueError):
            self._keep(os.read(self._complaints, 1 << 20))
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.close()

    # -- one turn of the loop

    def _turn(self, end: float) -> None:
        if self._outgoing:
            self._write()
        heard = False
        for ready, _ in self._poll.poll(1000 * min(max(end - time.monotonic(), 0), _LOOK)):
            if ready == self._source:
                heard = True
                self._read()
            elif ready == self._complaints:
                self._read_stderr()
        if not heard and self._has_ended():
            while not self._answers and self._read():
                pass
            if not self._answers:
                raise self._ended()

    def _write(self) -> None:
        try:
            with memoryview(self._outgoing) as view:
                written = os.write(self._sink, view[:_CHUNK])
            del self._outgoing[:written]
            self._written += written
        except BlockingIOError:
            pass
        except OSError:
            # The process closed its stdin; its next output, or its end, tells why.
            self._outgoing.clear()
        if bool(self._outgoing) != self._writing:
            self._writing = not self._writing
            if self._writing:
                self._poll.register(self._sink, select.POLLOUT)
            else:
                self._poll.unregister(self._sink)

    def _close_stdin(self) -> None:
        if self._stdin.closed:
            return
        if self._writing:
            self._poll.unregister(self._sink)
            self._writing = False
        with contextlib.suppress(OSError):
            self._stdin.close()

    def _read(self) -> bool:
        """Read the bytes on stdout; return whether there were any."""
        try:
            count = os.readv(self._source, [self._room])
        except BlockingIOError:
            return False
        if not count:
            raise self._ended()
        self._begun = True
        try:
            for message in self._splitter.feed(bytes(self._room[:count])):
                self._accept(message)
        except Garbage as garbage:
            raise self._lost(ProtocolError(f"{garbage.reason}: {garbage.sample!r}; {STDOUT_IS_WIRE}")) from None
        return True

    def _read_stderr(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._complaints, _CHUNK)
            if not data:
                self._poll.unregister(self._complaints)
            self._keep(data)

    def _keep(self, data: bytes) -> None:
        self.stderr_tail = (self.stderr_tail + data)[-_STDERR_TAIL:]

    def _accept(self, message: Mapping[str, Any]) -> None:
        id_ = message.get("id")
        if type(id_) is not int or id_ not in self._open:
            if type(id_) is int and 0 <= id_ < self._next_id:
                raise self._lost(ProtocolError(f"a second answer to the request {id_}"))
            raise self._lost(unexpected_message(message))
        self._open.remove(id_)
        self._answers.append((id_, outcome_of(message)))

    # -- the end

    def _lost(self, reason: Lost) -> LostBackend:
        self.kill()
        return LostBackend(reason)

    def _has_ended(self) -> bool:
        if hasattr(os, "waitid"):  # Linux; macOS from Python 3.13 on
            try:
                return os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            except ChildProcessError:  # our parent ignores SIGCHLD, so the system has already reaped the process
                return True
        return self._child.poll() is not None

    def _ended(self) -> LostBackend:
        """The loss of a process whose stdout ended, with the way it ended, which may take a moment to be known."""
        until, pause = time.monotonic() + min(self._grace, self.timeout), 0.0005
        while not (gone := self._has_ended()) and time.monotonic() < until:
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        self._begun = self._begun or self._has_read()
        self.kill()
        if not gone:
            return LostBackend(Crash(_DEAF))
        status = self._child.returncode
        how = f"it was ended by {_signal(-status)}" if status < 0 else f"it exited with status {status}"
        return LostBackend(Crash(how))

    def _has_read(self) -> bool:
        """Whether the process read any byte of its requests, as far as the system tells."""
        unread = array("i", [0])
        try:
            fcntl.ioctl(self._stdin.fileno(), termios.FIONREAD, unread)
        except (OSError, ValueError):
            return self._written > 0
        return self._written > unread[0]

    def _no_hello(self, reason: Lost) -> BadHello:
        stderr = self._stderr_text()
        match reason:
            case Crash(detail):
                text = f"{detail} before it answered tally.hello"
                status = self._child.returncode
                ended = status is not None and status >= 0
                said = f"the backend exited ({status}) before the handshake" if ended else text
                return BadHello(said, Crash(text), stderr, self._begun)
            case Timeout(seconds, begun):
                why = unfinished(begun) or "; nothing came on stdout (is a flush missing after the answer?)"
                return BadHello(f"no answer to tally.hello within {seconds:g} s{why}", reason, stderr)
            case ProtocolError(sentence):
                return BadHello(f"tally.hello was answered by {sentence}", reason, stderr)

    def _stderr_text(self) -> str:
        return self.stderr_tail.decode("utf-8", "replace")


def _started(
    command: Sequence[str], environment: Mapping[str, str] | None, folder: Path | None
) -> subprocess.Popen[bytes]:
    if not hasattr(os, "killpg"):
        raise BackendNotFound("a backend is started in a process group, and this system has none: use Linux or macOS")
    guard = guardian()
    try:
        child = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=guard.marked(environment),
            cwd=folder,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise BackendNotFound(f"{command[0]!r} cannot be started: {error.strerror}") from None
    guard.watch(child.pid)
    return child


def _widen(pipe: int) -> None:
    """Make a pipe as large as a chunk if the system can: on Linux 8 MB of indices then arrive twice as fast."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # all pipes of the user together may be too large
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _CHUNK)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
