"""Findings as text, JSON and SARIF 2.1.0."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance.cli.main import status_of
from conformance.contract.yaml.source import Position, Problem
from conformance.lint.catalogue import RULES
from conformance.lint.output import as_json, as_sarif, as_text, findings_of
from conformance.lint.rule import Finding

FINDINGS = (
    Finding(Position("spec/data/A_v1.yaml", 12, 5), "L301", 'no case in which guard "a" is false', "A_v1", "add one"),
    Finding(Position("spec/data/A_v1.yaml", 12, 9), "L109", "nothing uses let 'b'", "A_v1"),
    Finding(Position("spec/errors.yaml", 3, 1), "C001", "bad YAML: [markup] & <tags> — «ü»"),
)

# The fields of ANCHORS' extract of sarif-schema-2.1.0.json that this writer uses; anything else is a mistake.
TEXT = {
    "type": "object",
    "required": ["text"],
    "additionalProperties": False,
    "properties": {"text": {"type": "string"}},
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = {
    "type": "object",
    "required": ["id"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "help": {"type": "object", "required": ["text"]},
        "helpUri": {"type": "string", "format": "uri"},
        "defaultConfiguration": {"type": "object", "additionalProperties": False, "properties": {"level": LEVEL}},
        "properties": {"type": "object"},
    },
}
REGION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        name: {"type": "integer", "minimum": 1} for name in ("startLine", "startColumn", "endLine", "endColumn")
    },
}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"uri": {"type": "string", "pattern": "^[^/\\\\ ][^\\\\ ]*$"}},
                },
                "region": REGION,
            },
        },
        "logicalLocations": {
            "type": "array",
            "items": {"type": "object", "properties": {"fullyQualifiedName": {"type": "string", "minLength": 1}}},
        },
    },
}
RESULT = {
    "type": "object",
    "required": ["message"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": TEXT,
        "locations": {"type": "array", "items": LOCATION},
    },
}
DRIVER = {
    "type": "object",
    "required": ["name", "informationUri"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "string"},
        "semanticVersion": {"type": "string"},
        "informationUri": {"type": "string", "pattern": "^https://"},
        "rules": {"type": "array", "items": RULE, "uniqueItems": True},
    },
}
RUN = {
    "type": "object",
    "required": ["tool"],
    "additionalProperties": False,
    "properties": {
        "tool": {
            "type": "object",
            "required": ["driver"],
            "additionalProperties": False,
            "properties": {"driver": DRIVER},
        },
        "invocations": {"type": "array", "items": {"type": "object", "required": ["executionSuccessful"]}},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": RESULT},
    },
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": RUN},
    },
}


def sarif(findings: tuple[Finding, ...]) -> Any:
    return json.loads(as_sarif(findings))


def test_text_is_one_line_for_each_finding_and_its_hint_below() -> None:
    assert as_text(FINDINGS).splitlines() == [
        'spec/data/A_v1.yaml:12:5: L301 no case in which guard "a" is false',
        "    hint: add one",
        "spec/data/A_v1.yaml:12:9: L109 nothing uses let 'b'",
        "spec/errors.yaml:3:1: C001 bad YAML: [markup] & <tags> — «ü»",
    ]
    assert as_text(()) == ""


@pytest.mark.parametrize("findings", [FINDINGS, FINDINGS[:1], ()])
def test_sarif_has_the_fields_of_the_standard_and_no_others(findings: tuple[Finding, ...]) -> None:
    jsonschema.Draft202012Validator(SARIF).validate(sarif(findings))


def test_every_sarif_result_points_at_its_rule_and_place() -> None:
    (run,) = sarif(FINDINGS)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules[: len(RULES)]] == [rule.code for rule in RULES]
    for result, finding in zip(run["results"], FINDINGS, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.code
        physical = result["locations"][0]["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == finding.position.file
        assert physical["region"] == {"startLine": finding.position.line, "startColumn": finding.position.column}
        assert finding.message in result["message"]["text"]
        assert finding.hint in result["message"]["text"]


def test_the_level_of_a_result_is_that_of_its_rule() -> None:
    (run,) = sarif(FINDINGS)["runs"]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "error"]


def test_json_holds_every_finding_and_every_rule() -> None:
    record = json.loads(as_json(FINDINGS))
    assert [rule["code"] for rule in record["rules"]] == [rule.code for rule in RULES]
    assert record["findings"][0] == {
        "file": "spec/data/A_v1.yaml",
        "line": 12,
        "column": 5,
        "code": "L301",
        "level": "error",
        "message": 'no case in which guard "a" is false',
        "about": "A_v1",
        "hint": "add one",
    }
    assert len(record["findings"]) == len(FINDINGS)


def test_the_same_findings_give_the_same_bytes() -> None:
    for write in (as_text, as_json, lambda findings: as_sarif(findings)):
        assert write(FINDINGS) == write(list(FINDINGS))


def test_the_problems_of_a_malformed_contract_are_findings_in_order() -> None:
    late, early = (
        Problem(Position("b.yaml", 1, 1), "C004", "late", "h"),
        Problem(Position("a.yaml", 9, 1), "C001", "early"),
    )
    assert [str(finding) for finding in findings_of([late, early])] == [
        "a.yaml:9:1: C001 early",
        "b.yaml:1:1: C004 late",
    ]
    assert findings_of([late])[0].hint == "h"
    jsonschema.Draft202012Validator(SARIF).validate(sarif(findings_of([late, early])))


def test_on_a_terminal_lines_fit_and_elsewhere_a_finding_is_one_line(
    new_suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "edited"
    shutil.copytree(new_suite, folder)
    rows, contract = folder / "spec/bounds/requirements.yaml", folder / "spec/bounds/Bounds.Clamp_v1.yaml"
    rows.write_text(rows.read_text("utf-8").replace("B01", "B07"), "utf-8")
    contract.write_text(contract.read_text("utf-8").replace("clamping-twice", "no-such-law"), "utf-8")
    monkeypatch.setenv("COLUMNS", "60")
    capsys.readouterr()
    assert status_of(["lint", "--suite", str(folder)]) == 1
    piped = capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert status_of(["lint", "--suite", str(folder)]) == 1
    shown = capsys.readouterr().out

    assert max(map(len, piped.splitlines())) > 80
    assert max(map(len, shown.splitlines())) <= 60
    assert shown.split() == piped.split()
    paste = [line for line in piped.splitlines() if line.startswith(("- id: ", "  "))]
    assert "  - guard:Bounds.Clamp_v1#ordered" in paste
    assert [line for line in paste if line.startswith(("- ", "  -"))] == [
        line for line in shown.splitlines() if line.startswith(("- ", "  -"))
    ]
