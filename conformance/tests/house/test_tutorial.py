"""docs/tutorial.md, followed to the letter in an empty folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conformance.cli.main import status_of
from conformance.tests.processes import ROOT
from conformance.tests.tutorial import Reader, matches

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")


@pytest.mark.usefixtures("mutants_in_this_process")
def test_what_the_tutorial_shows_is_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tool: Callable[[str], str]
) -> None:
    """Its commands are run in this process: 15 s of CPU, not 58 s. Those of the wheel are tested in test_packaging."""
    tool("node")
    monkeypatch.delenv("TALLY_SUITE", raising=False)
    # The page shows no figure of the drawn calls.
    monkeypatch.setattr("conformance.trial.fuzz.operator.DEFAULT_EXAMPLES", 5)
    for name, value in (("COLUMNS", "200"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)

    def tally(words: Sequence[str], folder: Path) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        status, said = status_of(words), capsys.readouterr()
        return status, said.out, said.err

    reader = Reader(tmp_path, tally)
    reader.follow(PAGE)
    assert reader.differences == []
    assert len(reader.told) > 25


def test_a_page_whose_output_is_another_is_noticed(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.follow("```console\n$ echo a; echo b; echo c\na\n...\n$ echo d\ne\n```\n")
    assert len(reader.differences) == 1
    assert "$ echo d\nshown:\ne\n" in reader.differences[0]
    assert not matches("a\n...\nc\n", "a\nc\nd\n")


def test_a_status_or_a_text_that_the_page_does_not_name_is_noticed(tmp_path: Path) -> None:
    edited = "Write `a`:\n\n```\nx\n```\n\nIn `a` replace\n\n```\ny\n```\n\nby\n\n```\nz\n```\n"
    for page in ("```console\n$ false\n```\n", edited):
        reader = Reader(tmp_path)
        reader.follow(page)
        assert len(reader.differences) == 1
