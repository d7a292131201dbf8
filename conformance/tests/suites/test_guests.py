"""Commands that the bundled suite adds: found by its `tally.toml` alone, and by no other suite's."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conformance.cli.main import COMMANDS, added_commands, status_of
from conformance.contract.suite_file import read_suite
from conformance.contract.yaml.source import MalformedContract

Capture = pytest.CaptureFixture[str]


def suite(folder: Path, commands: str) -> Path:
    (folder / "spec").mkdir()
    (folder / "tally.toml").write_text(f"[suite]\n\n[commands]\n{commands}\n")
    return folder


def test_the_help_lists_what_the_suite_adds(capsys: Capture) -> None:
    assert list(added_commands()) == ["batch"]
    assert not set(added_commands()) & set(COMMANDS)
    assert status_of(["--help"]) == 0
    assert "describe a database file, for training batches" in " ".join(capsys.readouterr().out.split())
    assert status_of(["bacth"]) == 2
    assert "batch" in capsys.readouterr().err


def test_a_user_s_suite_adds_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Entering a folder must not change what `tally` runs."""
    monkeypatch.chdir(suite(tmp_path, 'evil = "os: does anything"'))
    assert status_of(["evil"]) == 2
    assert status_of(["--help"]) == 0
    assert "does anything" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "line", ['x = "no-module: says"', 'x = "module"', 'x = "module: "', "x = 3", '"-x" = "module: says"']
)
def test_a_command_that_cannot_be_offered_is_a_problem(tmp_path: Path, line: str) -> None:
    with pytest.raises(MalformedContract, match="has no module or no sentence"):
        read_suite(suite(tmp_path, line))


def test_a_database_is_described(tmp_path: Path, capsys: Capture) -> None:
    file, output = tmp_path / "shop.db", tmp_path / "shop.yaml"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE t (x TEXT, at INT)")
        connection.execute("CREATE VIEW v AS SELECT x FROM t")
        connection.execute("INSERT INTO t VALUES ('a', 5)")
        connection.commit()
    assert status_of(["batch", "describe", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "    x: text?  # TEXT; 1 different text in 1 row\n" in shown
    assert "# Never read: v, a view\n" in shown
    assert status_of(["batch", "describe", str(file), "--output", str(output)]) == 0
    assert output.read_text("utf-8") == shown
    assert status_of(["batch", "describe", str(file), "--output", str(output)]) == 2
    assert "File exists; name a new file" in capsys.readouterr().err


def test_what_is_no_database_is_no_judgement(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "words.db"
    file.write_text("These are words, and more of them.")
    for path in (file, tmp_path / "none.db", tmp_path, Path("n" * 300)):
        assert status_of(["batch", "describe", str(path)]) == 2
        assert "(CONTRACT_VIOLATION)" in capsys.readouterr().err
