"""The checks that are known to fail: from an expected-failures file, and from the last run for `--last-failed`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from conformance.contract.cache import Cache, cache_folder, digest_of_texts
from conformance.contract.suite import Suite
from conformance.contract.yaml.source import MalformedContract, Position, Problem, Source
from conformance.trial.check import KnownFailure

_HEAD = """\
# Checks that are known to fail. A listed check that passes, and an entry that matches no check, fail the run.
# `tally run --expected-failures FILE --update-expected --reason TEXT --issue URL` writes this file.
"""


def load_expected_failures(file: Path, schema: Path) -> tuple[KnownFailure, ...]:
    """The entries of a file; raises MalformedContract at the position of the fault."""
    if not file.is_file():
        hint = "write [] into it for an empty list, or add --update-expected"
        raise MalformedContract([Problem(Position(str(file), 1, 1), "X001", "there is no such file", hint)])
    # Both take 100 ms to import, which a run without a list saves.
    from conformance.contract.yaml.parser import read
    from conformance.contract.yaml.schema import violations

    source = read(file)
    hint = "an entry is {check: ID or pattern with *, reason: why it fails, issue: https://...}"
    problems = [Problem(one.position, "X002", one.message, hint) for one in violations(source, schema)]
    problems += [] if problems else _twice(source)
    if problems:
        raise MalformedContract(problems)
    return tuple(KnownFailure(body["check"], body["reason"], body["issue"]) for body in source.value)


def _twice(source: Source) -> list[Problem]:
    seen: set[str] = set()
    problems = []
    for number, body in enumerate(source.value):
        if body["check"] in seen:
            problems.append(source.problem((number, "check"), "X003", f"{body['check']} is listed twice", "remove one"))
        seen.add(body["check"])
    return problems


def updated(
    listed: Sequence[KnownFailure],
    failing: Iterable[str],
    reason: str,
    issue: str,
    untried: Sequence[KnownFailure] = (),
) -> tuple[KnownFailure, ...]:
    """The list that excuses exactly the failing checks: entries that still match or were not tried keep their words."""
    failing = sorted(failing)
    kept = [one for one in listed if one in untried or any(fnmatchcase(id_, one.check) for id_ in failing)]
    new = [id_ for id_ in failing if not any(fnmatchcase(id_, entry.check) for entry in kept)]
    added = [KnownFailure(id_, reason, issue) for id_ in new]
    return tuple(sorted([*kept, *added], key=lambda entry: entry.check))


def dump_expected_failures(entries: Iterable[KnownFailure]) -> str:
    """The text of a file."""
    lines = []
    for entry in entries:
        # A JSON string is a YAML string; ids contain '#' and ': ', which plain YAML would misread.
        check, reason, issue = (json.dumps(one, ensure_ascii=False) for one in (entry.check, entry.reason, entry.issue))
        lines += [f"- check: {check}", f"  reason: {reason}", f"  issue: {issue}"]
    return _HEAD + ("\n".join(lines) if lines else "[]") + "\n"


_KIND: Final = "last-failed"


def failed_last(suite: Suite, backend: str) -> frozenset[str]:
    """The ids of the checks that failed in their last run on a backend."""
    found = _store().get(_KIND, _key(suite, backend))
    return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else frozenset()


def remember(suite: Suite, backend: str, red: Mapping[str, bool]) -> None:
    """Keep the ids of red checks; those of checks that were not made do not change."""
    before = failed_last(suite, backend)
    after = {one for one in before if one not in red} | {one for one, is_red in red.items() if is_red}
    if after != before:
        _store().put(_KIND, _key(suite, backend), sorted(after))


def _store() -> Cache:
    return Cache(cache_folder(), _KIND)


def _key(suite: Suite, backend: str) -> str:
    # In another folder a command line may start another program; a backend's name in the suite may not.
    place = "" if backend in suite.backends else str(Path.cwd())
    return digest_of_texts([str(suite.root), backend, place])
