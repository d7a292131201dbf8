"""The expected-failures file: which checks are known to fail, why, and where that is being worked on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.contract.source import MalformedContract, Position, Problem, Source, read
from conformance.trial.check import ExpectedFailure

_HEAD = """\
# Checks that are known to fail. A listed check that passes, and an entry that matches no check, fail the run.
# `tally run --expected-failures FILE --update-expected --reason TEXT --issue URL` writes this file.
"""


def load_expected_failures(file: Path, schema: Path) -> tuple[ExpectedFailure, ...]:
    """The entries of a file; raises MalformedContract at the position of what is wrong."""
    if not file.is_file():
        hint = "write [] into it for an empty list, or add --update-expected"
        raise MalformedContract([Problem(Position(str(file), 1, 1), "X001", "there is no such file", hint)])
    from conformance.contract.schema import violations  # 100 ms that a run without a list does without

    source = read(file)
    problems = [_hinted(problem) for problem in violations(source, schema)]
    problems += [] if problems else _twice(source)
    if problems:
        raise MalformedContract(problems)
    return tuple(ExpectedFailure(body["check"], body["reason"], body["issue"]) for body in source.value)


def _hinted(problem: Problem) -> Problem:
    hint = "an entry is {check: ID or pattern with *, reason: why it fails, issue: https://...}"
    return Problem(problem.position, "X002", problem.message, hint)


def _twice(source: Source) -> list[Problem]:
    seen: set[str] = set()
    problems = []
    for number, body in enumerate(source.value):
        if body["check"] in seen:
            problems.append(source.problem((number, "check"), "X003", f"{body['check']} is listed twice", "remove one"))
        seen.add(body["check"])
    return problems


def updated(
    listed: Sequence[ExpectedFailure],
    failing: Iterable[str],
    reason: str,
    issue: str,
    untried: Sequence[ExpectedFailure] = (),
) -> tuple[ExpectedFailure, ...]:
    """The list that excuses exactly the failing checks: entries that still match, or were not tried, stay as worded."""
    failing = sorted(failing)
    kept = [one for one in listed if one in untried or any(fnmatchcase(id_, one.check) for id_ in failing)]
    new = [id_ for id_ in failing if not any(fnmatchcase(id_, entry.check) for entry in kept)]
    added = [ExpectedFailure(id_, reason, issue) for id_ in new]
    return tuple(sorted([*kept, *added], key=lambda entry: entry.check))


def dump_expected_failures(entries: Iterable[ExpectedFailure]) -> str:
    """The text of a file."""
    lines = []
    for entry in entries:
        lines.append(f"- check: {_quoted(entry.check)}")
        lines.append(f"  reason: {_quoted(entry.reason)}")
        lines.append(f"  issue: {_quoted(entry.issue)}")
    return _HEAD + ("\n".join(lines) if lines else "[]") + "\n"


def _quoted(text: str) -> str:
    # A JSON string is a YAML string; ids contain '#' and ': ', which plain YAML would misread.
    return json.dumps(text, ensure_ascii=False)
