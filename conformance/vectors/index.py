"""vectors/index.json: what the corpus holds, under one digest, and which second derivation confirmed each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.vectors.case import Case
from conformance.vectors.digest import digest_of


@dataclass(frozen=True, slots=True)
class IndexedOperator:
    """One operator's entry: its file, the digest of its cases, and per case what confirmed it besides the reference."""

    file: str
    digest: str
    confirmed_by: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Index:
    """The whole index."""

    operators: Mapping[str, IndexedOperator]

    @property
    def root(self) -> str:
        """The digest of the whole corpus."""
        return digest_of({name: operator.digest for name, operator in self.operators.items()})


def cases_digest(digests: Mapping[str, str]) -> str:
    """The digest of an operator's cases, of their digests by id."""
    return digest_of(dict(digests))


def index_of(
    cases: Mapping[str, Sequence[Case]], files: Mapping[str, str], confirmed_by: Mapping[str, tuple[str, ...]]
) -> Index:
    """The index of frozen cases; `confirmed_by` goes by case id."""
    return Index(
        {
            operator: IndexedOperator(
                files[operator],
                cases_digest({case.id: case.digest for case in some}),
                {case.id: confirmed_by[case.id] for case in some},
            )
            for operator, some in sorted(cases.items())
        }
    )


def index_record(index: Index) -> dict[str, Any]:
    """The JSON object of an index; under a case, without its operator's name, stands what confirmed it."""
    return {
        "digest": index.root,
        "operators": {
            name: {
                "file": operator.file,
                "digest": operator.digest,
                "count": len(operator.confirmed_by),
                "cases": {
                    id_.removeprefix(f"{name}::"): list(backends) for id_, backends in operator.confirmed_by.items()
                },
            }
            for name, operator in index.operators.items()
        },
    }


def index_from(record: Mapping[str, Any]) -> Index:
    """The index that a JSON object holds; raises KeyError, ValueError, TypeError or AttributeError where none is."""
    operators = {}
    for name, body in record["operators"].items():
        confirmed_by = {f"{name}::{short}": tuple(map(str, names)) for short, names in body["cases"].items()}
        if body["count"] != len(confirmed_by):
            raise ValueError(f"count of {name}: {body['count']} stands there, of {len(confirmed_by)} cases")
        operators[name] = IndexedOperator(str(body["file"]), str(body["digest"]), confirmed_by)
    return Index(operators)
