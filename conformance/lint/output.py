"""Findings as text, JSON and SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from conformance.contract.yaml.source import Problem
from conformance.lint.catalogue import RULES
from conformance.lint.rule import Finding
from conformance.lint.sarif import location_of, log_of, result_of, rule_of, run_of


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
    return json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def as_sarif(findings: Iterable[Finding]) -> str:
    """A SARIF 2.1.0 log of one run."""
    known = list(findings)
    index = {rule.code: k for k, rule in enumerate(RULES)}
    rules = [
        rule_of(rule.code, rule.name, rule.sentence, rule.level)
        | {"help": {"text": f"{rule.code} in docs/lint-rules.md says how to mend it."}}
        for rule in RULES
    ]
    for code in sorted({finding.code for finding in known} - index.keys()):
        index[code] = len(rules)
        rules.append(rule_of(code, "contract-language", "The file is not in the contract language."))
    return log_of([run_of("tally lint", rules, [_result(finding, index[finding.code]) for finding in known])])


def findings_of(problems: Iterable[Problem]) -> tuple[Finding, ...]:
    """The problems of malformed files as findings, so that every format can show them."""
    return tuple(Finding(p.position, p.code, p.message, "", p.hint) for p in sorted(problems))


def _level(code: str) -> str:
    return next((rule.level for rule in RULES if rule.code == code), "error")


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    text = f"{finding.message} (hint: {finding.hint})" if finding.hint else finding.message
    location = location_of(str(finding.position), finding.about)
    return result_of(finding.code, rule_index, text, [location], _level(finding.code))
