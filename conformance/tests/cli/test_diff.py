"""`tally diff`: folders, revisions of git and the release in the lock; certificates that lapse; hostile arguments."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import status_of
from conformance.contract.library import load_library
from conformance.contract.suite_file import read_suite
from conformance.tests.certificates import certificate_of_one
from conformance.tests.page_blocks import compared_by, matches
from conformance.tests.released_suite import (
    CONTRACT,
    LOCK,
    OPERATOR,
    broken,
    built,
    edit,
    extended,
    files,
    git,
    version,
)
from conformance.vectors.frozen.lock import contract_digests

PAGE = "spec/bounds/requirements.yaml"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(new_suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A released suite in a folder of a repository, committed and tagged v1.0.0; not to be changed."""
    repository = tmp_path_factory.mktemp("repository")
    suite = repository / "the suite"
    shutil.copytree(new_suite, suite)
    assert status_of(["vectors", "release", "--suite", str(suite)]) == 0
    (repository / ".gitignore").write_text("__pycache__\n")
    git(repository, "init")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "one")
    git(repository, "tag", "v1.0.0")
    return repository


@pytest.fixture
def suite(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, whose suite is the current folder."""
    shutil.copytree(made, tmp_path / "repository")
    monkeypatch.chdir(tmp_path / "repository" / "the suite")
    return Path.cwd()


def diff(capsys: Capture, *words: str) -> Any:
    """The difference as JSON, and the exit status."""
    capsys.readouterr()
    status = status_of(["diff", *words, "--format", "json"])
    printed = capsys.readouterr()
    assert status < 2, printed.err
    return {**json.loads(printed.out), "status": status}


def test_the_same_files_differ_in_nothing_however_they_are_named(suite: Path, capsys: Capture) -> None:
    (suite.parent / "link").symlink_to(suite)
    for old, new in ((".", "."), ("HEAD", "v1.0.0^{commit}"), ("main", str(suite)), ("v1.0.0", "../link")):
        found = diff(capsys, old, new)
        assert (found["status"], found["sentence"]) == (0, "NO DIFFERENCE in contracts, vectors and requirements")


def test_a_revision_shows_which_part_of_a_case_changed(suite: Path, capsys: Capture) -> None:
    broken(suite)
    edit(suite / CONTRACT, "tens: {low: 10, high: 20, value: 15}", "tens: {low: 10, high: 20, value: 16}")
    version(suite, "1.1.0")
    edit(suite / PAGE, "text: A value between the bounds stays", "text: A value between them stays")
    found = diff(capsys, "v1.0.0", ".")
    (change,) = found["contracts"]
    assert found["status"] == 1
    assert (change["asked"], change["given"], change["granted"]) == ("MAJOR", "MINOR", False)
    assert (change["old_version"], change["new_version"]) == ("1.0.0", "1.1.0")
    kinds = change["vectors"]["changed"]
    assert kinds[f"{OPERATOR}::values::value=0,low=0,high=10"] == "expectation"
    assert kinds[f"{OPERATOR}::wrong-bounds::low=21"] == "call"
    assert kinds[f"{OPERATOR}::representation::low"] == "call and expectation"
    assert len(change["vectors"]["removed"]) == 4
    assert change["requirements"] == ["B01", "B02"]
    assert [(row["id"], row["what"], row["in"]) for row in found["requirements"]] == [("B02", "changed", ["sentence"])]
    assert found["lapsing"] == {OPERATOR: "certified for version 1.0.0, the contract is 1.1.0 now"}


def test_the_release_in_the_lock_is_compared_where_git_does_not_know_it(suite: Path, capsys: Capture) -> None:
    git(suite, "tag", "-d", "v1.0.0")
    extended(suite)
    built(suite)
    found = diff(capsys, "v1.0.0", ".")
    assert (found["status"], found["contracts"][0]["next"]) == (1, "raise its version to 1.1.0")
    assert found["contracts"][0]["vectors"]["added"] == [f"{OPERATOR}::wrong-bounds::low=31"]
    assert found["remarks"] == ["v1.0.0 is known from the lock alone: it has no calls and no sentences"]
    version(suite, "1.1.0")
    assert diff(capsys, "v1.0.0", ".")["status"] == 0


def test_a_contract_that_was_edited_and_not_built_is_remarked_upon(suite: Path, capsys: Capture) -> None:
    extended(suite)
    assert diff(capsys, "HEAD", ".")["remarks"] == [
        ". was edited since `tally vectors build`, which may change more vectors"
    ]


def test_the_page_shows_what_is_printed(suite: Path, capsys: Capture) -> None:
    (shown,) = compared_by(Path(__file__).name, "docs/versions.md")
    extended(suite)
    built(suite)
    capsys.readouterr()
    assert status_of(["diff", "HEAD", "."]) == 1
    assert matches(shown.text, capsys.readouterr().out)


def test_prose_asks_for_no_version(suite: Path, capsys: Capture) -> None:
    edit(suite / CONTRACT, "purpose: Bring a number", "purpose: Put a number")
    found = diff(capsys, "HEAD", ".")
    assert (found["status"], found["reworded"], found["lapsing"]) == (0, [OPERATOR], {})


def test_a_terminal_gets_lines_of_80_columns_and_markdown_escapes_what_foreign_files_say(
    suite: Path, capsys: Capture
) -> None:
    broken(suite)
    built(suite)
    edit(suite / PAGE, "text: A value between the bounds", r'text: "\x1b[2J `|<b> between the bounds')
    edit(suite / PAGE, "becomes the nearer bound.", 'becomes the nearer bound."')
    assert status_of(["diff", "HEAD", "."]) == 1
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown
    assert "and 24 more; --cases" in shown
    assert status_of(["diff", "HEAD", ".", "--cases"]) == 1
    assert " is gone\n" in shown
    assert capsys.readouterr().out.count(" changed in expectation") == 40
    assert status_of(["diff", "HEAD", ".", "--format", "markdown", "--output", "out.md"]) == 1
    written = (suite / "out.md").read_text("utf-8")
    assert f"| `{OPERATOR}` | `1.0.0 -> 1.0.0" in written
    assert r"``\x1b[2J `\|<b> between" in written


def certificate(suite: Path, name: str, contracts: dict[str, str]) -> None:
    certificate_of_one(suite / name, read_suite(suite), OPERATOR, contracts)


def test_each_certificate_file_says_for_what_it_lapses(suite: Path, capsys: Capture) -> None:
    digests = contract_digests(load_library(read_suite(suite)))
    certificate(suite, "valid", digests)
    certificate(suite, "old", {OPERATOR: "0.9.0 " + "0" * 64})
    extended(suite)
    version(suite, "1.1.0")
    found = diff(capsys, "HEAD", ".", "--certificate", ".")
    why = "certified for version 1.0.0, the contract is 1.1.0 now"
    old, valid = found["certificates"]
    assert (valid["file"], valid["lapsing"], valid["lapsed_before"]) == ("valid.intoto.json", {OPERATOR: why}, [])
    assert (old["file"], old["lapsed_before"]) == ("old.intoto.json", [OPERATOR])
    assert status_of(["diff", "HEAD", ".", "--certificate", "valid.intoto.json"]) == 0
    assert "valid.intoto.json: LAPSES for Bounds.Clamp_v1 (certified for" in " ".join(capsys.readouterr().out.split())
    assert diff(capsys, "HEAD", "HEAD", "--certificate", "valid.intoto.json")["certificates"][0]["lapsing"] == {}
    (suite / "valid.intoto.json").write_bytes(b"{}")
    for place in ("valid.intoto.json", ".", "spec", "gone"):
        assert status_of(["diff", "HEAD", ".", "--certificate", place]) == 2
        assert ": T020 " in capsys.readouterr().err


def test_a_certificate_that_is_read_is_not_written_over(suite: Path, capsys: Capture) -> None:
    certificate(suite, "valid", contract_digests(load_library(read_suite(suite))))
    before = (suite / "valid.intoto.json").read_bytes()
    arguments = ["diff", "HEAD", ".", "--certificate", ".", "--output", "valid.intoto.json"]
    assert status_of(arguments) == 2
    assert "T005 it is one of the files that are read" in capsys.readouterr().err
    assert (suite / "valid.intoto.json").read_bytes() == before


def test_nothing_of_the_suite_or_the_repository_runs(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    mark = tmp_path / "ran"
    for file in ("suite_laws.py", "reference/operators.py"):
        (suite / file).write_text(f"open({str(mark)!r}, 'w')\n")
    (suite / ".gitattributes").write_text("*.yaml filter=trap export-subst\n*.toml export-ignore\n")
    git(suite, "config", "filter.trap.smudge", f"touch '{mark}'; cat")
    for hook in ("post-checkout", "reference-transaction"):
        made = suite.parent / ".git" / "hooks" / hook
        made.parent.mkdir(exist_ok=True)
        made.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
        made.chmod(0o755)
    git(suite, "add", ".")
    git(suite, "-c", "core.hooksPath=/dev/null", "commit", "-m", "traps")
    mark.unlink(missing_ok=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path))  # as in a hook of another repository
    before = files(suite)
    assert diff(capsys, "HEAD~1", "HEAD")["status"] == 0
    assert not mark.exists()
    assert files(suite) == before


NAMES = {
    "nothing": "",
    "an option": "-x",
    "an option of git": "--output=out",
    "no revision": "v9",
    "a command": "$(touch out)",
    "a line end": "HEAD\nHEAD",
    "a steered terminal": "\x1b[2J",
    "a long name": "a" * 5000,
    "a tree": "HEAD^{tree}",
    "a file": "tally.toml",
    "a folder without a suite": "spec",
    "no folder": "/gone",
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_what_names_no_suite_is_one_complaint(name: str, suite: Path, capsys: Capture) -> None:
    before = files(suite)
    for words in ((NAMES[name], "."), (".", NAMES[name])):
        assert status_of(["diff", "--", *words]) == 2
        printed = capsys.readouterr()
        said, hint = printed.err.splitlines()
        assert ": T023 " in said
        assert hint.startswith("    hint: ")
        assert (printed.out, said.isprintable()) == ("", True)
    assert files(suite) == before


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("tally.toml", "[suite", "main:tally.toml:1:"),
        (CONTRACT, "contract: {", f"main:{CONTRACT}:2:"),
        ("vectors/index.json", "{}", "main:vectors/index.json: T004 "),
        (LOCK, '{"contracts": 1, "released": null}', f"main:{LOCK}: T004 "),
    ],
)
def test_a_revision_whose_files_are_broken_is_told_by_its_name(
    file: str, content: str, said: str, suite: Path, capsys: Capture
) -> None:
    (suite / file).write_text(content)
    git(suite, "commit", "-am", "broken")
    git(suite, "checkout", "v1.0.0")
    assert status_of(["diff", "main", "."]) == 2
    assert said in capsys.readouterr().err


def test_a_link_that_leaves_the_suite_is_refused_and_one_inside_is_followed(suite: Path, capsys: Capture) -> None:
    (suite / "shared").mkdir()
    (suite / CONTRACT).rename(suite / "shared" / "clamp.yaml")
    (suite / CONTRACT).symlink_to("../../shared/clamp.yaml")
    git(suite, "add", ".")
    git(suite, "commit", "-m", "a link")
    assert diff(capsys, "v1.0.0", "HEAD")["status"] == 0
    (suite / CONTRACT).unlink()
    (suite / CONTRACT).symlink_to("/etc/hostname")
    git(suite, "commit", "-am", "another link")
    git(suite, "checkout", "v1.0.0")
    assert status_of(["diff", "v1.0.0", "main"]) == 2
    assert f"main:{CONTRACT}:1:1: C018 the link leaves the suite" in capsys.readouterr().err
