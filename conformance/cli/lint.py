"""`tally lint`: check the contracts against the lint rules."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from conformance.backend.mutant_copy import unusable_mutants
from conformance.cli.console import CommandError, say, writing
from conformance.cli.lint_outcome import LintResult, outcome_of
from conformance.cli.progress import shown_progress
from conformance.cli.suite import frozen_vectors, specification
from conformance.contract.family import Coverage
from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.contract.yaml.source import MalformedContract
from conformance.lint.catalogue import RULES, lint, told_once
from conformance.lint.coverage import Text, coverage_findings, coverage_lines, drift, text_of, updated
from conformance.lint.governance import lock_current
from conformance.lint.output import as_json, as_sarif, as_text, findings_of
from conformance.lint.requirements import read_documents
from conformance.lint.rule import Finding, subject_of
from conformance.report.failure import WIDEST, wrapped
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.trial.mutants.kill_matrix import evidence_of, read_matrix
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.frozen.governance import governance
from conformance.vectors.frozen.lock import read_lock
from conformance.vectors.jsontext import write_whole

FINE, BAD, NO_JUDGEMENT = 0, 1, 2


def show_findings(format_: str) -> int:
    """Print every finding; a malformed contract is a finding too, but then there is no judgement."""
    try:
        library = specification()
        outcome = outcome_of(library, frozen_vectors(library))
    except MalformedContract as error:
        say(_formatted(findings_of(error.problems), format_), nl=False)
        return NO_JUDGEMENT
    found = outcome.findings
    say(_formatted(found, format_), nl=False)
    if format_ == "text":
        judged = f"{counted(outcome.contracts, 'contract')} and {counted(outcome.cases, 'case')}"
        say(f"{counted(len(found), 'finding')} in {judged}")
    if not outcome.evidence:
        say("warning: no kill matrix says what the mutants break; run `tally mutants --write`", err=True)
    return BAD if found else FINE


def show_coverage(sources: tuple[str, ...], update: bool, format_: str) -> int:
    """Print the coverage of every source, and the places where a given text differs from the mapped one."""
    library = specification()
    texts = [(_mapped(library, name), text_of(name, _content(name))) for name in sources]
    if update:
        _write_coverage(library, texts)
        return FINE
    found = tuple(sorted([*coverage_findings(library), *(one for known, text in texts for one in drift(known, text))]))
    say(_formatted(found, format_), nl=False)
    if format_ == "text":
        say("\n".join(coverage_lines(library)))
    return BAD if found else FINE


def _mapped(library: Library, name: str) -> Coverage:
    """The coverage of the document with this file's name; raises CommandError."""
    known = {coverage.document: coverage for coverage in library.coverage.values()}
    document = Path(name).name
    if document not in known:
        hint = f"the documents of coverage.yaml are {', '.join(sorted(known)) or 'none'}"
        raise CommandError(name, "T003", "no coverage.yaml has a document of this name", hint)
    return known[document]


def _content(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise CommandError(name, "T003", f"cannot be read: {error.strerror}", "name the text of a source") from None


def _write_coverage(library: Library, texts: list[tuple[Coverage, Text]]) -> None:
    if not texts:
        raise CommandError("--update", "T006", "needs the text of a source", "add --source FILE")
    for coverage, text in texts:
        file = library.suite.spec / coverage.family / "coverage.yaml"
        with writing(library.suite.path_text(file), "make the file writable"):
            write_whole(file, updated(coverage, text))
        say(f"{library.suite.path_text(file)} written; `tally lint --coverage --source {text.name}` compares it")


def lint_result(library: Library, corpus: Corpus, with_evidence: bool) -> LintResult:
    """All findings about a library and its corpus."""
    evidence = _evidence(library) if with_evidence else None
    subject = subject_of(library, corpus, None, library.laws, read_documents(library), evidence)
    governed = findings_of(governance(library, corpus, read_lock(library.suite)))  # corpus and versions
    with shown_progress("lint") as progress:
        subject = replace(subject, unusable=unusable_mutants(library) if with_evidence else {})
        progress.stage("contracts by rules", len(subject.contracts) * sum(rule.each_contract for rule in RULES))
        found = {*lint(replace(subject, step=progress.step)), *governed}
        if with_evidence:  # `tally run` also accepts contracts that were edited and not built yet
            found |= {*lock_current.check(replace(subject, lock=read_lock(library.suite)))}
    told, cases = told_once(subject, found), sum(map(len, subject.cases.values()))
    return LintResult(told, len(subject.contracts), cases, evidence is not None)


def _evidence(library: Library) -> Mapping[str, frozenset[str]] | None:
    """The checks that notice each mutant in the committed kill matrix; None if it is missing or does not name them.

    Raises UnreadableReport if it is damaged.
    """
    file = library.suite.reports / MATRIX_FILE
    return evidence_of(read_matrix(file)) if file.exists() else None


_WRITERS: Final = {"text": as_text, "json": as_json, "sarif": as_sarif}


def _formatted(found: tuple[Finding, ...], format_: str) -> str:
    if format_ == "text" and sys.stdout.isatty():
        return "".join(f"{line}\n" for line in _on_terminal(found))
    return _WRITERS[format_](found)


def _on_terminal(found: tuple[Finding, ...]) -> Iterator[str]:
    """The text for a terminal: lines that fit, except those to paste. Editors read the other text line by line."""
    width = min(shutil.get_terminal_size().columns, WIDEST)
    for one in found:
        said, *hint = as_text([one]).splitlines()
        yield from wrapped(said, width)
        for line in hint[:1]:
            yield from wrapped(line, width, " " * 10)
        yield from hint[1:]


@click.command("lint")
@click.option("--coverage", is_flag=True, help="Print how the lines of every source are covered, and which are not.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="With --coverage: compare coverage.yaml with this file, the text of a source; repeatable.",
)
@click.option(
    "--update",
    is_flag=True,
    help="With --source: write line numbers and digests of passages whose words did not change.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice([*_WRITERS]),
    default="text",
    show_default=True,
    help="How to print findings.",
)
def command(coverage: bool, sources: tuple[str, ...], update: bool, format_: str) -> int:
    """Check the contracts, their requirements and their vectors against the rules in docs/lint-rules.md.

    Exit status: 0 nothing found, 1 a finding, a line that is not covered or a source that changed, 2 a contract,
    source or kill matrix that cannot be read.

    \b
    Examples:
      tally lint
      tally lint --format sarif > lint.sarif
    """

    if coverage or sources or update:
        return show_coverage(sources, update, format_)
    return show_findings(format_)
