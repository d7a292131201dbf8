"""The verdict table: operators by kinds of checks, or by backends where there are several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from conformance.report.printable import printable
from conformance.report.record import Record
from conformance.report.score import KINDS, Score, by_operator, score_of, scores

_TITLES: Final = {"vector": "vectors", "law": "laws", "behaviour": "behaviour", "fuzz": "fuzz", "crash": "crash"}
_STYLES: Final = {"FAIL": "bold red", "pass": "green", "excused": "yellow", "n/a": "dim", "not run": "dim"}


def verdict_table(records: Sequence[Record]) -> Table:
    """A row per operator; of one backend a column per kind of check, of several a column each."""
    # Nothing to spare: beside the longest operator's name the columns fill 80 characters.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0, header_style="bold")
    table.add_column("operator", overflow="fold")
    if len(records) == 1:
        _by_kind(table, records[0])
    else:
        _by_backend(table, records)
    return table


def _by_kind(table: Table, record: Record) -> None:
    kinds = [kind for kind in KINDS if any(entry["kind"] == kind for entry in record.entries)]
    for kind in kinds:
        table.add_column(_TITLES[kind], justify="right")
    table.add_column("verdict")
    for operator, entries in by_operator(record).items():
        cells = [_cell(score_of(entry for entry in entries if entry["kind"] == kind)) for kind in kinds]
        word = score_of(entries).word
        table.add_row(Text(operator), *cells, Text(word, style=_STYLES[word]))


def _by_backend(table: Table, records: Sequence[Record]) -> None:
    columns = [scores(record) for record in records]
    for record in records:
        table.add_column(Text(printable(record["backend"]["text"])), overflow="fold", justify="right")
    for operator in sorted({operator for column in columns for operator in column}):
        cells = [_cell(column[operator], named=True) if operator in column else Text() for column in columns]
        table.add_row(Text(operator), *cells)


def _cell(score: Score, named: bool = False) -> Text:
    text = f"{score.text} {score.word}".strip() if named else score.text
    return Text(text, style=_STYLES[score.word])
