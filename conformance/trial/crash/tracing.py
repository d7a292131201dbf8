"""How a backend is run under strace, and whether that is possible here."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from conformance.backend.resolve import BackendCommand
from conformance.vectors.room import run_folder

MODELLED: Final = (
    *("open", "openat", "openat2", "creat", "close", "dup", "dup2", "dup3", "fcntl", "lseek", "chdir", "fchdir"),
    *("write", "writev", "pwrite64", "pwritev", "pwritev2", "truncate", "ftruncate"),
    *("fsync", "fdatasync", "sync", "syncfs"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat"),
    *("clone", "clone3", "fork", "vfork"),
)
REFUSED: Final = (  # where they touch the tree, no verdict is given
    *("symlink", "symlinkat", "mknod", "mknodat", "mmap", "ioctl"),
    *("copy_file_range", "sendfile", "splice", "fallocate", "io_uring_setup", "io_submit"),
    *("open_by_handle_at", "chroot"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
)
_OPTIONAL: Final = "?"  # before a call that this machine may not have
_LONGEST: Final = "1000000000"  # bytes of a string that strace prints whole


class NotRun(Exception):
    """Tracing is impossible here; says why. Nothing was judged."""


@dataclass(frozen=True, slots=True)
class Injection:
    """A system call that strace makes fail, or kills the process at: the ordinal-th of that name in a process."""

    call: str
    ordinal: int
    effect: str  # signal=KILL, error=EIO, error=ENOSPC, error=EACCES

    def __str__(self) -> str:
        return f"{self.call}:{self.effect}:when={self.ordinal}"


def require_tracing() -> str:
    """The path of strace; raises NotRun where it is missing or may not trace."""
    strace = shutil.which("strace")
    if strace is None:
        raise NotRun("strace not found")
    with tempfile.NamedTemporaryFile() as log:
        probe = [strace, "-f", "--seccomp-bpf", "-qq", "-o", log.name, "-e", "trace=write", "--", strace, "-V"]
        try:
            made = subprocess.run(probe, capture_output=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotRun(f"strace cannot run: {error}") from None
        if made.returncode or b"write(" not in Path(log.name).read_bytes():
            said = made.stderr.decode("utf-8", "replace").strip().splitlines()
            raise NotRun(f"strace cannot trace here: {said[0] if said else 'it recorded nothing'}")
    return strace


def traced(command: BackendCommand, strace: str, log: Path) -> BackendCommand:
    """The same backend with every call that can change a tree written to `log`."""
    calls = ",".join(_OPTIONAL + call for call in (*MODELLED, *REFUSED))
    options = ["--seccomp-bpf", "-e", "signal=none", "-y", "-xx", "-s", _LONGEST, "-o", str(log)]
    return _under(command, [strace, "-f", "-qq", *options, "-e", f"trace={calls}"])


def interrupted(command: BackendCommand, strace: str, log: Path, injection: Injection) -> BackendCommand:
    """The same backend with one call thrown out; `log` holds that call alone.

    Without --seccomp-bpf, under which strace 6.1 injects errors but lets the process outlive its SIGKILL.
    """
    options = ["-o", str(log), "-e", f"trace={injection.call}", "-e", f"inject={injection}"]
    return _under(command, [strace, "-f", "-qq", *options])


def _under(command: BackendCommand, strace: Sequence[str]) -> BackendCommand:
    # libuv would otherwise hand its file calls to io_uring, where nobody sees them.
    environment = {**command.environment, "UV_USE_IO_URING": "0"}
    return replace(command, arguments=(*strace, "--", *command.arguments), environment=environment)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder in memory where the system has one: rebuilding 20 files there takes under a millisecond."""
    return tempfile.TemporaryDirectory(prefix="tally-crash-", dir=run_folder())
