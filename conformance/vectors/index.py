"""vectors/index.json: what the corpus holds, digest by digest, and which second derivation confirmed each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.vectors.case import Case
from conformance.vectors.digest import digest_of


@dataclass(frozen=True, slots=True)
class IndexedOperator:
    """One operator's line: its file, and per case its digest and what confirmed it besides the reference."""

    file: str
    digests: Mapping[str, str]
    confirmed_by: Mapping[str, tuple[str, ...]]

    @property
    def digest(self) -> str:
        """The digest of the operator's cases."""
        return digest_of(dict(self.digests))


@dataclass(frozen=True, slots=True)
class Index:
    """The whole index."""

    operators: Mapping[str, IndexedOperator]

    @property
    def root(self) -> str:
        """The digest of the whole corpus."""
        return digest_of({name: operator.digest for name, operator in self.operators.items()})


def index_of(
    cases: Mapping[str, Sequence[Case]], files: Mapping[str, str], confirmed_by: Mapping[str, tuple[str, ...]]
) -> Index:
    """The index of frozen cases; `confirmed_by` goes by case id."""
    return Index(
        {
            operator: IndexedOperator(
                files[operator],
                {case.id: case.digest for case in some},
                {case.id: confirmed_by[case.id] for case in some},
            )
            for operator, some in sorted(cases.items())
        }
    )


def index_record(index: Index) -> dict[str, Any]:
    """The JSON object of an index; a case, without its operator's name, has its digest and then what confirmed it."""
    return {
        "digest": index.root,
        "operators": {
            name: {
                "file": operator.file,
                "digest": operator.digest,
                "count": len(operator.digests),
                "cases": {
                    id_.removeprefix(f"{name}::"): [digest, *operator.confirmed_by[id_]]
                    for id_, digest in operator.digests.items()
                },
            }
            for name, operator in index.operators.items()
        },
    }


def index_from(record: Mapping[str, Any]) -> Index:
    """The index that a JSON object holds; raises KeyError, ValueError or TypeError where it holds none."""
    operators = {}
    for name, body in record["operators"].items():
        digests, confirmed_by = {}, {}
        for short, (digest, *backends) in body["cases"].items():
            digests[f"{name}::{short}"], confirmed_by[f"{name}::{short}"] = digest, tuple(backends)
        operators[name] = IndexedOperator(body["file"], digests, confirmed_by)
    return Index(operators)
