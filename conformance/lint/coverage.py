"""How the headings of each seed are carried by requirements: what `tally lint --coverage` prints."""

from __future__ import annotations

from conformance.contract.library import Library
from conformance.contract.requirement import Heading
from conformance.lint.requirements import is_mapped


def coverage(library: Library) -> tuple[Heading, ...]:
    """The headings that map to no requirement row and give no reason, in the order of the families."""
    families = library.requirements.values()
    return tuple(heading for family in families for heading in family.headings if not is_mapped(library, heading))


def coverage_lines(library: Library) -> tuple[str, ...]:
    """One line for each seed with its counts, and one for each heading without a row."""
    bare = set(coverage(library))
    lines: list[str] = []
    for family in library.requirements.values():
        missing = [heading for heading in family.headings if heading in bare]
        excluded = sum(bool(heading.excluded) for heading in family.headings)
        lines.append(
            f"{family.seed}: {len(family.headings)} headings, {excluded} excluded with a reason, "
            f"{len(missing)} without a requirement; {len(family.requirements)} requirements, "
            f"{sum(bool(row.excluded) for row in family.requirements)} excluded with a reason"
        )
        lines += [f"{heading.position}: no requirement for {heading.text!r}" for heading in missing]
    return tuple(lines)
