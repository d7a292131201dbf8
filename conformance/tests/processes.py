"""Processes of a test's own: an interpreter that imports the checkout, the command of a fake, whether one lives."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def environment(**more: str) -> dict[str, str]:
    """The environment of this process with the checkout on the path."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def python(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What an interpreter of its own says, and how it ends."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment(**more), check=False, timeout=300)


def fake_command(module: str, *arguments: Any, **options: Any) -> str:
    """The command line of `main` of a fake; it starts in 30 ms, wherever it is started."""
    given = ", ".join([*map(repr, arguments), *(f"{name}={value!r}" for name, value in options.items())])
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from conformance.tests.fakes.{module} import main; "
    return shlex.join([sys.executable, "-S", "-c", f"{code}main({given})"])


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended but that nobody has waited for does not."""
    if Path("/proc/self/stat").exists():  # a small container has no ps
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False).stdout.strip()
    return bool(state) and not state.startswith(b"Z")


def script_backend(script: Path, text: str, *sins: str) -> str:
    """The backend string of a script with this text, which is written with its folder; `sins` are its arguments."""
    script.parent.mkdir(exist_ok=True, parents=True)
    script.write_text(text, encoding="utf-8")
    return " ".join([sys.executable, "-S", str(script), *sins])
