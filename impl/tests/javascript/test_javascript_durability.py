"""A commit of the JavaScript backend ends at an fsync that fails, as strace sees it.

The order of its system calls is tried by `conformance/tests/crash/test_crash_shipped.py`, for each backend.
"""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from impl.tests.checkpoint.checkpoint_calls import PREFIX, commit_params
from impl.tests.javascript.javascript_process import BACKEND, wire_form

COMMIT = f"{PREFIX}CommitRun_v1"
CHANGING = ("fsync", "rename", "link", "unlink", "rmdir", "mkdir")


def traced(tool: Callable[[str], str], log: Path, method: str, params: dict[str, Any], *options: str) -> bytes:
    """Answer one request under strace and return the answer."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": wire_form(method, params)}
    calls = "trace=fsync,fdatasync,rename,link,mkdir,unlink,rmdir"
    command = [tool("strace"), "-f", "--seccomp-bpf", "-y", "-o", str(log), "-e", calls, *options]
    backend = [tool("node"), str(BACKEND / "serve.js")]
    asked = json.dumps(message).encode() + b"\n"
    return subprocess.run([*command, "--", *backend], input=asked, capture_output=True, timeout=120, check=True).stdout


def call_of(line: str) -> str:
    """Return the name of the system call of a line of strace."""
    found = re.match(r"(?:\d+ +)?(\w+)\(", line)
    return found.group(1) if found else ""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty root."""
    made = tmp_path / "root"
    made.mkdir()
    return made


@pytest.mark.parametrize("when", [2, 20])
def test_a_failed_sync_ends_the_commit_unacknowledged(tool: Callable[[str], str], root: Path, when: int) -> None:
    log = root.parent / "log"
    answer = traced(tool, log, COMMIT, commit_params(root), "-e", f"inject=fsync:error=EIO:when={when}")
    assert b'"code":-32603' in answer
    lines = log.read_text(encoding="utf-8").splitlines()
    failed = next(index for index, line in enumerate(lines) if "EIO" in line and "INJECTED" in line)
    assert not {call_of(line) for line in lines[failed + 1 :]} & set(CHANGING)
