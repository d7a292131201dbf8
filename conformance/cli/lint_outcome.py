"""The findings of lint for the current files, kept so that the rules run only once for the same files."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.console import CommandError
from conformance.contract.cache import MISSING, digest_of_texts, open_cache
from conformance.contract.lazy import files_digest
from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.contract.yaml.source import Position
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.vectors.frozen.corpus import Corpus

if TYPE_CHECKING:  # the rules cost 200 ms to import
    from conformance.lint.rule import Finding


@dataclass(frozen=True, slots=True)
class LintResult:
    """The findings, and the number of contracts and cases; `evidence`: a kill matrix says what the mutants break."""

    findings: tuple[Finding, ...]
    contracts: int
    cases: int
    evidence: bool


def outcome_of(library: Library, corpus: Corpus, with_evidence: bool = True) -> LintResult:
    """All findings about a library and its corpus, made now or in an earlier command over the same files."""
    made_from = _sources_digest(library, corpus, with_evidence)
    if (known := _cached_result(made_from)) is not None:
        return known
    from conformance.cli.lint import lint_result

    outcome = lint_result(library, corpus, with_evidence)
    findings = [[*astuple(one.position), one.code, one.message, one.about, one.hint] for one in outcome.findings]
    if _sources_digest(library, corpus, with_evidence) == made_from:  # no file changed while the rules ran
        open_cache().put("lint", made_from, [findings, outcome.contracts, outcome.cases, outcome.evidence])
    return outcome


def require_clean_contracts(library: Library, corpus: Corpus, profile: str) -> None:
    """Check the contracts for a verdict on all checks of a profile; raises CommandError if lint has findings.

    Runs of the profile quick are not linted, nor are runs of a part.
    """
    if profile == "quick":
        return
    # `tally lint` applies the same rules and more.
    known = _cached_result(_sources_digest(library, corpus, with_evidence=True))
    if known is not None and not known.findings:
        return
    if found := outcome_of(library, corpus, with_evidence=False).findings:
        from conformance.lint.output import as_text

        message = f"lint has {counted(len(found), 'finding')} in the contracts, so there is no judgement"
        hint = "run `tally lint`; the profile quick runs the vectors without lint"
        raise CommandError("spec", "T010", message, hint, extra=as_text(found[:5]))


def _sources_digest(library: Library, corpus: Corpus, with_evidence: bool) -> str:
    """The digest of everything that a rule can read; empty if library or corpus are not from files."""
    contracts, cases = files_digest(library.contracts), files_digest(corpus.cases)
    if not contracts or not cases:
        return ""
    root = library.suite.root
    named_by = digest_of_texts([contracts, library.suite.mutants.folder])
    names = open_cache().get("documents", named_by)
    if names is MISSING:
        from conformance.backend.mutant_copy import patched_files
        from conformance.lint.requirements import named_documents

        names = [*named_documents(library), *patched_files(library)]
        open_cache().put("documents", named_by, names)
    matrix = library.suite.reports / MATRIX_FILE if with_evidence else None
    lock = library.suite.spec / "contracts.lock"
    texts = [contracts, cases, _content(lock), str((root / "conformance" / "tests").is_dir()), _content(matrix)]
    texts += (str((root / "docs" / one.document).is_file()) for one in library.coverage.values())
    return digest_of_texts([*texts, *(f"{name} {_content(root / name)}" for name in names)])


def _cached_result(made_from: str) -> LintResult | None:
    """The findings of an earlier command on the same files; None if there was none."""
    plain = open_cache().get("lint", made_from)
    if plain is MISSING:
        return None
    from conformance.lint.rule import Finding

    rows, *rest = plain
    return LintResult(tuple(Finding(Position(*row[:3]), *row[3:]) for row in rows), *rest)


def _content(file: Path | None) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file is not None and file.is_file() else ""
