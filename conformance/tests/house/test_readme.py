"""What the README shows is what its readers see."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli.main import COMMANDS, added_commands, status_of
from conformance.tests.processes import ROOT
from conformance.tests.shipped import shipped_library
from conformance.vectors.frozen.corpus import load_corpus

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```text.*?\n(.*?)^```$", README, re.M | re.S)


def block(beginning: str) -> list[str]:
    """The lines of the block that begins so, without those that stand for others."""
    (found,) = [text for text in BLOCKS if text.startswith(beginning)]
    return [line for line in found.splitlines() if line != "..."]


def test_the_main_job_shows_today_s_counts_of_vectors() -> None:
    cases = load_corpus(shipped_library().suite).cases
    rows = re.findall(r"^([A-Z]\S+) +(\d+)/(\d+) .* pass$", "\n".join(block("backend     reference")), re.M)
    assert len(rows) >= 4
    for operator, passed, tried in rows:
        assert int(passed) == int(tried) == sum(case.profile != "golden" for case in cases[operator]), operator


def test_the_failure_is_what_a_wrong_backend_gets(
    measured: Path, look_at: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shown in the small house, where three mutants are asked; the whole one differs in the count of operators."""
    look_at(measured)
    monkeypatch.setenv("COLUMNS", "80")
    shown = block("Failure group 1 of 1")
    group = shown[0].partition(": ")[2].rpartition("::")[0]
    assert status_of(["run", "--backend", "mutant:seed-words-big-endian", "--profile", "quick", "-k", group]) == 1
    of_all = f" 1 of {len(shipped_library().declarable)} operators,"
    seen = capsys.readouterr().out.replace(" 1 of 1 operator,", of_all).splitlines()
    assert [line for line in seen if line in shown] == shown


def test_every_command_is_in_the_table_and_every_row_of_it_a_command() -> None:
    assert set(re.findall(r"^\| `tally ([a-z-]+)", README, re.M)) == {*COMMANDS, *added_commands()}


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_every_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).exists()
