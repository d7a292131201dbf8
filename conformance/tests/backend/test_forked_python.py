"""A forked backend starts in the same state as a backend in a new interpreter."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import conformance.backend.command
from conformance.tests.forked_python import Forked, forking
from conformance.tests.processes import ROOT, fake_command

TOLD = """
import atexit, gc, json, os, signal, sys, threading, time

atexit.register(lambda: print("the end"))
foreign = ("impl", "checks", "tallystick", "conformance.tests", "told_first")
json.dump({
    "name": __name__,
    "arguments": sys.argv[1:],
    "input": sys.stdin.read(),
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "zone": time.tzname,
    "leads": os.getsid(0) == os.getpid(),
    "others": [number for number in range(3, 200) if os.path.exists(f"/proc/self/fd/{number}")],
    "path": sys.path,
    "modules": [name for name in foreign if name in sys.modules],
    "signals": [signal.getsignal(one) == signal.SIG_DFL for one in (signal.SIGTERM, signal.SIGHUP)],
    "threads": threading.active_count(),
    "cycles": gc.get_threshold(),
}, sys.stdout)
print("a complaint", file=sys.stderr)
sys.exit(3)
"""


def told(popen: Any, folder: Path, *arguments: str) -> tuple[Any, str, str, int]:
    """What a program says of itself, what follows, its complaint, and its status."""
    given = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]), "TZ": "NST3:30NDT,M3.2.0,M11.1.0"}
    given["LC_ALL"] = "C.UTF-8"  # without one a new interpreter sets it
    pipe = subprocess.PIPE
    options: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "cwd": folder, "env": given}
    one = popen([sys.executable, "-P", "-m", *arguments], start_new_session=True, **options)
    out, complaint = one.communicate(b"asked", timeout=60)
    first, _, rest = out.decode().partition("}the")
    return json.loads(first + "}") if rest else first, rest, complaint.decode(), one.returncode


def test_a_forked_program_finds_what_a_new_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "told.py").write_text(TOLD)
    mine = ModuleType("told_first")
    mine.__file__ = str(tmp_path / "told_first.py")
    monkeypatch.setitem(sys.modules, "told_first", mine)
    monkeypatch.setenv("TWO", "2")
    new, forked = (told(popen, tmp_path, "told", "a", "b c") for popen in (subprocess.Popen, Forked))
    assert {key: (new[0][key], forked[0][key]) for key in new[0] if new[0][key] != forked[0][key]} == {}
    assert forked == new
    assert (new[0]["arguments"], new[0]["modules"], new[1:]) == (["a", "b c"], [], (" end\n", "a complaint\n", 3))


def test_another_command_is_started_anew_and_so_is_another_hash_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_fork(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("conformance.tests.forked_python.Mother.fork", no_fork)
    popen = forking(conformance.backend.command).Popen
    here = dict(os.environ)
    assert popen([sys.executable, "-S", "-c", "pass"], env=here).wait() == 0
    assert popen([sys.executable, "-P", "-m", "this"], env={**here, "PYTHONHASHSEED": "7"}, stdout=-3).wait() == 0
    for mine in ([sys.executable, "-P", "-m", "this"], shlex.split(fake_command("halves", "right"))):
        with pytest.raises(AssertionError):
            popen(mine, env=here)


def test_a_process_that_the_tests_forked_forks_its_own_backends_and_its_parent_waits_for_them(tmp_path: Path) -> None:
    (tmp_path / "told.py").write_text(TOLD)
    assert told(Forked, tmp_path, "told")[3] == 3
    if (child := os.fork()) == 0:
        statuses = [told(Forked, tmp_path, "told")[3] for _ in range(4)]
        os._exit(max(statuses) if len(set(statuses)) == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
