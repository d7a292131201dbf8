"""A transcript is a test for a program in any language: requests piped through, answers compared with `diff`."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import status_of
from conformance.contract.jsonschema import schema_of
from conformance.tests.page_blocks import compared_by
from conformance.tests.page_places import TYPES
from conformance.tests.shipped import shipped_library

OPERATOR = "UML_OS.Data.SeededIntraBlockMap_v1"

# Written by docs/writing-a-backend.md alone. Numbers are compared as texts, since awk's are doubles.
CLAMP = r"""
function text(name) { match($0, "\"" name "\":\"[0-9]+\""); return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5) }
function less(a, b) { return length(a) < length(b) || (length(a) == length(b) && a "" < b "") }
{ match($0, /"id":[0-9]+/); id = substr($0, RSTART + 5, RLENGTH - 5) }
/"tally.hello"/ { print "{\"id\":" id ",\"jsonrpc\":\"2.0\",\"result\":{\"name\":\"awk\",\"operators\":[\"Bounds.Clamp_v1\"],\"protocol\":1}}"; fflush(); next }
/"tally.bye"/ { exit }
{
  low = text("low"); high = text("high"); value = text("value")
  if (less(high, low)) {
    print "{\"error\":{\"code\":1801,\"data\":{\"failure_code\":\"CONTRACT_VIOLATION\",\"failure_operator\":\"Bounds.Clamp_v1\"},\"message\":\"CONTRACT_VIOLATION\"},\"id\":" id ",\"jsonrpc\":\"2.0\"}"
  } else {
    if (less(value, low)) value = low
    if (less(high, value)) value = high
    print "{\"id\":" id ",\"jsonrpc\":\"2.0\",\"result\":{\"clamped\":\"" value "\"}}"
  }
  fflush()
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def transcript(new_suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("clamp") / "mine"
    assert status_of(["new-backend", "--suite", str(new_suite), "--language", "any", str(into)]) == 0
    (into / "clamp.awk").write_text(CLAMP)
    return into


def piped(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """The line of README.md for a program that needs no `jq`."""
    line = f"{program} < requests.jsonl | grep -v '\"id\":0[,}}]' | LC_ALL=C sort | diff - answers.jsonl"
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=30)


def test_the_page_has_the_line_that_is_tried_here(transcript: Path) -> None:
    assert "| grep -v '\"id\":0[,}]' | LC_ALL=C sort | diff - answers.jsonl" in (transcript / "README.md").read_text()


def test_the_page_of_a_backend_beside_its_suite_names_the_suite(
    transcript: Path, new_suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (line,) = (line.strip() for line in (transcript / "README.md").read_text().splitlines() if "tally run" in line)
    words = shlex.split(line)
    assert (transcript / words[words.index("--suite") + 1]).resolve() == new_suite.resolve()
    monkeypatch.chdir(transcript)
    (transcript / "program").write_text("#!/bin/sh\n")
    (transcript / "program").chmod(0o755)
    assert status_of([*words[1:], "--list"]) == 0


def test_a_program_in_awk_that_is_right_differs_nowhere(transcript: Path, tool: Callable[[str], str]) -> None:
    tool("awk")
    compared = piped(transcript, "awk -f clamp.awk")
    assert (compared.returncode, compared.stdout, compared.stderr) == (0, "", "")


WRONG = [("value = high", "value = low"), ("1801", "1802"), ("length(a) < length(b)", "0")]


@pytest.mark.parametrize(("right", "wrong"), WRONG)
def test_a_program_that_is_wrong_differs(
    right: str, wrong: str, transcript: Path, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    tool("awk")
    folder = shutil.copytree(transcript, tmp_path / "wrong")
    assert right in CLAMP
    (folder / "clamp.awk").write_text(CLAMP.replace(right, wrong, 1))
    assert piped(folder, "awk -f clamp.awk").returncode == 1


def test_a_second_implementation_gives_the_answers_of_every_kind_of_call(
    tmp_path: Path, tool: Callable[[str], str]
) -> None:
    assert status_of(["new-backend", "--language", "any", "--operator", OPERATOR, str(tmp_path / "mine")]) == 0
    requests = (tmp_path / "mine" / "requests.jsonl").read_text("utf-8")
    answers = [json.loads(line) for line in (tmp_path / "mine" / "answers.jsonl").read_text("utf-8").splitlines()]
    assert {answer["error"]["message"] for answer in answers if "error" in answer} == {
        *shipped_library().contracts[OPERATOR].codes
    }
    assert any("result" in answer for answer in answers)
    suite = shipped_library().suite
    tool("node")
    command = [sys.executable, *suite.backends["javascript"].split()[1:]]
    done = subprocess.run(command, cwd=suite.root, input=requests, capture_output=True, text=True, timeout=60)
    given = [json.loads(line) for line in done.stdout.splitlines()]
    assert by_id(one for one in given if one["id"] > 0) == by_id(answers), done.stderr


def by_id(messages: Any) -> list[Any]:
    return sorted(messages, key=lambda one: int(one["id"]))


def test_an_operator_with_handles_or_folders_has_no_transcript(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["new-backend", "--language", "any", "--operator", "Stream", str(tmp_path / "mine")]
    assert status_of(arguments) == 2
    assert "T006 its calls need folders or handles" in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


# -- types for other languages

@pytest.mark.parametrize("command", TYPES)
def test_a_generator_makes_types_of_the_schema(
    command: str, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    """As the page has it, but for npx, which would ask a registry."""
    generator = tool("quicktype")
    schema = schema_of(shipped_library().contracts[OPERATOR], shipped_library().errors)
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    _, _, *arguments = shlex.split(command)
    subprocess.run([generator, *arguments], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    text = (tmp_path / arguments[-1]).read_text("utf-8")
    assert [part for part in TYPES[command] if part not in text] == []


def test_the_go_type_of_the_page_has_the_parameters_of_the_schema() -> None:
    (shown,) = compared_by(Path(__file__).name, "docs/writing-a-backend.md")
    members = dict(re.findall(r'^\t\w+ +(\w+) +`json:"(\w+)"`$', shown.text, re.MULTILINE))
    asked = schema_of(shipped_library().contracts[OPERATOR], shipped_library().errors)["$defs"]["params"]
    assert sorted(re.findall(r'`json:"(\w+)"`', shown.text)) == sorted(asked["properties"])
    assert set(members) == {"string"}
    assert shown.text.count("\n") == len(asked["properties"]) + 2


@pytest.mark.parametrize("named", [OPERATOR, "Stream"])
def test_a_schema_has_what_generators_need(named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["schema", named]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == named
    for target in references(schema):  # a generator does not look up names: every reference is a place in the file
        place = schema
        assert target.startswith("#/")
        for step in target[2:].split("/"):
            place = place[step]
    ids = [place for place in inner(schema) if "$id" in place]
    assert ids == [schema]


def inner(schema: Any) -> list[dict[str, Any]]:
    parts = schema if isinstance(schema, list) else schema.values() if isinstance(schema, dict) else ()
    found = [one for part in parts for one in inner(part)]
    return [schema, *found] if isinstance(schema, dict) else found


def references(schema: Any) -> list[str]:
    return [one["$ref"] for one in inner(schema) if isinstance(one.get("$ref"), str)]
