"""A result as it stands in the record: a JSON object, with empty members left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.trial.check import Call, Difference, Result

Entry = Mapping[str, Any]
_ALWAYS: Final = frozenset({"id", "kind", "operator", "group", "why", "verdict", "requirements", "rulings"})


def entry_of(result: Result, excused: bool = False) -> Entry:
    """The record's entry for one result; `excused` where an expected-failures file lists it."""
    check = result.check
    members: dict[str, Any] = {
        "id": check.id,
        "kind": check.kind.value,
        "operator": check.operator,
        "group": check.group,
        "why": check.why,
        "requirements": list(check.requirements),
        "rulings": list(check.rulings),
        "verdict": result.verdict.value,
        "outcome": result.outcome,
        "step": result.step,
        "message": result.message,
        "difference": _difference(result.difference),
        "call": _call(result.call),
        "broken": list(result.broken),
        "details": dict(result.details),
        "excused": excused,
    }
    return {name: value for name, value in members.items() if value or name in _ALWAYS}


def cited_by_guards(entry: Entry, member: str) -> list[str]:
    """What the guards that compete in an entry cite, each id once; `member` is requirements or rulings."""
    guards = entry.get("details", {}).get("guards", {})
    both = [*filter(None, [guards.get("decides")]), *guards.get("answered", ())]
    return list(dict.fromkeys(id_ for guard in both for id_ in guard[member]))


def _difference(difference: Difference | None) -> Entry | None:
    if difference is None:
        return None
    members = {"path": difference.path, "expected": difference.expected, "actual": difference.actual}
    return {**members, "note": difference.note} if difference.note else members


def _call(call: Call | None) -> Entry | None:
    if call is None:
        return None
    members = {"operator": call.operator, "inputs": call.inputs}
    return members if call.answer is None else {**members, "answer": call.answer}
