"""`tally vectors release`: a patch, a minor and a breaking release of a small suite, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import status_of
from conformance.tests.released_suite import (
    CHANGELOG,
    CONTRACT,
    LOCK,
    OPERATOR,
    SUCCESSOR,
    broken,
    built,
    edit,
    extended,
    files,
    patched,
    succeeded,
    version,
)
from conformance.vectors.jsontext import write_whole

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(new_suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new suite, and a copy of it that was released as v1.0.0; not to be changed."""
    folder = tmp_path_factory.mktemp("suites")
    shutil.copytree(new_suite, folder / "bounds")
    shutil.copytree(new_suite, folder / "released")
    assert status_of(["vectors", "release", "--suite", str(folder / "released")]) == 0
    return folder


@pytest.fixture
def new(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return copied(made / "bounds", tmp_path, monkeypatch)


@pytest.fixture
def suite(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return copied(made / "released", tmp_path, monkeypatch)


def copied(suite: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a suite, which is the current folder."""
    shutil.copytree(suite, folder / "bounds")
    monkeypatch.chdir(folder / "bounds")
    return folder / "bounds"


def tag(suite: Path) -> str:
    return str(json.loads((suite / LOCK).read_text("utf-8"))["released"]["tag"])


def test_the_first_release_arms_lint_and_is_made_once(suite: Path, capsys: Capture) -> None:
    assert tag(suite) == "v1.0.0"
    assert f"## v1.0.0\n\n- `{OPERATOR}` 1.0.0, new\n  - 46 vectors\n" in (suite / CHANGELOG).read_text("utf-8")
    assert status_of(["lint"]) == 0
    before = files(suite)
    assert status_of(["vectors", "release"]) == 0
    assert "nothing to release" in capsys.readouterr().out
    built(suite)
    assert files(suite) == before


def test_a_dry_run_prints_what_would_be_written_and_writes_nothing(new: Path, capsys: Capture) -> None:
    before = files(new)
    assert status_of(["vectors", "release", "--dry-run", "--tag", "spring"]) == 0
    printed = capsys.readouterr().out
    assert f"would write {CHANGELOG}, with this entry:\n    ## spring\n" in printed
    assert f"would write {LOCK}: spring in `released`" in printed
    assert files(new) == before


def refused(suite: Path, said: str, capsys: Capture, code: str) -> None:
    """Both lint and a release say which version the operator needs, and nothing is written."""
    before = files(suite)
    capsys.readouterr()
    assert status_of(["lint"]) == 1
    found = capsys.readouterr().out
    assert f"{CONTRACT}:2:10: {code} {OPERATOR} " in found
    assert said in found
    assert status_of(["vectors", "release"]) == 1
    printed = capsys.readouterr().err
    assert "not released: T024 1 of the contracts need" in printed
    assert said in printed
    assert files(suite) == before


def test_a_patch_is_released(suite: Path, capsys: Capture) -> None:
    patched(suite)
    built(suite)
    refused(suite, "raise its version to 1.0.1", capsys, "V012")
    version(suite, "1.0.1")
    assert status_of(["vectors", "release"]) == 0
    assert tag(suite) == "v1.0.1"


def test_a_minor_version_is_released(suite: Path, capsys: Capture) -> None:
    extended(suite)
    version(suite, "1.0.1")
    refused(suite, "raise its version to 1.1.0", capsys, "V012")
    version(suite, "1.1.0")
    assert status_of(["vectors", "release"]) == 0
    assert tag(suite) == "v1.1.0"
    entries = (suite / CHANGELOG).read_text("utf-8")
    assert f"- `{OPERATOR}` 1.0.0 to 1.1.0\n  - MINOR: `vectors added: 1 in wrong-bounds`\n" in entries
    assert entries.index("## v1.1.0\n") < entries.index("## v1.0.0\n")


def test_a_breaking_change_is_not_released_under_the_same_number(suite: Path, capsys: Capture) -> None:
    broken(suite)
    version(suite, "1.1.0")
    refused(suite, f"the change gets the next number: {SUCCESSOR}, version 2.0.0", capsys, "V011")


def test_a_breaking_change_is_released_as_another_operator(suite: Path, capsys: Capture) -> None:
    succeeded(suite)
    (suite / "reports" / "kill-matrix.json").unlink()  # the new operator has no mutants
    built(suite)
    assert status_of(["vectors", "release"]) == 0, capsys.readouterr().err
    assert tag(suite) == "v2.0.0"
    assert f"- `{SUCCESSOR}` 2.0.0, new, the successor of `{OPERATOR}`\n" in (suite / CHANGELOG).read_text("utf-8")


def test_a_released_operator_cannot_go(suite: Path, capsys: Capture) -> None:
    succeeded(suite)
    (suite / CONTRACT).unlink()
    built(suite)
    assert status_of(["vectors", "release"]) == 1
    assert f"{OPERATOR} was released with v1.0.0 and is gone: restore it" in capsys.readouterr().err


def test_what_lint_or_a_check_of_the_vectors_finds_is_not_released(new: Path, capsys: Capture) -> None:
    edit(new / CONTRACT, "purpose: Bring a number between two bounds.", "purpose: bring")
    assert status_of(["vectors", "release"]) == 1
    assert "T024 lint has" in capsys.readouterr().err
    edit(new / CONTRACT, "purpose: bring", "purpose: Bring a number between two bounds.")
    edit(new / "reference" / "operators.py", "min(max(value, low), high)}", "min(max(value, low), high) + 1}")
    before = files(new)
    assert status_of(["vectors", "release"]) == 1
    assert "the vectors are not what the contracts and backends make" in capsys.readouterr().err
    assert files(new) == before


def test_a_lock_that_cannot_be_written_leaves_the_changelog(
    suite: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    extended(suite)
    version(suite, "1.1.0")
    before, write = files(suite), write_whole

    def full(file: Path, content: str | bytes) -> None:
        if file.name == Path(LOCK).name:
            raise OSError(28, "No space left on device", str(file))
        write(file, content)

    monkeypatch.setattr("conformance.vectors.jsontext.write_whole", full)
    assert status_of(["vectors", "release"]) == 2
    assert "T011 cannot be written" in capsys.readouterr().err
    assert files(suite) == before


def test_a_release_that_was_cut_off_after_the_changelog_is_made_again(new: Path) -> None:
    (new / CHANGELOG).write_text("# Ours\n\nWords.\n\n## v1.0.0\n\n- half\n\n## 0.9\n\n- before\n", "utf-8")
    assert status_of(["vectors", "release"]) == 0
    text = (new / CHANGELOG).read_text("utf-8")
    assert text.startswith(f"# Ours\n\nWords.\n\n## v1.0.0\n\n- `{OPERATOR}` 1.0.0, new\n")
    assert text.endswith("\n\n## 0.9\n\n- before\n")
    assert "half" not in text


@pytest.mark.parametrize("hostile", ["\x1b[2Jv1.0.0", "v" + "9" * 5000 + ".0.0", "spring"])
def test_after_a_release_without_a_version_the_next_one_must_be_named(
    hostile: str, suite: Path, capsys: Capture
) -> None:
    lock = json.loads((suite / LOCK).read_text("utf-8"))
    lock["released"]["tag"] = hostile
    (suite / LOCK).write_text(json.dumps(lock), "utf-8")
    version(suite, "1.0.1")
    assert status_of(["vectors", "release"]) == 2
    assert "T024 the last release is called" in capsys.readouterr().err
    assert status_of(["vectors", "release", "--tag", "summer"]) == 0
    assert tag(suite) == "summer"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [("v1.0.1", 1, "name v1.1.0 or a later one"), ("v1.0.0", 1, "name v1.1.0"), ("-x\n", 2, "this is no tag")],
)
def test_a_tag_says_no_less_than_the_changes(words: str, status: int, said: str, suite: Path, capsys: Capture) -> None:
    extended(suite)
    version(suite, "1.1.0")
    before = files(suite)
    assert status_of(["vectors", "release", f"--tag={words}"]) == status
    assert said in capsys.readouterr().err
    assert files(suite) == before


HOSTILE: dict[str, Any] = {
    "cut off": '{"contracts": {',
    "an array": "[]",
    "a key twice": '{"contracts": {}, "contracts": {}, "released": null}',
    "no release": '{"contracts": {}}',
    "deep": "[" * 100_000,
    "bytes": b"\xff\xfe\x00",
    "a number for a version": lambda lock: lock["contracts"][OPERATOR].update(version=1),
    "a version of one number": lambda lock: lock["released"]["contracts"][OPERATOR].update(version="1"),
    "a text for a count": lambda lock: lock["contracts"][OPERATOR].update(cases="46"),
    "a list of groups": lambda lock: lock["contracts"][OPERATOR].update(groups=["values"]),
    "a number for a tag": lambda lock: lock["released"].update(tag=1),
    "a list of vectors": lambda lock: lock["released"].update(vectors=[]),
    "a number for a digest": lambda lock: lock["released"]["vectors"].update({f"{OPERATOR}::values::x": 1}),
    "no id of a vector": lambda lock: lock["released"]["vectors"].update({OPERATOR: "00"}),
    "no surfaces": lambda lock: lock["released"].pop("surfaces"),
    "a surface less": lambda lock: lock["released"]["surfaces"].clear(),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_lock_that_is_none_is_one_complaint(name: str, suite: Path, capsys: Capture) -> None:
    file, content = suite / LOCK, HOSTILE[name]
    if callable(content):
        lock = json.loads(file.read_text("utf-8"))
        content(lock)
        content = json.dumps(lock)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = files(suite)
    for command in (["vectors", "release"], ["diff", ".", "."]):
        assert status_of(command) == 2
        printed = capsys.readouterr()
        assert (printed.out, len(printed.err.splitlines())) == ("", 2), printed.err
        assert f"{LOCK}: T004 it is no contracts.lock" in printed.err
    assert files(suite) == before
