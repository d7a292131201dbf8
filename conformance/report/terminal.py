"""The report that people read in a terminal: banner, table, every distinct failure, diagnosis, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.contract.wording import counted
from conformance.report.failure import LABEL, WIDEST, Fact, lines_of, wrapped
from conformance.report.record import Record
from conformance.report.summary import (
    MOST_FAILURES,
    banner,
    listed_failures,
    remarks,
    score_of,
    scores_by_backend,
    scores_by_kind,
    undeclared,
    undeclared_line,
)
from conformance.report.untrusted import for_log, one_line
from conformance.report.verdict import tone_of
from conformance.report.writer import Observations

_UNDECLARED: Final = "n/a"
_NAMES: Final = 3  # names of operators that are not declared
_TONES: Final = {"good": "bold green", "fair": "bold yellow", "bad": "bold red"}
_STYLES: Final = {"FAIL": "bold red", "pass": "green", "excused": "yellow", "n/a": "dim", "not run": "dim"}


def verdict_table(records: Sequence[Record]) -> Table:
    """A row per operator; of one backend a column per kind of check, of several a column each."""
    # No room to spare: with the longest operator's name the columns fill 80 characters.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0, header_style="bold")
    table.add_column("operator", overflow="fold")
    if len(records) == 1:
        titles, rows = scores_by_kind(records[0])
        for title in titles:
            table.add_column(title, justify="right")
        table.add_column("verdict")
        for operator, scores, word in rows:
            cells = [Text(one.text, style=_STYLES[one.word]) for one in scores]
            table.add_row(Text(one_line(operator)), *cells, Text(word, style=_STYLES[word]))
        return table
    for record in records:
        table.add_column(Text(one_line(record["backend"]["text"])), overflow="fold", justify="right")
    folded = undeclared(records)
    for operator, found in scores_by_backend(records):
        if operator not in folded:
            cells = [Text() if one is None else Text(one.named, style=_STYLES[one.word]) for one in found]
            table.add_row(Text(one_line(operator)), *cells)
    return table


_PAGE: Final = 80  # columns of a page without a terminal


def text_page(records: Sequence[Record], observed: Sequence[Observations]) -> str:
    """The text of the terminal, at most 80 columns wide except lines to copy."""
    made = StringIO()
    show(records, Console(file=made, width=_PAGE, color_system=None), observed=observed)
    return made.getvalue()


def show(
    records: Sequence[Record],
    console: Console,
    most: int = MOST_FAILURES,
    observed: Sequence[Observations] = (),
    level: int = 0,
    durations: int | None = None,
) -> None:
    """Print the report of one run, of one backend or several side by side; `observed` has one member per record.

    `level` is -1 for the verdict alone and 1 for a line per check; `durations` is the number of slowest checks that are
    named (0: all of them, None: none).
    """

    def line(text: str = "", style: str = "", label: str = "") -> None:
        shown = Text().append(f"{label:<{LABEL}}" if label else "", style="bold")
        console.print(shown.append(for_log(one_line(text)), style=style), soft_wrap=True)

    observed = observed or [{}] * len(records)
    if level < 0:
        for record, observations in zip(records, observed, strict=True):
            _slowest(observations, durations, line)
            said = f"{record['backend']['text']}: " if len(records) > 1 else ""
            line(f"{said}{record.sentence}", _TONES[tone_of(record.verdict)])
        return
    for record in records:
        for label, text in banner(record):
            line(text, label=label)
        line()
        if level > 0:
            _each_check(record, line)
    table = verdict_table(records)
    if table.row_count:
        console.print(table)
        line()
    if names := undeclared(records):
        line(undeclared_line(names, most=len(names) if level > 0 else _NAMES), "dim")
        line()
    for record, observations in zip(records, observed, strict=True):
        if len(records) > 1:
            line()
            line(f"{record['backend']['text']}", style="bold underline")
        _failures(record, observations, console, line, most)
        width = min(console.width, WIDEST)
        for text, style in remarks(record):
            for piece in wrapped(text, width):
                line(piece, style)
        _slowest(observations, durations, line)
        line(record.sentence, _TONES[tone_of(record.verdict)])


def _each_check(record: Record, line: Any) -> None:
    for entry in record.entries:
        word = score_of([entry]).word
        if word != _UNDECLARED:
            line(f"{word:<8}{entry['id']}", _STYLES[word])
    line()


def _slowest(observations: Observations, number: int | None, line: Any) -> None:
    """The slowest checks; the time of a conversation of several checks counts for its first check."""
    if number is None:
        return
    durations = dict(observations.get("durations", {}))
    slowest = sorted(durations, key=lambda id_: (-durations[id_], id_))[: number or None]
    line(f"slowest {len(slowest)} of {counted(len(durations), 'timed check')}:")
    for id_ in slowest:
        line(f"{durations[id_]:9.3f} s  {id_}")
    line()


def _failures(record: Record, observations: Observations, console: Console, line: Any, most: int) -> None:
    told, left = listed_failures(record, observations, most)
    for title, facts, hint in told:
        line(title, "bold red")
        facts += [Fact("looks like", hint)] if hint else []
        for label, text in lines_of(facts, min(console.width, WIDEST)):
            line(text if label else f"{' ' * LABEL}{text}", label=label)
        line()
    if left:
        line(f"{left}; -k PATTERN or --show N shows them")
        line()
