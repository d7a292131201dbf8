"""The guardian ends every backend process and removes every temporary folder when the harness ends in any way.

One guardian process serves one harness process. It reads a pipe whose other end only the harness has open, so it sees
a SIGKILL of the harness as the end of the file. The harness tells it the process groups and folders. On Linux
it also finds, by a mark in the environment, processes that it was not told about or that left their group.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

MARK: Final = "TALLY_GUARDIAN"  # the environment variable that says to which harness a process belongs
_PROGRAM: Final = Path(__file__).with_name("guardian_process.py")


class Guardian:
    """The harness's end of the pipe; safe to use from any thread. Raises OSError where the process cannot start."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._folders: dict[tuple[str, str], Path] = {}
        source, self._sink = os.pipe()
        try:
            _start(source, self.token)
        except OSError:
            os.close(self._sink)
            raise
        finally:
            os.close(source)

    def marked(self, environment: Mapping[str, str] | None) -> dict[str, str]:
        """The environment of a process that must not outlive the harness."""
        return {**(os.environ if environment is None else environment), MARK: self.token}

    def watch(self, group: int) -> None:
        """Kill this process group when the harness ends."""
        self._tell(b"+p", str(group))

    def forget(self, group: int) -> None:
        """Leave this process group alone; call this before its leader is reaped, when its number becomes free."""
        self._tell(b"-p", str(group))

    def folder(self, base: str, name: str = "roots") -> Path:
        """The private folder of this name below `base` that is removed when the harness ends; made when first asked."""
        key = (base, name)
        with self._lock:
            if key not in self._folders or not self._folders[key].is_dir():
                path = Path(os.path.realpath(base), f"tally-{name}-{os.getpid()}-{secrets.token_hex(6)}")
                # Told before the folder exists: the harness may end in between.
                self._tell(b"+f", str(path))
                path.mkdir(mode=0o700)
                self._folders[key] = path
            return self._folders[key]

    def clear(self) -> None:
        """Remove the folders now, at a normal end of the harness."""
        for path in self._folders.values():
            shutil.rmtree(path, ignore_errors=True)

    def _tell(self, what: bytes, name: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # the guardian was killed by hand; the run continues without it
            os.write(self._sink, what + os.fsencode(name) + b"\0")


def guardian() -> Guardian:
    """The guardian of this process, started when first asked for. Raises OSError where it cannot be started."""
    with _STARTING:
        return _guardian_of(os.getpid())


_STARTING: Final = threading.Lock()


@lru_cache(1)
def _guardian_of(process: int) -> Guardian:
    import atexit

    one = Guardian()
    atexit.register(lambda: one.clear() if os.getpid() == process else None)
    return one


def _start(source: int, token: str) -> None:
    """Start the guardian process: signals of the terminal do not reach it, and it inherits no open file."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2), (os.POSIX_SPAWN_DUP2, source, 0)]
    # Isolated and without site-packages: 10 ms, and no module of a user's folder is imported.
    arguments = [sys.executable, "-I", "-S", str(_PROGRAM), MARK, token]
    # Without our own mark: if a harness is a backend of another harness, the guardian must outlive both.
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    try:
        os.posix_spawn(sys.executable, arguments, environment, file_actions=actions, setsid=True)
    except NotImplementedError:  # the process then leaves our session itself
        os.posix_spawn(sys.executable, arguments, environment, file_actions=actions)
    finally:
        os.close(null)
