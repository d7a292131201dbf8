"""The CI files that `tally init` writes: valid by their public schemas, and their commands do what they say."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from conformance.cli.init import PROVIDERS
from conformance.cli.main import status_of
from conformance.tests.processes import ROOT, environment

Capture = pytest.CaptureFixture[str]
SCHEMAS = {"github": "github-workflows.json", "gitlab": "gitlab-ci.json"}  # pre-commit publishes none there


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a suite in a folder whose name has a blank; not to be changed."""
    repository = tmp_path_factory.mktemp("repository")
    (repository / ".git").mkdir()
    assert status_of(["init", str(repository / "own contracts")]) == 0
    return repository


@pytest.fixture
def repository(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy, as CI makes one; the current folder."""
    folder = tmp_path / "checkout"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    return folder


def loaded(repository: Path, provider: str) -> Any:
    return yaml.safe_load((repository / PROVIDERS[provider]).read_text("utf-8"))


@pytest.mark.parametrize("provider", SCHEMAS)
def test_a_file_fits_its_public_schema(made: Path, provider: str) -> None:
    schema = json.loads((files("check_jsonschema") / "builtin_schemas" / "vendor" / SCHEMAS[provider]).read_text())
    body = {("on" if key is True else key): part for key, part in loaded(made, provider).items()}  # YAML 1.1: on
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert [error.message for error in validator.iter_errors(body)] == []
    assert list(validator.iter_errors({**body, "jobs": 7, "script": 7}))  # the schema can say no


@pytest.mark.parametrize("file", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda file: file.stem)
def test_our_own_workflow_fits_the_schema_and_names_sessions_that_exist(file: Path) -> None:
    schema = json.loads((files("check_jsonschema") / "builtin_schemas" / "vendor" / SCHEMAS["github"]).read_text())
    body = {("on" if key is True else key): part for key, part in yaml.safe_load(file.read_text("utf-8")).items()}
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert [error.message for error in validator.iter_errors(body)] == []
    sessions = set(re.findall(r"^def (\w+)\(session: nox.Session\)", (ROOT / "noxfile.py").read_text("utf-8"), re.M))
    named = {
        name
        for job in body["jobs"].values()
        for step in job["steps"]
        for name in re.findall(r"nox -s (\w+)", step.get("run", ""))
    }
    named |= {name for job in body["jobs"].values() for name in job["strategy"]["matrix"].get("session", ())}
    assert named
    assert named - sessions == set()


def commands(repository: Path, provider: str) -> tuple[list[str], dict[str, str]]:
    """The shell scripts of a file and its environment, without those that install something."""
    body = loaded(repository, provider)
    if provider == "github":
        scripts = [step["run"] for step in body["jobs"]["conformance"]["steps"] if "run" in step]
        return [one for one in scripts if "pip install" not in one], body["env"]
    if provider == "gitlab":
        return [one for one in body["conformance"]["script"] if "pip install" not in one], body["variables"]
    hooks = body["repos"][0]["hooks"]
    return [shlex.join(shlex.split(hook["entry"])) for hook in hooks], {}


def dry_run(repository: Path, provider: str, tmp_path: Path, only: str = "", besides: Collection[str] = ()) -> int:
    """Run the commands of a file, those with a word, with a shell in the repository until one fails; its status.

    Those of `besides` are left out.
    """
    tally = tmp_path / "bin" / "tally"
    tally.parent.mkdir(exist_ok=True)
    tally.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m conformance.cli.main "$@"\n')
    tally.chmod(0o755)
    scripts, variables = commands(repository, provider)
    path = f"{tally.parent}{os.pathsep}{os.environ['PATH']}"
    env = environment(PATH=path, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"), **variables)
    for script in (one for one in scripts if only in one and one not in besides):
        ran = subprocess.run(["sh", "-e", "-c", script], cwd=repository, env=env, capture_output=True, check=False)
        if ran.returncode:
            return ran.returncode
    return 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_its_commands_pass_in_a_fresh_copy_and_leave_the_reports(
    repository: Path, provider: str, tmp_path: Path
) -> None:
    (scripts, variables), (first, given) = commands(repository, provider), commands(repository, "github")
    alike = {*first} if provider != "github" and variables == given else set()
    assert len({*scripts} & alike) == 2 * (provider == "gitlab")  # the vectors and the certificates
    assert dry_run(repository, provider, tmp_path, besides=alike) == 0
    if provider != "pre-commit":
        reports = repository / "tally-reports"
        assert {"junit.xml", "index.html", "badge.json", "record.json"} <= {file.name for file in reports.iterdir()}
        assert len(list(reports.rglob("*.sarif"))) == 2


def test_its_commands_fail_where_the_backend_is_wrong(repository: Path, tmp_path: Path) -> None:
    reference = repository / "own contracts" / "reference" / "operators.py"
    reference.write_text(reference.read_text("utf-8").replace("min(max(value, low), high)", "max(value, low)"), "utf-8")
    assert dry_run(repository, "pre-commit", tmp_path) == 1


def test_a_certificate_that_is_none_fails_its_commands(repository: Path, tmp_path: Path) -> None:
    (repository / "own contracts" / "a.intoto.json").write_text("{}")
    assert dry_run(repository, "gitlab", tmp_path, "verify") == 1


@pytest.mark.parametrize("provider", SCHEMAS)
def test_a_suite_that_cannot_be_searched_for_certificates_fails_its_commands(
    repository: Path, provider: str, tmp_path: Path
) -> None:
    (repository / "own contracts").rename(repository / "moved")
    assert dry_run(repository, provider, tmp_path, "verify") == 1


def test_hooks_run_where_no_file_of_the_suite_is_among_the_changed(made: Path) -> None:
    """The backend may be elsewhere, and a deleted file is not among those that a pattern is compared with."""
    hooks = loaded(made, "pre-commit")["repos"][0]["hooks"]
    assert [(hook.get("always_run"), hook.get("files")) for hook in hooks] == [(True, None)] * 2


def test_nothing_is_overwritten_unless_it_is_told_so(repository: Path, capsys: Capture) -> None:
    file = repository / PROVIDERS["gitlab"]
    file.write_text("mine: {}\n")
    command = ["init", "ci", "--provider", "gitlab", "--suite", "own contracts"]
    assert status_of(command) == 2
    assert "T005 this file exists already" in capsys.readouterr().err
    assert file.read_text() == "mine: {}\n"
    assert status_of([*command, "--force"]) == 0
    assert "own contracts" in file.read_text()


def test_a_path_that_is_not_safe_in_a_file_is_refused(repository: Path, capsys: Capture) -> None:
    (repository / "own contracts").rename(repository / "a${{ secrets }}")
    assert status_of(["init", "ci", "--provider", "github", "--suite", "a${{ secrets }}", "--force"]) == 2
    assert "T003 the path of the suite cannot be written into a CI file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["ci"], ["new", "--provider", "github"], ["ci", "--provider", "github"]])
def test_a_question_that_is_not_whole_writes_nothing(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status_of(["init", *arguments]) == 2
    assert "hint: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
