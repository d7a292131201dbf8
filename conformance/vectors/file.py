"""The vector files as text: one per operator, and the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from conformance.vectors.case import Case
from conformance.vectors.delta import Models
from conformance.vectors.index import Index, index_record
from conformance.vectors.jsontext import json_text
from conformance.vectors.record import case_record

FORMAT: Final = 1  # of the files; another one is refused
INDEX_FILE: Final = "index.json"


def vector_file(family: str, operator: str) -> str:
    """Where an operator's vectors stand below `vectors/`."""
    return f"{family}/{operator}.json"


def operator_text(operator: str, version: str, cases: Sequence[Case]) -> str:
    """The text of one operator's file."""
    records, models = [case_record(case) for case in cases], Models()
    for record in records:
        if "steps" in record:
            record["steps"] = models.written(record["id"], record["steps"])
    return json_text({"format": FORMAT, "contract": operator, "version": version, "cases": records})


def corpus_texts(
    cases: Mapping[str, Sequence[Case]], index: Index, versions: Mapping[str, str]
) -> dict[str, str]:
    """Every file of a corpus, by its path below `vectors/`."""
    texts = {
        index.operators[operator].file: operator_text(operator, versions[operator], some)
        for operator, some in cases.items()
    }
    return {**dict(sorted(texts.items())), INDEX_FILE: json_text(index_record(index))}
