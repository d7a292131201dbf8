"""The shipped corpus, its committed kill matrix, and real attempts at slices of it."""

from __future__ import annotations

from functools import cache

from conformance.codec.codebook import Codebook, codebook_of
from conformance.tests.shipped import shipped_library
from conformance.trial.client import Attempt, attempt
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.trial.mutants.kill_matrix import KillMatrix, read_matrix
from conformance.trial.mutants.run import deciding_cases
from conformance.vectors.case import Case
from conformance.vectors.frozen.corpus import load_corpus

ORDER = "UML_OS.Data.SeededBlockPermute_v1"
DECODE = "UML_OS.Data.DecodeCursors_v1"
EMIT = "UML_OS.Error.Emit_v1"


@cache
def codebook() -> Codebook:
    """The shipped contracts' forms."""
    return codebook_of(shipped_library())


@cache
def quick_cases() -> tuple[Case, ...]:
    """The cases that decide about mutants."""
    return deciding_cases(load_corpus(shipped_library().suite))


def cases_of(operator: str) -> tuple[Case, ...]:
    """The deciding cases of one operator."""
    return tuple(case for case in quick_cases() if case.operator == operator)


@cache
def committed() -> KillMatrix:
    """reports/kill-matrix.json."""
    return read_matrix(shipped_library().suite.reports / MATRIX_FILE)


@cache
def attempted(backend: str, operator: str) -> Attempt:
    """What a backend makes of one operator's deciding cases."""
    return attempt(backend, cases_of(operator), codebook())
