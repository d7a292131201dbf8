"""The .gitignore that `tally init` writes covers what the tools leave in a suite."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli.main import status_of


def test_git_keeps_nothing_that_the_tools_leave(
    new_suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Callable[[str], str]
) -> None:
    own = shutil.copytree(new_suite, tmp_path / "bounds")
    monkeypatch.chdir(own)
    monkeypatch.setattr("conformance.trial.fuzz.operator.DEFAULT_EXAMPLES", 5)

    def seen() -> str:
        listing = [tool("git"), "ls-files", "--others", "--exclude-standard"]
        return subprocess.run(listing, check=True, capture_output=True, text=True).stdout

    subprocess.run([tool("git"), "init", "-q", "."], check=True)
    before = seen()
    assert status_of(["run", "--format", "junit"]) == 0
    assert status_of(["keys", "new", "me"]) == 0
    (own / "reference" / "__pycache__").mkdir(exist_ok=True)
    (own / "reference" / "__pycache__" / "operators.pyc").touch()
    assert (own / "reports" / "last" / "junit.xml").is_file()
    assert sorted(seen().splitlines()) == sorted([*before.splitlines(), "me.pub"])


def test_a_gitignore_that_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / ".gitignore"
    file.write_text("mine\n")
    assert status_of(["init", str(tmp_path)]) == 0
    assert f"left as it is: {file}" in capsys.readouterr().out
    assert file.read_text() == "mine\n"
