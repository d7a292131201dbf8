"""The report that people read in a terminal: banner, table, every distinct failure, diagnosis, verdict."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.report.failure import (
    LABEL,
    Alike,
    Fact,
    facts_of,
    failures_of,
    group_alike,
    lines_of,
    stderr_in,
    tried_in,
)
from conformance.report.mistake_shapes import looks_like
from conformance.report.printable import printable
from conformance.report.record import Entry, Record, by_operator
from conformance.report.verdict import CONFORMANT, PASSED, counted
from conformance.report.writer import Observations
from conformance.vectors.jsontext import write_whole

# The kinds of checks in the order of the columns, with their titles.
KINDS: Final = {"vector": "vectors", "law": "laws", "behaviour": "behaviour", "fuzz": "fuzz", "crash": "crash"}


@dataclass(frozen=True, slots=True)
class Score:
    """So many of so many that ran; `excused` failures were expected, `undeclared` checks never ran."""

    passed: int = 0
    excused: int = 0
    bad: int = 0
    undeclared: int = 0

    @property
    def ran(self) -> int:
        """How many checks were judged."""
        return self.passed + self.excused + self.bad

    @property
    def text(self) -> str:
        """The cell: passed of run, empty where there was nothing to run."""
        return f"{self.passed}/{self.ran}" if self.ran else ""

    @property
    def word(self) -> str:
        """The verdict in one word."""
        if self.bad:
            return "FAIL"
        if self.ran:
            return "pass" if not self.excused else "excused"
        return "n/a" if self.undeclared else "not run"


def score_of(entries: Iterable[Entry]) -> Score:
    """The score of some entries."""
    counts = Counter("excused" if entry.get("excused", False) else _COUNTED[entry["verdict"]] for entry in entries)
    return Score(**counts)


_COUNTED: Final = {"pass": "passed", "fail": "bad", "error": "bad", "not_applicable": "undeclared"}
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
        table.add_column(KINDS[kind], justify="right")
    table.add_column("verdict")
    for operator, entries in by_operator(record.entries).items():
        cells = [_cell(score_of(entry for entry in entries if entry["kind"] == kind)) for kind in kinds]
        word = score_of(entries).word
        table.add_row(Text(operator), *cells, Text(word, style=_STYLES[word]))


def _by_backend(table: Table, records: Sequence[Record]) -> None:
    columns = [{name: score_of(some) for name, some in by_operator(record.entries).items()} for record in records]
    for record in records:
        table.add_column(Text(printable(record["backend"]["text"])), overflow="fold", justify="right")
    for operator in sorted({operator for column in columns for operator in column}):
        cells = [_cell(column[operator], named=True) if operator in column else Text() for column in columns]
        table.add_row(Text(operator), *cells)


def _cell(score: Score, named: bool = False) -> Text:
    text = f"{score.text} {score.word}".strip() if named else score.text
    return Text(text, style=_STYLES[score.word])


MOST_FAILURES: Final = 8  # distinct ones; more than a screenful hides the first
_PAGE: Final = 80  # columns of a page without a terminal
_GROUP: Final = {"fail": "Failure group", "error": "Error group"}
_WIDEST: Final = 120  # columns; longer lines of prose are hard to read


class TextPage:
    """Writes the terminal's report to report.txt."""

    name = "text"

    def write(self, record: Record, observations: Observations, folder: Path) -> Sequence[Path]:
        """Write report.txt, at most 80 columns wide where nothing is meant to be copied."""
        page = StringIO()
        show([record], Console(file=page, width=_PAGE, color_system=None), observed=[observations])
        file = folder / "report.txt"
        write_whole(file, page.getvalue())
        return (file,)


def show(
    records: Sequence[Record],
    console: Console,
    most: int = MOST_FAILURES,
    observed: Sequence[Observations] = (),
) -> None:
    """Print the report of one run, of one backend or several side by side; `observed` has one member per record."""
    def line(text: str = "", style: str = "", label: str = "") -> None:
        shown = Text().append(f"{label:<{LABEL}}" if label else "", style="bold")
        console.print(shown.append(printable(text), style=style), soft_wrap=True)

    for record in records:
        for label, text in banner(record):
            line(text, label=label)
        line()
    table = verdict_table(records)
    if table.row_count:
        console.print(table)
        line()
    for record, observations in zip(records, observed or [{}] * len(records), strict=True):
        if len(records) > 1:
            line()
            line(f"{record['backend']['text']}", style="bold underline")
        _failures(record, observations, console, line, most)
        width = min(console.width, _WIDEST)
        for text, style in remarks(record):
            for piece in _wrapped(text, width):
                line(piece, style)
        line(record.sentence, _style(record.verdict))


def _style(verdict: str) -> str:
    if verdict == CONFORMANT:
        return "bold green"
    return "bold yellow" if verdict.startswith(PASSED) else "bold red"


def banner(record: Record) -> Iterator[tuple[str, str]]:
    """What was tried, how and against what, as labelled lines; one without a label continues the last."""
    backend, counts = record["backend"], record["counts"]
    said = " ".join(filter(None, [backend["name"], backend["version"]]))
    language = f" ({backend['language']})" if backend["language"] else ""
    text = "" if backend["name"] == backend["text"] else f"{backend['text']}: "
    yield "backend", f"{text}{said}{language}"
    chosen = f", selected {record['selection']}" if record["selection"] else ""
    seed = f", seed {record['seed']}" if record["seed"] else ""
    boxed = f", sandbox {backend['sandbox']}" if backend["sandbox"] != "none" else ""
    yield "run", f"profile {record['profile']}, wire {backend['wire']}{boxed}{chosen}{seed}"
    yield "against", f"tallystick {record['harness']}, vectors {record['vectors'][:16]}"
    judged = f"{counts['loaded']} loaded, {counts['selected']} selected"
    yield "checks", f"{judged}, {counts['not_applicable']} not applicable,"
    yield "", f"{' ' * LABEL}{counts['expected_to_fail']} expected to fail, {counts['run']} run"


def _failures(record: Record, observations: Observations, console: Console, line: Any, most: int) -> None:
    groups = group_alike(failures_of(record.entries), record["prose"])
    for number, alike in enumerate(groups[:most], 1):
        entry = alike.first
        size = counted(alike.size, "check")
        line(f"{_GROUP[entry['verdict']]} {number} of {len(groups)} ({size}): {entry['id']}", "bold red")
        facts = facts_of(entry, record["prose"], tried_in(record), stderr_in(observations, entry))
        others = [others_alike(alike)] if alike.others else []
        if hint := looks_like([alike.first, *alike.others]):
            others.append(Fact("looks like", hint))
        for label, text in lines_of([*facts, *others], min(console.width, _WIDEST)):
            line(text if label else f"{' ' * LABEL}{text}", label=label)
        line()
    if len(groups) > most:
        hidden = sum(alike.size for alike in groups[most:])
        line(f"and {len(groups) - most} more distinct failures ({hidden} checks); -k PATTERN or --show N shows them")
        line()


def others_alike(alike: Alike) -> Fact:
    """How many other failures of a group there are, by group of cases."""
    groups = Counter(entry["group"] for entry in alike.others)
    named = ", ".join(f"{group} {count}" for group, count in groups.most_common(4))
    hidden = sum(count for _, count in groups.most_common()[4:])
    checks = counted(len(alike.others), "other check")
    return Fact("alike", f"Same failure in {checks}: {named}" + (f", other groups {hidden}" if hidden else ""))


def remarks(record: Record) -> Iterator[tuple[str, str]]:
    """What a run says beside its failures, each with its style: red, yellow, dim, or bold for the diagnosis."""
    if unknown := sorted({*record["backend"]["operators"]} - {*record["contracts"]}):
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        yield f"declared, but no contract has this name: {', '.join(unknown[:3])}{more}", "yellow"
    for loss, times in Counter(record["unattributed"]).items():
        often = f" {times} times" if times > 1 else ""
        yield f"unattributed: the backend was lost{often}, and no check repeats it alone: {loss}", "red"
    for why in record["obstacles"]:
        yield f"nothing can be judged: {why}", "red"
    for name in record["missing"]:
        yield f"required, but not declared: {name}", "red"
    for id_ in record["unexpected_passes"]:
        yield f"listed as an expected failure, but passes: {id_}; take it off the list", "red"
    for pattern in record["unmatched_expectations"]:
        yield f"listed as an expected failure, but no check has this id: {pattern}", "red"
    excused = failures_of(record.entries, excused=True)
    if excused:
        checks = counted(len(excused), "check")
        yield f"{checks} failed as expected. Runs with expected failures are not certifiable.", "yellow"
    if record["fuzz"]:
        yield f"fuzz: {_figures(record['fuzz'].values())}", "dim"
    diagnosis = record["diagnosis"]
    if diagnosis is not None and diagnosis["mutants"]:
        cited = ", ".join([*diagnosis["requirements"], *diagnosis["rulings"]])
        said = f"{diagnosis['sentence']} ({cited}); as mutant {' or '.join(diagnosis['mutants'])}"
        if diagnosis["single"]:
            yield f"answers this case as a backend that {said}. One failing case is too little for a diagnosis.", "bold"
        else:
            yield f"diagnosis: {said}", "bold"
    elif failures_of(record.entries) and not record["obstacles"]:
        why = "no known mistake gives these answers" if diagnosis else "no kill matrix to look it up in"
        yield f"diagnosis: not explained ({why})", "bold"


def _figures(operators: Collection[Mapping[str, Any]]) -> str:
    examples, listed = (sum(figures.get(name, 0) for figures in operators) for name in ("examples", "listed"))
    share = 100 * sum(figures["succeeded"] for figures in operators) // max(examples, 1)
    guards = [sides for figures in operators for sides in figures.get("guards", {}).values()]
    both = sum(all(sides.values()) for sides in guards)
    drawn = f"{listed} calls listed, {examples} drawn, of which {share} % succeed"
    return f"{drawn}; {both} of {len(guards)} guards reached from both sides"


def _wrapped(text: str, width: int) -> list[str]:
    # Only the first line starts at the margin, so that none of a backend's words can pass for the verdict.
    indent = "    "
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
