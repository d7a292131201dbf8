"""A worker reads one operator's types at a time; they are those of the whole library."""

from __future__ import annotations

from conformance.backend.session import SpecSignatures, signatures_of
from conformance.codec.codebook import codebook_of
from conformance.contract.library import load_library
from conformance.contract.suite import Suite
from conformance.tests.processes import ROOT, python


def test_signatures_read_one_by_one_are_those_of_the_library() -> None:
    library = load_library(Suite(ROOT))
    known, read = signatures_of(codebook_of(library)), SpecSignatures(Suite(ROOT))
    assert {name: read[name] for name in library.contracts} == {name: known[name] for name in library.contracts}
    assert {code: read.number(code) for code in library.errors} == {code: known.number(code) for code in library.errors}
    assert read.number("NO_SUCH_CODE") == known.number("NO_SUCH_CODE") == 0


def test_a_worker_starts_without_the_expression_engine_and_the_schemas() -> None:
    script = "import sys, conformance.backend.worker; print({'cel_expr_python', 'jsonschema'} & sys.modules.keys())"
    assert python("-c", script).stdout == "set()\n"
