"""The report that people read in a terminal: banner, table, every distinct failure, diagnosis, verdict."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from conformance.report.alike import Alike, failures_of, group_alike
from conformance.report.failure import LABEL, Fact, facts_of, lines_of, printable, tried_in
from conformance.report.record import Record
from conformance.report.verdict import CONFORMANT, NO_JUDGEMENT
from conformance.report.writer import Observations

if TYPE_CHECKING:
    from rich.console import Console

MOST_FAILURES: Final = 8  # distinct ones; more than a screenful hides the first
_PAGE: Final = 80  # columns of a page without a terminal
_WIDEST: Final = 120  # columns; longer lines of prose are hard to read


class TextPage:
    """Writes the terminal's report to report.txt."""

    name = "text"

    def write(self, record: Record, observations: Observations, folder: Path) -> Sequence[Path]:
        """Write report.txt, at most 80 columns wide where nothing is meant to be copied."""
        from rich.console import Console

        page = StringIO()
        show([record], Console(file=page, width=_PAGE, color_system=None))
        file = folder / "report.txt"
        file.write_text(page.getvalue(), encoding="utf-8")
        return (file,)


def show(records: Sequence[Record], console: Console, most: int = MOST_FAILURES) -> None:
    """Print the report of one run, of one backend or several side by side."""
    # rich costs 30 ms, which no other command should pay.
    from rich.text import Text

    from conformance.report.table import verdict_table

    def line(text: str = "", style: str = "", label: str = "") -> None:
        shown = Text().append(f"{label:<{LABEL}}" if label else "", style="bold")
        console.print(shown.append(printable(text), style=style), soft_wrap=True)

    for record in records:
        for label, text in _banner(record):
            line(text, label=label)
        line()
    table = verdict_table(records)
    if table.row_count:
        console.print(table)
        line()
    for record in records:
        if len(records) > 1:
            line()
            line(f"{record['backend']['text']}", style="bold underline")
        _failures(record, console, line, most)
        width = min(console.width, _WIDEST)
        for text, style in _remarks(record):
            for piece in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
                line(piece, style)
        line(_last(record), "bold green" if record.verdict == CONFORMANT else "bold red")


def _banner(record: Record) -> Iterator[tuple[str, str]]:
    backend, counts = record["backend"], record["counts"]
    said = " ".join(filter(None, [backend["name"], backend["version"]]))
    language = f" ({backend['language']})" if backend["language"] else ""
    yield (
        "backend",
        f"{said}{language}" if backend["name"] == backend["text"] else f"{backend['text']}: {said}{language}",
    )
    chosen = f", selected {record['selection']}" if record["selection"] else ""
    seed = f", seed {record['seed']}" if record["seed"] else ""
    yield "run", f"profile {record['profile']}, wire {backend['wire']}{chosen}{seed}"
    yield "against", f"tallystick {record['harness']}, vectors {record['vectors'][:16]}"
    yield (
        "checks",
        (f"{counts['loaded']} loaded, {counts['selected']} selected, {counts['not_applicable']} not applicable,"),
    )
    yield "", f"{' ' * LABEL}{counts['expected_to_fail']} expected to fail, {counts['run']} run"


def _failures(record: Record, console: Console, line: Any, most: int) -> None:
    groups = group_alike(failures_of(record.entries))
    for number, alike in enumerate(groups[:most], 1):
        entry = alike.first
        line(f"{entry['verdict'].upper()} {number} of {len(groups)}: {entry['id']}", "bold red")
        facts = facts_of(entry, record["prose"], tried_in(record))
        others = [_others(alike)] if alike.others else []
        for label, text in lines_of([*facts, *others], min(console.width, _WIDEST)):
            line(text if label else f"{' ' * LABEL}{text}", label=label)
        line()
    if len(groups) > most:
        hidden = sum(alike.size for alike in groups[most:])
        line(f"and {len(groups) - most} more distinct failures ({hidden} checks); -k PATTERN or --show N shows them")
        line()


def _others(alike: Alike) -> Fact:
    groups = Counter(entry["group"] for entry in alike.others)
    named = ", ".join(f"{group} {count}" for group, count in groups.most_common(4))
    hidden = sum(count for _, count in groups.most_common()[4:])
    return Fact("alike", f"{len(alike.others)} more: {named}" + (f", elsewhere {hidden}" if hidden else ""))


def _remarks(record: Record) -> Iterator[tuple[str, str]]:
    if unknown := sorted({*record["backend"]["operators"]} - {*record["contracts"]}):
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        yield f"declared, but no contract has this name: {', '.join(unknown[:3])}{more}", "yellow"
    for loss, times in Counter(record["unattributed"]).items():
        often = f" {times} times" if times > 1 else ""
        yield f"unattributed: the backend was lost{often}, and no check repeats it alone: {loss}", "red"
    for id_ in record["unexpected_passes"]:
        yield f"listed as an expected failure, but passes: {id_}; take it off the list", "red"
    for pattern in record["unmatched_expectations"]:
        yield f"listed as an expected failure, but no check has this id: {pattern}", "red"
    excused = failures_of(record.entries, excused=True)
    if excused:
        yield f"{len(excused)} checks failed as expected; nothing is certified while such a list is not empty", "yellow"
    if record["fuzz"]:
        yield f"fuzz: {_figures(record['fuzz'].values())}", "dim"
    diagnosis = record["diagnosis"]
    if diagnosis is not None and diagnosis["explained"]:
        cited = ", ".join([*diagnosis["requirements"], *diagnosis["rulings"]])
        yield f"diagnosis: {diagnosis['sentence']} ({cited}); as mutant {' or '.join(diagnosis['mutants'])}", "bold"
    elif failures_of(record.entries):
        why = "no known mistake gives these answers" if diagnosis else "no kill matrix to look it up in"
        yield f"diagnosis: not explained ({why})", "bold"


def _figures(operators: Collection[Mapping[str, Any]]) -> str:
    examples = sum(figures["examples"] for figures in operators)
    share = 100 * sum(figures["succeeded"] for figures in operators) // max(examples, 1)
    guards = [sides for figures in operators for sides in figures.get("guards", {}).values()]
    both = sum(all(sides.values()) for sides in guards)
    return f"{examples} calls, {share} % succeed, {both} of {len(guards)} guards reached from both sides"


def _last(record: Record) -> str:
    counts, verdicts = record["counts"], record["verdicts"]
    if record.verdict == NO_JUDGEMENT:
        return f"{NO_JUDGEMENT}: nothing ran ({counts['loaded']} loaded, {counts['selected']} selected)"
    bad = failures_of(record.entries)
    if record.verdict == CONFORMANT:
        part = " in the selected checks" if record["selection"] else ""
        return f"{CONFORMANT}{part}: {verdicts['pass']} of {counts['run']} checks passed"
    failed = sum(entry["verdict"] == "fail" for entry in bad)
    said = f"{record.verdict}: {failed} of {counts['run']} checks failed, {len(bad) - failed} could not be judged"
    return f"{said}, {len(record['unattributed'])} unattributed" if record["unattributed"] else said
