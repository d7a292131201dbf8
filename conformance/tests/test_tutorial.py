"""docs/tutorial.md, followed to the letter from the installed wheel in an empty folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from conformance.tests.processes import ROOT
from conformance.tests.test_packaging import environment, must
from conformance.tests.tutorial import Reader, environment_of, matches

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")


def test_what_the_tutorial_shows_is_what_is_printed(tmp_path: Path, tool: Callable[[str], str]) -> None:
    tool("node")
    must([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist"])
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    home = environment(tmp_path / "venv", wheel)
    folder = tmp_path / "empty"
    folder.mkdir()
    reader = Reader(folder, environment_of(home / "bin"))
    reader.follow(PAGE)
    assert reader.differences == []


def test_a_page_whose_output_is_another_is_noticed(tmp_path: Path) -> None:
    reader = Reader(tmp_path, environment_of(tmp_path))
    reader.follow("```console\n$ echo a; echo b; echo c\na\n...\n$ echo d\ne\n```\n")
    assert len(reader.differences) == 1
    assert "$ echo d\nshown:\ne\n" in reader.differences[0]
    assert not matches("a\n...\nc\n", "a\nc\nd\n")


def test_a_status_or_a_text_that_the_page_does_not_name_is_noticed(tmp_path: Path) -> None:
    edited = "Write `a`:\n\n```\nx\n```\n\nIn `a` replace\n\n```\ny\n```\n\nby\n\n```\nz\n```\n"
    for page in ("```console\n$ false\n```\n", edited):
        reader = Reader(tmp_path, environment_of(tmp_path))
        reader.follow(page)
        assert len(reader.differences) == 1
