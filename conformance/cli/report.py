"""`tally report`: show stored records in any format, compare them, and merge the records of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from conformance.cli.console import CommandError, say
from conformance.cli.lint_outcome import require_clean_contracts
from conformance.cli.outputs import STDOUT, output_option, print_report, require_apart, write_page
from conformance.cli.suite import current_suite, frozen_vectors, specification
from conformance.contract.suite_file import schema_folder
from conformance.report.comparison import Comparison, as_json, as_markdown, as_text, compare_manifests, compare_records
from conformance.report.merge import Unmergeable, merged, merged_observations
from conformance.report.record import BrokenRecord, Record
from conformance.report.stored import Manifest, StoredRecord, load
from conformance.report.verdict import status_of
from conformance.report.writer import FORMATS, OBSERVATIONS, page
from conformance.vectors.frozen.lock import contract_digests

FINE: Final = 0
INCOMPARABLE: Final = 1
_COMPARED: Final = {"json": as_json, "markdown": as_markdown, "text": as_text}
_BESIDE: Final = ("html", "markdown", "text")  # formats of a comparison that also show the records themselves
F = TypeVar("F", bound=Callable[..., Any])


@click.group("report")
def command() -> None:
    """Show stored records in any format, compare them, or merge the records of parts of a run.

    Exit status: 0 fine, 1 `compare`: the records are not comparable, or `merge`: the merged record is not conformant,
    2 a file cannot be used, or the parts contradict each other.

    \b
    Examples:
      tally report show reports/last/record.json
      tally report compare old/record.json new/record.json
    """


_files = click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RECORD.json..."
)


def _format(names: Sequence[str], default: str) -> Callable[[F], F]:
    choice = click.Choice(sorted(names))
    return click.option("--format", "format_", type=choice, default=default, show_default=True, help="What to write.")


@contextmanager
def _unusable_told() -> Iterator[None]:
    """Turn the error of a record that cannot be read or shown into a CommandError."""
    try:
        yield
    except BrokenRecord as error:
        raise CommandError(error.place, "T015", error.message, error.hint) from None
    except RecursionError:
        hint = "a value has at most 300 levels; run `tally run` again"
        raise CommandError("tally report", "T015", "a value in the record nests too deep to be shown", hint) from None


@command.command("show", short_help="show records, several side by side")
@_files
@_format(list(FORMATS), "text")
@output_option
@_unusable_told()
def show(files: Sequence[Path], format_: str, output: Path) -> int:
    """Show records, several side by side. What was observed is read from observations.json beside each record.

    \b
    Examples:
      tally report show reports/last/record.json
      tally report show a.json b.json --format html --output both.html
    """
    _require_apart(output, files)
    records = _records(files)
    if len(records) > 1 and not FORMATS[format_].several:
        raise click.UsageError(f"--format {format_} shows one record; give one, or merge them first")
    if format_ == "text" and output == STDOUT:
        print_report([one.record for one in records], [one.observations for one in records])
        return FINE
    write_page(_page(format_, records), output, f"--output {str(output)!r}")
    return FINE


@command.command("compare", short_help="say whether records are comparable, and how they differ")
@_files
@_format([name for name in (*_COMPARED, "html") if name in FORMATS], "text")
@output_option
@_unusable_told()
def compare(files: Sequence[Path], format_: str, output: Path) -> int:
    """Say whether records, run manifests or run traces are comparable, and in what they differ (docs/reports.md).

    \b
    Examples:
      tally report compare old/record.json new/record.json
      tally report compare monday.jsonl tuesday.parquet --format markdown
    """
    if len(files) < 2:
        raise click.UsageError("compare needs two files or more")
    _require_apart(output, files)
    found = [load(file, schema_folder(current_suite())) for file in files]
    records = [one for one in found if isinstance(one, StoredRecord)]
    manifests = [one for one in found if isinstance(one, Manifest)]
    if records and manifests:
        message = "it is a run manifest, the others are records"
        raise CommandError(str(manifests[0].file), "T015", message, "compare files of one kind")
    if manifests and format_ not in _COMPARED:
        raise click.UsageError(f"--format {format_} shows records, these are run manifests")
    if manifests:
        comparison = compare_manifests(manifests)
    else:
        comparison = compare_records([str(one.file) for one in records], [one.record for one in records])
    write_page(_compared(comparison, records, format_), output, f"--output {str(output)!r}")
    return FINE if comparison.comparable else INCOMPARABLE


@command.command("merge", short_help="join the records of parts of one run")
@_files
@_format([*FORMATS], "json")
@output_option
@_unusable_told()
def merge(files: Sequence[Path], format_: str, output: Path) -> int:
    """Join the records of parts of one run: the same backend and suite, other operators or checks.

    The exit status is that of the whole, as with `tally run`.

    \b
    Examples:
      tally report merge part1.json part2.json --output record.json
      tally report merge parts/*.json --format junit --output junit.xml
    """
    _require_apart(output, files)
    parts = _records(files)
    try:
        whole = merged([str(part.file) for part in parts], [part.record for part in parts])
    except Unmergeable as error:
        hint = "merge records of the same backend, contracts, vectors, profile and seed; run what contradicts again"
        raise CommandError("tally report merge", "T015", str(error), hint) from None
    if not whole["selection"] and all(part.record["selection"] for part in parts):
        _require_clean_contracts(whole)
    observed = merged_observations(whole, [part.observations for part in parts])
    write_page(_page(format_, [StoredRecord(output, whole, observed)]), output, f"--output {str(output)!r}")
    say(whole.sentence, err=True)
    return status_of(whole.verdict)


def _require_apart(output: Path, files: Sequence[Path]) -> None:
    if output != STDOUT:
        read = [*files, *(file.parent / OBSERVATIONS for file in files)]
        require_apart(output, read, f"--output {str(output)!r}", "it is one of the files that are read")


def _require_clean_contracts(whole: Record) -> None:
    """Lint the contracts as a whole run does. Other contracts than the suite's are not here."""
    library = specification()
    if whole["contracts"] == contract_digests(library):
        require_clean_contracts(library, frozen_vectors(library), whole["profile"])


def _records(files: Sequence[Path]) -> list[StoredRecord]:
    found = []
    for file in files:
        one = load(file, schema_folder(current_suite()))
        if isinstance(one, Manifest):
            raise CommandError(
                str(file), "T015", "it is a run manifest, no record", "`tally report compare` compares two"
            )
        found.append(one)
    return found


def _page(format_: str, records: Sequence[StoredRecord]) -> bytes:
    return page(format_, [one.record for one in records], [one.observations for one in records], current_suite())


def _compared(comparison: Comparison, records: Sequence[StoredRecord], format_: str) -> bytes:
    """The comparison, after the records if the format can have both."""
    beside = _page(format_, records) if records and format_ in _BESIDE else b""
    if format_ not in _COMPARED:
        return beside
    return beside + (b"\n" if beside else b"") + _COMPARED[format_](comparison).encode()
