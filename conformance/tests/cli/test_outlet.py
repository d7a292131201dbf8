"""A closed pipe gives no verdict, a full disk gives no traceback, and a signal ends a command in an orderly way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.processes import environment

MAIN = "from conformance.cli import main\nimport click\n"
GOOD = "main.tally.main = lambda **_: (click.echo('line\\n' * 30000), {status})[1]\nmain.main()\n"
START = f"exec '{sys.executable}' -c \"$CODE\""


def ended(code: str, how: str = "", before: str = "") -> subprocess.CompletedProcess[str]:
    """A command line of ours, its standard streams as a shell has them."""
    command = ["bash", "-c", f"({before}{START}) {how}"]
    given = environment(CODE=MAIN + code)
    return subprocess.run(command, capture_output=True, text=True, env=given, timeout=120, check=False)


@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_pipe_that_closes_leaves_the_verdict_as_it_is(status: int) -> None:
    done = ended(GOOD.format(status=status), "| head -1; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stdout, done.stderr) == (status, "line\n", "")


@pytest.mark.parametrize("how", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full >/dev/null"])
def test_a_closed_stream_leaves_the_verdict_as_it_is(how: str) -> None:
    assert ended(GOOD.format(status=0), how).returncode == 0
    assert ended(GOOD.format(status=1), how).returncode == 1


def test_a_report_that_cannot_be_written_is_no_judgement() -> None:
    done = ended(GOOD.format(status=0), ">/dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("stdout: T011 cannot be written: No space left on device\n")


@pytest.mark.parametrize("number", [24, 23, 12, 11, 27])
def test_what_the_system_lacks_is_said_in_one_line(number: int) -> None:
    code = f"def fail(**_): raise OSError({number}, 'x')\nmain.tally.main = fail\nmain.main()\n"
    done = ended(code)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        f"tally: T013 the system reports: {os.strerror(number)}",
    )


def test_too_few_file_descriptors_are_said_in_one_line() -> None:
    code = "import sys\nsys.argv = ['tally', 'run', '--profile', 'quick', '-k', 'EncodeCursors']\nmain.main()\n"
    done = ended(code, before="ulimit -n 8; ")
    assert done.returncode == 2
    assert "T013 the system reports: Too many open files" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_an_orderly_end_and_no_verdict(how: signal.Signals, tmp_path: Path) -> None:
    code = f"""
import time
from conformance.backend.scheduler import workers
def waits(**_):
    try:
        with workers(1) as pool:
            pool.submit(time.sleep, 60)
            print("ready", flush=True)
            time.sleep(60)
    finally:
        open({str(tmp_path / "closed")!r}, "w").close()
main.tally.main = waits
main.main()
"""
    command = [sys.executable, "-c", MAIN + code]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=environment()) as one:
        assert one.stdout is not None
        one.stdout.readline()
        one.send_signal(how)
        _, said = one.communicate(timeout=30)
    assert (one.returncode, said) == (128 + how, f"ended by {how.name}: no judgement\n")
    assert (tmp_path / "closed").exists()
