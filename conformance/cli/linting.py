"""What `tally lint` does."""

from __future__ import annotations

import click

from conformance import __version__
from conformance.cli.complaint import Complaint, parted
from conformance.cli.progress import shown_progress
from conformance.cli.specification import frozen_vectors, specification
from conformance.contract.library import Library
from conformance.contract.position import MalformedContract
from conformance.lint.coverage import coverage, coverage_lines
from conformance.lint.documents import read_documents
from conformance.lint.finding import Finding
from conformance.lint.output import as_json, as_sarif, as_text, findings_of
from conformance.lint.run import lint
from conformance.lint.seeded import Score, faults, lines, score
from conformance.lint.subject import Subject, subject_of
from conformance.trial.laws.law import known_laws
from conformance.vectors.corpus import Corpus
from conformance.vectors.governance import governance
from conformance.vectors.lock import LOCK_FILE, BadLock, read_lock

FINE, BAD, NO_JUDGEMENT = 0, 1, 2


def show_findings(format_: str) -> int:
    """Print every finding; a malformed contract is a finding too, but leaves no judgement."""
    try:
        library = specification()
        corpus = frozen_vectors(library)
        subject = _subject(library, corpus)
    except MalformedContract as error:
        click.echo(_formatted(findings_of(error.problems), format_), nl=False)
        return NO_JUDGEMENT
    with shown_progress("lint") as progress:
        progress.stage("contracts", len(subject.contracts))
        found = _found(subject, corpus)
    click.echo(_formatted(found, format_), nl=False)
    if format_ == "text":
        cases = sum(map(len, subject.cases.values()))
        click.echo(f"{len(found)} findings in {len(subject.contracts)} contracts and {cases} cases")
    return BAD if found else FINE


def show_coverage() -> int:
    """Print how the headings of every seed are carried."""
    library = specification()
    click.echo("\n".join(coverage_lines(library)))
    return BAD if coverage(library) else FINE


def show_seeded() -> int:
    """Print how many deliberate faults each rule catches."""
    library = specification()
    subject = _subject(library, frozen_vectors(library))
    seeds, scores = faults(subject), list[Score]()
    with shown_progress("lint") as progress:
        progress.stage("seeded faults by rule", len(seeds))
        for code, some in seeds.items():
            scores += score(subject, {code: some})
            progress.step()
    click.echo("\n".join(lines(scores)))
    caught, seeded = sum(one.caught for one in scores), sum(one.seeded for one in scores)
    click.echo(f"{caught} of {seeded} seeded faults caught")
    return FINE if seeded and caught == seeded else BAD


def require_clean_contracts(library: Library, corpus: Corpus) -> None:
    """What `tally run` begins with: nobody is judged by contracts that lint finds fault with; raises Complaint."""
    subject = _subject(library, corpus)
    with shown_progress("lint") as progress:
        progress.stage("contracts", len(subject.contracts))
        found = _found(subject, corpus)
    if found:
        message = f"lint has {len(found)} findings, so there is no judgement"
        hint = "run `tally lint`; for the vectors alone, --profile quick"
        raise Complaint("spec", "T010", message, hint, extra=as_text(found[:5]))


def _found(subject: Subject, corpus: Corpus) -> tuple[Finding, ...]:
    return tuple(sorted({*lint(subject), *_governed(subject.library, corpus)}))


def _subject(library: Library, corpus: Corpus) -> Subject:
    return subject_of(library, corpus, None, known_laws(), read_documents(library))


def _governed(library: Library, corpus: Corpus) -> tuple[Finding, ...]:
    """What the lock forbids: a corpus that shrank, a sequence that drifted, a version that says otherwise."""
    layout = library.layout
    file = layout.spec / LOCK_FILE
    try:
        lock = read_lock(file, layout.shown(file))
    except BadLock as error:
        place, message, hint = parted(str(error))
        raise Complaint(place, "T004", message, hint) from None
    return findings_of(governance(library, corpus, lock))


def _formatted(found: tuple[Finding, ...], format_: str) -> str:
    if format_ == "json":
        return as_json(found)
    return as_sarif(found, __version__) if format_ == "sarif" else as_text(found)
