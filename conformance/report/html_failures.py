"""One failure as the HTML page draws it: its facts, the marked difference, where a sequence parts, the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.report.failure import (
    Fact,
    FailureGroup,
    cut,
    facts_of,
    first_difference,
    headline,
    json_text,
    reproduction_in,
    shown_value,
    stderr_in,
)
from conformance.report.mistake_shapes import looks_like
from conformance.report.record import Entry, Record
from conformance.report.summary import others_of

LONGEST: Final = 4000  # characters of one text; people do not wait for a slow page
MOST_OTHERS: Final = 20  # similar failures that are named; the list of checks has all
_BEFORE: Final = 60  # characters of a long value that are shown before the first difference
_AFTER: Final = 140
_NEIGHBOURS: Final = 4  # elements of a sequence on each side of the first that differs
# The page shows these facts in another form.
_DRAWN: Final = frozenset({"differs at", "expected", "actual", "asked", "repeat", "explain", "stderr"})
_STEPS = re.compile(r"[^.\[\]]+|\[[0-9]{1,18}\]")


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text around the first character that differs from another text."""

    before: str
    mark: str
    after: str


@dataclass(frozen=True, slots=True)
class SequenceDifference:
    """Where two sequences part: elements from `begins` to `agreed` are equal, one of those up to `until` is not."""

    unit: str
    agreed: int
    until: int
    count: int
    around: tuple[tuple[int, str], ...] = ()  # the answered elements near that place, with their indices
    expected: str = ""  # the right element there
    begins: int = 0  # of a single call of a declared sequence: the position of its first value
    declared: bool = False  # whether the contracts declare the sequence

    @property
    def is_whole(self) -> bool:
        """Whether the sequence has no elements but those near that place."""
        return len(self.around) == self.count

    @property
    def share(self) -> float:
        """The place of the difference in the sequence, from 0 to 1."""
        return self.agreed / self.count


def failure_view(alike: FailureGroup, anchor: str, record: Record, observations: Mapping[str, Any]) -> dict[str, Any]:
    """A group of similar failures, represented by the first, in the form of the template."""
    entry = alike.first
    facts = list(facts_of(entry, record["prose"], reproduction_in(record)))
    told = [fact for fact in facts if fact.label not in _DRAWN]
    if alike.others:
        told.append(others_of(alike))
    if hint := looks_like([entry, *alike.others]):
        told.append(Fact("looks like", hint))
    call = entry.get("call")
    return {
        "anchor": anchor,
        "entry": entry,
        "headline": headline(entry),
        "size": alike.size,
        "facts": _joined_facts(told),
        "apart": _difference_window(entry),
        "parting": parting_of(entry),
        "call": _pretty(call["inputs"]) if call is not None else "",
        "answer": _pretty(call["answer"]) if call is not None and "answer" in call else "",
        "stderr": stderr_in(observations, entry).rstrip()[-LONGEST:],
        "commands": {fact.label: fact.text for fact in facts if fact.label in ("repeat", "explain")},
        "others": [(other["id"], headline(other)) for other in alike.others[:MOST_OTHERS]],
        "more": max(len(alike.others) - MOST_OTHERS, 0),
    }


def _joined_facts(facts: Sequence[Fact]) -> Sequence[tuple[str, Sequence[str], bool]]:
    """Facts with their texts; a fact without a label continues the one before."""
    joined: list[tuple[str, list[str], bool]] = []
    for fact in facts:
        if fact.label or not joined:
            joined.append((fact.label, [fact.text], fact.verbatim))
        else:
            joined[-1][1].append(fact.text)
    return joined


def _difference_window(entry: Entry) -> dict[str, Any] | None:
    """The first difference of an answer from the expected one, with a window of both around it."""
    difference = entry.get("difference")
    if difference is None:
        return None
    note, path = difference.get("note", ""), difference["path"]
    expected, actual = (shown_value(difference[side], path, note) for side in ("expected", "actual"))
    at = first_difference(expected, actual)
    place = f"{path or 'outcome'}" + (f" ({note})" if note else "")
    return {"place": place, "expected": marked(expected, at), "actual": marked(actual, at)}


def marked(text: str, at: int) -> MarkedText:
    """A window of a text around the character at `at`; the text outside the window is counted."""
    start, end = max(at - _BEFORE, 0), at + 1 + _AFTER
    head = f"({start} characters) ..." if start else ""
    tail = f"... ({len(text) - end} characters)" if end < len(text) else ""
    return MarkedText(head + text[start:at], text[at : at + 1], text[at + 1 : end] + tail)


def parting_of(entry: Entry) -> SequenceDifference | None:
    """The place where the sequence of a failure parts; None if no sequence of two or more elements differs."""
    calls = entry.get("details", {}).get("calls")
    if calls is not None:
        agreed, differs, count = calls["agreed"], calls["differs"], calls["count"]
        return SequenceDifference("call", agreed, differs, count) if 0 <= agreed < differs <= count > 1 else None
    steps = _STEPS.findall(entry.get("difference", {}).get("path", ""))
    if len(steps) < 2 or not steps[-1].startswith("["):
        return None
    found: Any = entry.get("call", {}).get("answer", {}).get("result")
    for step in steps[:-1]:
        found = _inner(found, step)
    index = int(steps[-1][1:-1])
    if not isinstance(found, list) or len(found) < 2 or index >= len(found):
        return None
    first = max(index - _NEIGHBOURS, 0)
    near = [(first + k, found[first + k]) for k in range(min(2 * _NEIGHBOURS + 1, len(found) - first))]
    scalars = all(isinstance(value, str | int | bool) for _, value in near)
    around = tuple((k, _element(value)) for k, value in near) if scalars else ()
    expected = _element(entry["difference"]["expected"])
    place = entry.get("details", {}).get("sequence")
    if place is not None and 0 <= place["begins"] <= place["position"] < place["length"]:
        at, begins = place["position"], place["begins"]
        around = tuple((begins + k, value) for k, value in around)
        return SequenceDifference(place["unit"], at, at + 1, place["length"], around, expected, begins, True)
    return SequenceDifference("element", index, index + 1, len(found), around, expected)


def _element(value: Any) -> str:
    """An element in a narrow cell; of whole numbers and digests the beginning is shown, because they differ there."""
    text = str(value)
    return text if len(text) <= 24 else f"{text[:24]}..."


def _inner(value: Any, step: str) -> Any:
    if step.startswith("["):
        index = int(step[1:-1])
        return value[index] if isinstance(value, list) and index < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


def _pretty(value: Any) -> str:
    """A wire value over several lines if it is short enough to read; a long one is cut."""
    text = json_text(value)
    if len(text) > LONGEST:
        return cut(text, LONGEST)
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
