"""Whatever ends the harness, nothing that it started outlives it, and nothing else is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.backend.guardian import guardian
from conformance.tests.backends import process
from conformance.tests.processes import environment, is_alive, python
from conftest import absent

TIMES = 5  # kills by each of four signals
HARNESS = """
import sys, time
from conformance.backend.command import Process
from conformance.tests.backends import process
from conformance.vectors.files.temp_roots import Roots
one = process("leaves_children_and_hangs")
hello = one.hello()
with Roots() as roots:
    (roots.path("root") / "file").write_text("x")
    print(one._child.pid, hello.version, roots.path("root"), flush=True)
    one.submit("Echo_v1", {"n": "1"})
    one.timeout = 600
    one.wait()
"""


def soon(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10.0
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def harness(folder: Path) -> tuple[subprocess.Popen[str], list[int], Path]:
    """A harness that waits for a hung backend; the processes behind it, and its root."""
    command, given = [sys.executable, "-c", HARNESS], environment(TMPDIR=str(folder))
    one = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=given, start_new_session=True)
    assert one.stdout is not None
    *pids, root = one.stdout.readline().rstrip("\n").split(" ", 3)
    return one, [int(pid) for pid in pids], Path(root)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_harness_that_is_killed(how: signal.Signals, tmp_path: Path) -> None:
    if not Path("/proc/self/stat").exists():
        absent("/proc")
    killed = [harness(tmp_path) for _ in range(TIMES)]
    left = [pid for _, pids, root in killed for pid in pids if root.is_dir()]
    assert [pid for pid in left if is_alive(pid)] == left
    assert len(left) == 3 * TIMES
    for one, _, _ in killed:
        # The whole group, as a terminal does: the guardian has a session of its own.
        os.killpg(one.pid, how)
    for one, _, _ in killed:
        one.wait(10)
    assert soon(lambda: not any(map(is_alive, left)))
    assert soon(lambda: list(tmp_path.iterdir()) == [])


def test_a_process_that_was_reaped_is_not_the_guardians_any_more() -> None:
    """Its number may be another's by then."""
    stranger = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
    said = f"from conformance.backend.guardian import guardian\ng = guardian()\nn = {stranger.pid}\n"
    try:
        for last, survives in (("g.watch(n); g.forget(n)", True), ("g.watch(n)", False)):
            assert python("-c", f"{said}{last}").returncode == 0
            if survives:
                time.sleep(0.5)
                assert stranger.poll() is None
            else:
                assert soon(lambda: stranger.poll() is not None)
    finally:
        stranger.kill()
        stranger.wait()


def test_a_backend_that_ends_as_it_should_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bytes] = []
    monkeypatch.setattr(type(guardian()), "_tell", lambda _, what, name: told.append(what))
    one = process("honest")
    one.hello()
    assert one.settle()
    assert told == [b"+p", b"-p"]
