"""The shipped corpus: whole, small, confirmed twice, and made from the shipped contracts."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from conformance.contract.library import load_library
from conformance.tests.small_spec import SHIPPED
from conformance.vectors.frozen.corpus import load_corpus
from conformance.vectors.frozen.governance import governance
from conformance.vectors.frozen.lock import contract_digest, read_lock


def test_the_shipped_corpus_loads_whole_and_is_small() -> None:
    corpus = load_corpus(SHIPPED)
    assert len(corpus) > 1000
    sizes = [file.stat().st_size for file in SHIPPED.vectors.glob("**/*.json")]
    assert sum(sizes) < 18_000_000
    assert max(sizes) < 4_000_000


def test_every_shipped_case_has_a_second_derivation() -> None:
    index = load_corpus(SHIPPED).index
    assert all(confirmed for operator in index.operators.values() for confirmed in operator.confirmed_by.values())


@pytest.mark.parametrize("file", sorted(SHIPPED.vectors.rglob("*.json")), ids=lambda file: file.stem)
def test_the_shipped_files_fit_their_schema(file: Path) -> None:
    """With the first case of every group: all of them take minutes."""
    record = json.loads(file.read_text(encoding="utf-8"))
    if "contract" in record:
        record["cases"] = list({case["id"].split("::")[1]: case for case in reversed(record["cases"])}.values())
    schema = json.loads((SHIPPED.spec / "schema" / "vectors.schema.json").read_text(encoding="utf-8"))
    # A message of jsonschema holds the whole record: megabytes.
    assert [list(error.absolute_path) for error in jsonschema.Draft202012Validator(schema).iter_errors(record)] == []


def test_the_shipped_corpus_belongs_to_the_shipped_contracts() -> None:
    library = load_library(SHIPPED)
    lock = read_lock(library.suite)
    corpus = load_corpus(SHIPPED)
    assert governance(library, corpus, lock) == ()
    digests = {operator: contract_digest(contract) for operator, contract in library.contracts.items()}
    assert digests == {operator: locked.digest for operator, locked in lock.contracts.items()}
