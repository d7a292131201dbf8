"""A summary in Markdown for the pages of CI jobs: verdict, score of every operator, the first distinct failures.

What a backend said appears in code spans and code blocks only, where it can make no link, no HTML and no heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from conformance.report.failure import facts_of, failures_of, group_alike, plain, stderr_in, tried_in
from conformance.report.mistake_shapes import looks_like
from conformance.report.record import Record, by_operator
from conformance.report.summary import (
    KINDS,
    MOST_FAILURES,
    banner,
    group_title,
    others_of,
    remarks,
    score_of,
    undeclared,
    undeclared_line,
)
from conformance.report.untrusted import one_line
from conformance.report.writer import Observations

_TICKS = re.compile("`+")


def markdown(records: Sequence[Record], observed: Sequence[Observations]) -> str:
    """The page of one record, or of several side by side."""
    blocks: list[str] = []
    if len(records) > 1:
        blocks += ["## Tallystick", _verdicts(records), _by_backend(records)]
    for record, observations in zip(records, observed, strict=True):
        blocks += _account(record, observations, alone=len(records) == 1)
    return "\n\n".join(blocks) + "\n"


def _account(record: Record, observations: Observations, alone: bool) -> Iterator[str]:
    yield f"## Tallystick: {record.verdict}" if alone else f"### {code(record['backend']['text'])}: {record.verdict}"
    yield code(record.sentence)
    yield table(["", ""], [[label, code(" ".join(text.split()))] for label, text in banner(record)])
    if alone and record.entries:
        yield _by_kind(record)
    if said := [f"- {code(text)}" for text, _ in remarks(record)]:
        yield "\n".join(said)
    yield from _failures(record, observations)


def _verdicts(records: Sequence[Record]) -> str:
    return table(["backend", "verdict"], [[code(one["backend"]["text"]), code(one.sentence)] for one in records])


def _by_kind(record: Record) -> str:
    kinds = [kind for kind in KINDS if any(entry["kind"] == kind for entry in record.entries)]
    folded = undeclared([record])
    rows = []
    for operator, entries in by_operator(record.entries).items():
        if operator not in folded:
            cells = [score_of(entry for entry in entries if entry["kind"] == kind).text for kind in kinds]
            rows.append([code(operator), *cells, score_of(entries).word])
    shown = table(["operator", *(KINDS[kind] for kind in kinds), "verdict"], rows)
    return f"{shown}\n\n{code(undeclared_line(folded))}" if folded else shown


def _by_backend(records: Sequence[Record]) -> str:
    columns = [{name: score_of(some) for name, some in by_operator(record.entries).items()} for record in records]
    rows = []
    for operator in sorted({operator for column in columns for operator in column}):
        scores = [column.get(operator) for column in columns]
        rows.append([code(operator), *("" if one is None else f"{one.text} {one.word}".strip() for one in scores)])
    return table(["operator", *(code(record["backend"]["text"]) for record in records)], rows)


def _failures(record: Record, observations: Observations) -> Iterator[str]:
    groups = group_alike(failures_of(record.entries), record["prose"])
    for number, alike in enumerate(groups[:MOST_FAILURES], 1):
        title, _, id_ = group_title(alike, number, len(groups)).partition(": ")
        facts = [*facts_of(alike.first, record["prose"], tried_in(record), stderr_in(observations, alike.first))]
        facts += [others_of(alike)] if alike.others else []
        yield f"#### {title}: {code(id_)}"
        yield block(plain(facts))
        if hint := looks_like([alike.first, *alike.others]):
            yield f"looks like: {code(hint)}"
    if len(groups) > MOST_FAILURES:
        hidden = sum(alike.size for alike in groups[MOST_FAILURES:])
        yield f"and {len(groups) - MOST_FAILURES} more distinct failures ({hidden} checks); the record has them all"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """Text of any kind on one line, as a code span."""
    line = one_line(text) or " "
    ticks = "`" * (_longest(line) + 1)
    space = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def block(text: str) -> str:
    """Lines of any kind as a code block."""
    fence = "`" * max(_longest(text) + 1, 3)
    return f"{fence}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
