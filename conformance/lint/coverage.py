"""L402: every line of a source is carried; what `tally lint --coverage` prints."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.coverage import Coverage
from conformance.contract.library import Library
from conformance.contract.position import Position
from conformance.contract.requirement import Requirements
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject


class LinesCarried:
    """Every line of a source maps to a requirement, a ruling or an exclusion, and every requirement to a line."""

    code, name, level = "L402", "lines-carried", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Families without coverage, holes, overlaps, unfilled passages, and requirements that no passage names."""
        yield from coverage_findings(subject.library)


def coverage_findings(library: Library) -> Iterator[Finding]:
    """What `coverage.yaml` of every family lacks, as far as it can be told without the sources' text."""
    for family, page in library.requirements.items():
        coverage = library.coverage.get(family)
        if coverage is None:
            message = f"no coverage.yaml says what carries each line of {page.seed}"
            yield _finding(page.source.at(()), message, page.seed, "write it beside requirements.yaml")
            continue
        yield from _unfilled(coverage)
        yield from _ranges(coverage)
        yield from _rows(coverage, page)


def _finding(position: Position, message: str, about: str, hint: str) -> Finding:
    return Finding(position, LinesCarried.code, message, about, hint)


def _unfilled(coverage: Coverage) -> Iterator[Finding]:
    fill = f"tally lint --coverage --source {coverage.document} --update"
    if not coverage.sha256 or not coverage.lines:
        message = f"the line count or the SHA-256 of {coverage.document} is missing"
        yield _finding(coverage.source.at(()), message, coverage.document, f"`{fill}` fills them in")
    for passage in coverage.passages:
        if not passage.digest:
            message = f"{passage} of {coverage.document} has no digest"
            yield _finding(passage.position, message, coverage.document, f"read it against its carriers, then `{fill}`")


def _ranges(coverage: Coverage) -> Iterator[Finding]:
    """Passages ascend from line 1 to the last, one directly behind the other."""
    behind = 0
    for passage in coverage.passages:
        if passage.size < 1:
            hint = "write [first, last]"
            yield _finding(passage.position, f"{passage} ends before it begins", coverage.document, hint)
        elif passage.first <= behind:
            message = f"{passage} begins inside or before an earlier passage, which ends at line {behind}"
            yield _finding(passage.position, message, coverage.document, "each line belongs to one passage, in order")
        elif passage.first > behind + 1:
            message = f"no passage covers lines {behind + 1}-{passage.first - 1} of {coverage.document}"
            hint = "name their requirements or rulings, or exclude them with a reason"
            yield _finding(passage.position, message, coverage.document, hint)
        behind = max(behind, passage.last)
    if coverage.lines and behind != coverage.lines:
        message = f"the passages end at line {behind}, {coverage.document} at line {coverage.lines}"
        yield _finding(coverage.source.at(("passages",)), message, coverage.document, "map the last lines as well")


def _rows(coverage: Coverage, page: Requirements) -> Iterator[Finding]:
    if coverage.document.rsplit(".", 1)[0] != page.seed:
        message = f"the document is {coverage.document}, but the requirements are those of {page.seed}"
        yield _finding(coverage.source.at(("document",)), message, page.seed, "name the same source in both files")
    for passage in coverage.passages:
        if not (passage.requirements or passage.rulings or passage.excluded.strip()):
            hint = "name requirements or rulings, or exclude it with a reason"
            yield _finding(passage.position, f"nothing carries {passage}", coverage.document, hint)
    listed = {id_ for passage in coverage.passages for id_ in passage.requirements}
    for row in page.requirements:
        if row.id not in listed:
            message = f"no passage of {coverage.document} names {row.id}"
            yield _finding(row.position, message, row.id, "name it in coverage.yaml at the lines that it comes from")


def coverage_lines(library: Library) -> tuple[str, ...]:
    """One line for each source: how many of its lines are carried by what."""
    return tuple(_counted(coverage, library) for coverage in library.coverage.values())


def _counted(coverage: Coverage, library: Library) -> str:
    counts = {"requirements": 0, "rulings": 0, "excluded": 0}
    for passage in coverage.passages:
        kind = "requirements" if passage.requirements else "rulings" if passage.rulings else "excluded"
        counts[kind] += passage.size
    page = library.requirements.get(coverage.family)
    rows = page.requirements if page else ()
    return (
        f"{coverage.document}: {coverage.lines} lines in {len(coverage.passages)} passages: "
        f"{counts['requirements']} carried by requirements, {counts['rulings']} by rulings alone, "
        f"{counts['excluded']} excluded with a reason; {len(rows)} requirements, "
        f"{sum(bool(row.excluded) for row in rows)} excluded with a reason"
    )
