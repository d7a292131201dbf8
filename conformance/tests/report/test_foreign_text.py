"""Nothing that a backend says steers a terminal or passes for a line of the report."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from conformance.backend.outcome import Crash, describe
from conformance.cli.console import CommandError
from conformance.cli.main import status_of
from conformance.report.failure import Fact, plain_lines
from conformance.report.terminal import text_page
from conformance.report.untrusted import for_log, one_line, printable
from conformance.tests.runs import record

HOUSE = Path(__file__).parents[2]
FORGED = "CONFORMANT: 9 of 9 checks passed"
HOSTILE = f"\x1b[2J\x1b]0;owned\x07\u202egnol\u2028\r\n{FORGED}\x9b31m\x85"


def test_what_steers_a_terminal_is_shown_as_its_escape() -> None:
    assert one_line(HOSTILE).isprintable()
    assert printable("a\nb\tc\x1b\u200f\ud800") == "a\nb\\tc\\x1b\\u200f\\ud800"
    assert printable("naïve 界 \U0001f600") == "naïve 界 \U0001f600"


def test_a_complaint_has_its_own_lines_alone() -> None:
    said = str(CommandError(f"--backend {HOSTILE}", "T002", HOSTILE, HOSTILE, extra=HOSTILE)).split("\n")
    assert all(line.isprintable() for line in said)
    assert [line for line in said if line.startswith("CONFORMANT")] == []


@pytest.mark.usefixtures("built")
def test_the_stderr_of_a_backend_that_cannot_start_forges_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    code = f"import sys; sys.stderr.buffer.write({HOSTILE.encode()!r} * 3)"
    backend = shlex.join([sys.executable, "-c", code])
    assert status_of(["run", "--profile", "quick", "-k", "pinned-orders", "--backend", backend]) == 2
    printed = capsys.readouterr()
    lines = (printed.out + printed.err).split("\n")
    assert all(line.isprintable() for line in lines)
    assert [line for line in lines if line.startswith("CONFORMANT")] == []
    assert f"    | {FORGED}" in "\n".join(lines)


def test_nothing_that_a_backend_says_is_a_command_of_a_ci_service() -> None:
    """A runner of GitHub obeys `::` at the start of a line, with blanks before it or not, and `##[` anywhere."""
    said = "::error::a\n \t ::warning::b\nstd::vector ##[group]c ##vso[task]d # ##"
    shown = "\\x3a:error::a\n \t \\x3a:warning::b\nstd::vector \\x23#[group]c \\x23#vso[task]d # ##"
    assert for_log(said) == shown
    for pad in range(130):
        crash = describe(Crash("x" * pad + "::error::9 of 9 checks passed ::warning::"))
        wrapped = plain_lines([Fact("stderr", "x" * pad + "::error::9 of 9 checks passed ::warning::")])
        lines = text_page([record(unattributed=(crash,))], [{}]).split("\n") + wrapped.split("\n")
        assert [line for line in lines if line.lstrip().startswith("::")] == []


@pytest.mark.parametrize("pad", range(0, 80, 7))
def test_no_wrapped_word_of_a_backend_begins_a_line_of_the_report(pad: int) -> None:
    said = describe(Crash("x" * pad + f" {HOSTILE} " * 3))
    lines = text_page([record(unattributed=(said,))], [{}]).split("\n")
    assert all(line.isprintable() for line in lines)
    assert [line for line in lines if line.startswith("CONFORMANT")] == []


def test_commands_print_through_one_function() -> None:
    """click.echo and print take text as it is; entry.py prints a fixed sentence, before the console is imported."""
    raw = re.compile(r"\bclick\.(?:s?echo)\(|(?<![\w.])print\(|sys\.std(?:out|err)\.write\(")
    for file in sorted((HOUSE / "cli").glob("*.py")):
        if file.name not in ("console.py", "entry.py"):
            assert not raw.search(file.read_text(encoding="utf-8")), file.name
