"""The specification and the corpus of this checkout, loaded once per test process."""

from __future__ import annotations

from functools import cache

from conformance.contract.library import Library, load_library
from conformance.contract.suite import Suite
from conformance.lint.requirements import read_documents
from conformance.lint.rule import LintTarget, subject_of
from conformance.tests.small_spec import SHIPPED
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.trial.mutants.kill_matrix import evidence_of, read_matrix
from conformance.vectors.frozen import corpus, lock


@cache
def shipped_library() -> Library:
    """The library of this checkout."""
    return load_library(SHIPPED)


@cache
def shipped_subject() -> LintTarget:
    """What `tally lint` judges in this checkout."""
    library = shipped_library()
    suite: Suite = library.suite
    return subject_of(
        library,
        corpus.load_corpus(suite),
        lock.read_lock(suite),
        library.laws,
        read_documents(library),
        evidence_of(read_matrix(suite.reports / MATRIX_FILE)),
    )
