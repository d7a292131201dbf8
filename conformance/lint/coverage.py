"""L402: requirements cover every line of a source, whose text is compared with its `coverage.yaml`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from conformance.contract.family import Coverage, Passage, Requirements
from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.contract.yaml.source import Position
from conformance.lint.rule import Finding, Found, LintTarget, rule

CODE: Final = "L402"


@rule(CODE, "lines-carried")
def lines_carried(subject: LintTarget) -> Iterator[Found]:
    """Every line of a source maps to a requirement, a ruling or an exclusion, and every requirement to a line."""
    yield from _holes(subject.library)


def coverage_findings(library: Library) -> Iterator[Finding]:
    """The mistakes in the `coverage.yaml` of every family, found without the sources' text."""
    return (Finding(place, CODE, message, about, hint) for place, message, about, hint in _holes(library))


def _holes(library: Library) -> Iterator[Found]:
    """Families without coverage, holes, overlaps, unfilled passages, and requirements that no passage names."""
    for family, page in library.requirements.items():
        for contract in library.contracts.values():
            if contract.family == family and contract.method is None and contract.seed != page.seed:
                message = f"the source is {contract.seed}, but the requirements are those of {page.seed}"
                place = contract.source.at(("source", "seed"))
                yield place, message, contract.operator, "name the same source in both files"
        coverage = library.coverage.get(family)
        if coverage is None:
            message = f"no coverage.yaml says what carries each line of {page.seed}"
            yield page.source.at(()), message, page.seed, "write it beside requirements.yaml"
            continue
        yield from _unfilled(coverage, _source_place(library, coverage.document))
        yield from _ranges(coverage)
        yield from _rows(coverage, page)


def _source_place(library: Library, document: str) -> str:
    """The path of a source from the folder of the suite, if it is where `tally init` puts one; else its name."""
    kept = library.suite.root / "docs" / document
    return library.suite.path_text(kept) if kept.is_file() else document


def _unfilled(coverage: Coverage, place: str) -> Iterator[Found]:
    fill = f"tally lint --coverage --source {place} --update"
    if not coverage.sha256 or not coverage.lines:
        message = f"the line count or the SHA-256 of {coverage.document} is missing"
        yield coverage.source.at(()), message, coverage.document, f"`{fill}` fills them in"
    for passage in coverage.passages:
        if not passage.digest:
            message = f"{passage} of {coverage.document} {'has' if passage.size == 1 else 'have'} no digest"
            yield passage.position, message, coverage.document, f"read it against its carriers, then `{fill}`"


def _ranges(coverage: Coverage) -> Iterator[Found]:
    """Passages ascend from line 1 to the last without a gap."""
    last_covered = 0
    for passage in coverage.passages:
        if passage.size < 1:
            yield passage.position, f"{passage} end before they begin", coverage.document, "write [first, last]"
        elif passage.first <= last_covered:
            begins = "begins" if passage.size == 1 else "begin"
            message = f"{passage} {begins} inside or before an earlier passage, which ends at line {last_covered}"
            yield passage.position, message, coverage.document, "each line belongs to one passage, in order"
        elif passage.first > last_covered + 1:
            message = f"no passage covers lines {last_covered + 1}-{passage.first - 1} of {coverage.document}"
            hint = "name their requirements or rulings, or exclude them with a reason"
            yield passage.position, message, coverage.document, hint
        last_covered = max(last_covered, passage.last)
    if coverage.lines and last_covered != coverage.lines:
        message = f"the passages end at line {last_covered}, {coverage.document} at line {coverage.lines}"
        yield coverage.source.at(("passages",)), message, coverage.document, "map the last lines as well"


def _rows(coverage: Coverage, page: Requirements) -> Iterator[Found]:
    if coverage.document.rsplit(".", 1)[0] != page.seed:
        message = f"the document is {coverage.document}, but the requirements are those of {page.seed}"
        yield coverage.source.at(("document",)), message, page.seed, "name the same source in both files"
    for passage in coverage.passages:
        if not (passage.requirements or passage.rulings or passage.excluded.strip()):
            hint = "name requirements or rulings, or exclude it with a reason"
            yield passage.position, f"nothing carries {passage}", coverage.document, hint
    listed = {id_ for passage in coverage.passages for id_ in passage.requirements}
    for row in page.requirements:
        if row.id not in listed:
            message = f"no passage of {coverage.document} names {row.id}"
            yield row.position, message, row.id, "name it in coverage.yaml at the lines that it comes from"


def coverage_lines(library: Library) -> tuple[str, ...]:
    """One line for each source: how many of its lines each kind of entry covers."""
    return tuple(_counted(coverage, library) for coverage in library.coverage.values())


def _counted(coverage: Coverage, library: Library) -> str:
    counts = {"requirements": 0, "rulings": 0, "excluded": 0}
    for passage in coverage.passages:
        kind = "requirements" if passage.requirements else "rulings" if passage.rulings else "excluded"
        counts[kind] += passage.size
    page = library.requirements.get(coverage.family)
    rows = page.requirements if page else ()
    return (
        f"{coverage.document}: {counted(coverage.lines, 'line')} in {counted(len(coverage.passages), 'passage')}: "
        f"{counts['requirements']} carried by requirements, {counts['rulings']} by rulings alone, "
        f"{counts['excluded']} excluded with a reason; {counted(len(rows), 'requirement')}, "
        f"{sum(bool(row.excluded) for row in rows)} excluded with a reason"
    )


_BEGINS: Final = 32  # characters of a passage that coverage.yaml quotes
_PLACE: Final = "each line maps to requirements, rulings or an exclusion with its reason: write it in coverage.yaml"
_REREAD: Final = "read them against what carries them, correct that, take the digest away and run with --update"


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a source as it is now, under the name that findings print."""

    name: str
    lines: tuple[bytes, ...]
    sha256: str

    def beginning(self, first: int) -> str:
        """The beginning of one line, counted from 1."""
        return self.lines[first - 1].decode("utf-8", "replace").strip()[:_BEGINS].strip()


@dataclass(frozen=True, slots=True)
class _Gap:
    """Lines between two passages that were found (first > last: none), and the recorded passages that belong there."""

    first: int
    last: int
    lost: tuple[Passage, ...]


def text_of(name: str, content: bytes) -> Text:
    """The text of a file; a newline at its very end begins no further line."""
    lines = content.split(b"\n")
    return Text(name, tuple(lines[:-1] if lines[-1] == b"" else lines), hashlib.sha256(content).hexdigest())


def drift(coverage: Coverage, text: Text) -> tuple[Finding, ...]:
    """Every place where the text differs from `coverage.yaml`; the positions are in the text."""
    places = _placed(coverage.passages, text.lines)
    found = [
        finding for gap in _gaps(coverage.passages, places, len(text.lines)) for finding in _gap_findings(gap, text)
    ]
    pairs = zip(coverage.passages, places, strict=True)
    moved = sum(place is not None and place != passage.first for passage, place in pairs)
    if text.sha256 != coverage.sha256 or moved:
        message = (
            f"the text is not the one that was mapped: {counted(coverage.lines, 'line')} then, {len(text.lines)} now, "
            f"{counted(moved, 'passage')} at other lines, {places.count(None)} not found"
        )
        hint = "--update writes new line numbers where the words are the same; the rest is yours to map"
        found.append(Finding(Position(text.name, 1, 1), CODE, message, coverage.document, hint))
    return tuple(sorted(found))


def _gap_findings(gap: _Gap, text: Text) -> Iterator[Finding]:
    used = [line for line in range(gap.first, gap.last + 1) if text.lines[line - 1].strip()]
    lost = ", ".join(map(str, gap.lost[:3])) + (", ..." if len(gap.lost) > 3 else "")
    if gap.lost:
        place = Position(text.name, min(used[0] if used else gap.first, max(len(text.lines), 1)), 1)
        now = f"lines {used[0]}-{used[-1]} are not what was mapped as {lost}" if used else f"gone: {lost}"
        yield Finding(place, CODE, now, text.name, _REREAD)
    elif used:
        message = f"no passage covers lines {used[0]}-{used[-1]}: {text.beginning(used[0])!r}"
        yield Finding(Position(text.name, used[0], 1), CODE, message, text.name, _PLACE)


def _placed(passages: Sequence[Passage], lines: Sequence[bytes]) -> list[int | None]:
    """The line at which each passage begins now; None if its words are not found in order with the others.

    Of all ways to place the passages in order, this is the one that covers the most lines.
    """
    windows: dict[int, dict[str, list[int]]] = {}
    options: list[tuple[int, int]] = []  # (number of the passage, line)
    for k, passage in enumerate(passages):
        size = max(passage.size, 1)
        if not passage.digest:
            options.append((k, passage.first))
            continue
        if size not in windows:
            windows[size] = {}
            for start in range(len(lines) - size + 1):
                windows[size].setdefault(_digest(lines[start : start + size]), []).append(start + 1)
        options += [(k, line) for line in windows[size].get(passage.digest, ())]
    # best[n]: lines covered by the best chain that ends with option n, the passages that have not moved first.
    best: list[tuple[int, int]] = []
    before: list[int | None] = []
    for k, line in options:
        reached, via = (0, 0), None
        for n, (earlier, at) in enumerate(options[: len(best)]):
            if earlier < k and at + passages[earlier].size <= line and best[n] > reached:
                reached, via = best[n], n
        still = line == passages[k].first
        best.append((reached[0] + max(passages[k].size, 1), reached[1] + still))
        before.append(via)
    places: list[int | None] = [None] * len(passages)
    chosen = max(range(len(best)), key=best.__getitem__, default=None)
    while chosen is not None:
        k, places[k] = options[chosen][0], options[chosen][1]
        chosen = before[chosen]
    return places


def _gaps(passages: Sequence[Passage], places: Sequence[int | None], length: int) -> Iterator[_Gap]:
    free, lost = 1, list[Passage]()
    for passage, place in zip(passages, places, strict=True):
        if place is None:
            lost.append(passage)
            continue
        if lost or place > free:
            yield _Gap(free, place - 1, tuple(lost))
        free, lost = place + passage.size, []
    if lost or free <= length:
        yield _Gap(free, length, tuple(lost))


def updated(coverage: Coverage, text: Text) -> str:
    """The coverage file with line numbers, digests and first words of the text, for passages whose words are known.

    A passage whose words changed gets the lines that are left for it, and keeps its digest, so that it stays red.
    """
    places = _placed(coverage.passages, text.lines)
    left = {gap.lost[0]: gap for gap in _gaps(coverage.passages, places, len(text.lines)) if len(gap.lost) == 1}
    passages = []
    for passage, place in zip(coverage.passages, places, strict=True):
        if place is None:
            gap = left.get(passage)
            free = gap is not None and gap.first <= gap.last
            passages.append(replace(passage, first=gap.first, last=gap.last) if gap and free else passage)
            continue
        words = text.lines[place - 1 : place - 1 + passage.size]
        shown = next((text.beginning(place + k) for k, line in enumerate(words) if line.strip()), "")
        last = place + passage.size - 1
        passages.append(replace(passage, first=place, last=last, begins=shown, digest=_digest(words)))
    head = [line for line in coverage.source.text.splitlines() if line.startswith("#")]
    facts = [f"document: {coverage.document}", f"lines: {len(text.lines)}", f'sha256: "{text.sha256}"', "passages:"]
    return "".join(f"{row}\n" for row in (*head, *facts, *map(_row, passages)))


def _row(passage: Passage) -> str:
    parts = [f"lines: [{passage.first}, {passage.last}]"]
    if passage.digest:
        parts.append(f'digest: "{passage.digest}"')
    if passage.begins:
        parts.append(f"begins: {json.dumps(passage.begins, ensure_ascii=False)}")
    for key, ids in (("requirements", passage.requirements), ("rulings", passage.rulings)):
        if ids:
            parts.append(f"{key}: [{', '.join(ids)}]")
    if passage.excluded:
        parts.append(f"excluded: {json.dumps(passage.excluded, ensure_ascii=False)}")
    return f"  - {{{', '.join(parts)}}}"


def _digest(lines: Sequence[bytes]) -> str:
    return hashlib.sha256(b"\n".join(lines)).hexdigest()[:16]
