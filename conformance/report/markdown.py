"""A summary in Markdown for the pages of CI jobs: verdict, score of every operator, the first distinct failures.

The text of a backend appears in code spans and code blocks only, so it can make no link, no HTML and no heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from conformance.report.failure import plain_lines
from conformance.report.record import Record
from conformance.report.summary import (
    MOST_FAILURES,
    banner,
    listed_failures,
    remarks,
    scores_by_backend,
    scores_by_kind,
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
        verdicts = [[code(one["backend"]["text"]), code(one.sentence)] for one in records]
        blocks += ["## Tallystick", table(["backend", "verdict"], verdicts), _by_backend(records)]
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


def _by_kind(record: Record) -> str:
    titles, rows = scores_by_kind(record)
    cells = [[code(operator), *(one.text for one in scores), word] for operator, scores, word in rows]
    shown = table(["operator", *titles, "verdict"], cells)
    folded = undeclared([record])
    return f"{shown}\n\n{code(undeclared_line(folded))}" if folded else shown


def _by_backend(records: Sequence[Record]) -> str:
    rows = [
        [code(operator), *("" if one is None else one.named for one in scores)]
        for operator, scores in scores_by_backend(records)
    ]
    return table(["operator", *(code(record["backend"]["text"]) for record in records)], rows)


def _failures(record: Record, observations: Observations) -> Iterator[str]:
    told, left = listed_failures(record, observations, MOST_FAILURES)
    for title, facts, hint in told:
        head, _, id_ = title.partition(": ")
        yield f"#### {head}: {code(id_)}"
        yield block(plain_lines(facts))
        if hint:
            yield f"looks like: {code(hint)}"
    if left:
        yield f"{left}; the record has them all"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """Any text on one line, as a code span."""
    line = one_line(text) or " "
    ticks = "`" * (_longest(line) + 1)
    space = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def block(text: str) -> str:
    """Any lines as a code block."""
    fence = "`" * max(_longest(text) + 1, 3)
    return f"{fence}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
