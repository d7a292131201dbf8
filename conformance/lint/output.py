"""Findings as text, JSON and SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from conformance.contract.source import Problem
from conformance.lint.catalogue import RULES
from conformance.lint.rule import Finding

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def as_text(findings: Iterable[Finding]) -> str:
    """One line `file:line:col: CODE message` for each finding, its hint indented below."""
    lines: list[str] = []
    for finding in findings:
        lines.append(str(finding))
        if finding.hint:
            lines.append(f"    hint: {finding.hint}")
    return "".join(f"{line}\n" for line in lines)


def as_json(findings: Iterable[Finding]) -> str:
    """A JSON object: the rules, and the findings in order."""
    record = {
        "rules": [
            {"code": rule.code, "name": rule.name, "level": rule.level, "sentence": rule.sentence} for rule in RULES
        ],
        "findings": [
            {
                "file": finding.position.file,
                "line": finding.position.line,
                "column": finding.position.column,
                "code": finding.code,
                "level": _level(finding.code),
                "message": finding.message,
                "about": finding.about,
                "hint": finding.hint,
            }
            for finding in findings
        ],
    }
    return _dumped(record)


def as_sarif(findings: Iterable[Finding], version: str) -> str:
    """A SARIF 2.1.0 log of one run; `version` is Tallystick's."""
    known = list(findings)
    index = {rule.code: k for k, rule in enumerate(RULES)}
    rules = [
        _rule(rule.code, rule.name, rule.sentence, rule.level)
        | {"help": {"text": f"{rule.code} in spec/README.md says how to mend it."}}
        for rule in RULES
    ]
    for code in sorted({finding.code for finding in known} - index.keys()):
        index[code] = len(rules)
        rules.append(_rule(code, "contract-language", "The file is not in the contract language.", "error"))
    driver = {"name": "tally lint", "version": version, "semanticVersion": version, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(finding, index[finding.code]) for finding in known],
    }
    return _dumped({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def findings_of(problems: Iterable[Problem]) -> tuple[Finding, ...]:
    """The problems of malformed files as findings, so that every format can show them."""
    return tuple(Finding(p.position, p.code, p.message, "", p.hint) for p in sorted(problems))


def _level(code: str) -> str:
    return next((rule.level for rule in RULES if rule.code == code), "error")


def _rule(code: str, name: str, sentence: str, level: str) -> dict[str, Any]:
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": sentence},
        "defaultConfiguration": {"level": level},
    }


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    text = f"{finding.message} (hint: {finding.hint})" if finding.hint else finding.message
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": finding.position.file},
            "region": {"startLine": finding.position.line, "startColumn": finding.position.column},
        }
    }
    if finding.about:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.about}]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _level(finding.code),
        "message": {"text": text},
        "locations": [location],
    }


def _dumped(record: Any) -> str:
    return json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
