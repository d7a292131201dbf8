"""The files outside the specification that requirements name: tests and benchmarks."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.contract.library import Library
from conformance.lint.reference import check_of


def read_documents(library: Library) -> Mapping[str, str] | None:
    """The text of every test and benchmark file that a requirement names; None outside a checkout, which has none."""
    root = library.layout.root
    if not (root / "conformance" / "tests").is_dir():
        return None
    named = [name for name in named_documents(library) if (root / name).is_file()]
    return {name: (root / name).read_text(encoding="utf-8") for name in named}


def named_documents(library: Library) -> list[str]:
    """The paths of the tests and benchmarks that requirements name."""
    rows = (row for family in library.requirements.values() for row in family.requirements)
    checks = (check for row in rows for check in map(check_of, row.checks))
    return sorted({check.operator for check in checks if check.kind in ("test", "bench")})
