"""The guardian process: `python -I -S guardian_process.py MARK TOKEN`; stdin says what must not outlive the harness.

Messages end with a NUL: `+pNUMBER` and `-pNUMBER` for a process group, `+fPATH` for a folder. At the end of the input
the harness has ended: groups and processes with `MARK=TOKEN` in their environment are killed, then folders removed. It
imports the standard library alone, and ends itself afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

ROUNDS = 50  # looks for processes that were starting others while they were killed
PAUSE = 0.02  # seconds between two looks


def main(mark: str, token: str) -> None:
    """Read until the harness has ended, then end the processes and remove the folders that it left."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(one, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # fails if it already has its own session
        os.setsid()
    os.chdir("/")
    groups, folders = listen()
    for group, born in groups.items():
        if birth(group) in (born, ""):
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
    wanted = f"{mark}={token}".encode()
    for _ in range(ROUNDS):
        if not sum(end(process, wanted) for process in processes()):
            break
        time.sleep(PAUSE)
    for folder in folders:
        remove(folder)


def listen() -> tuple[dict[int, str], list[str]]:
    """The groups, each with the birth of its leader, and the folders that remain at the end of the input."""
    groups: dict[int, str] = {}
    folders: list[str] = []
    rest = b""
    while chunk := os.read(0, 1 << 16):
        *messages, rest = (rest + chunk).split(b"\0")
        for message in messages:
            what, name = message[:2], os.fsdecode(message[2:])
            if what == b"+p":
                groups[int(name)] = birth(int(name))
            elif what == b"-p":
                groups.pop(int(name), None)
            elif what == b"+f":
                folders.append(name)
    return groups, folders


def birth(process: int) -> str:
    """The start of a process, in the system's ticks, which shows whether its number was reused; "" if it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def processes() -> list[int]:
    """Every process in /proc except this one; none if there is no /proc."""
    try:
        return [
            int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal() and int(one.name) != os.getpid()
        ]
    except OSError:
        return []


def end(process: int, wanted: bytes) -> bool:
    """Kill a process if it has the mark; return whether it had."""
    try:
        # The descriptor makes sure that the number is not reused between the check and the kill.
        held = os.pidfd_open(process)
    except OSError:
        return False
    try:
        if wanted not in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(held)
    return True


def remove(folder: str) -> None:
    """Remove a folder, even with folders in it that cannot be entered."""
    for path, below, _ in os.walk(folder):
        for inner in (Path(path, name) for name in below):
            with contextlib.suppress(OSError):
                if not inner.is_symlink():
                    inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
