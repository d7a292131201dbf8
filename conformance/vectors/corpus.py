"""The frozen vectors, read back: every digest is verified, whatever the files say of themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.contract.finder import Layout
from conformance.vectors.case import Case
from conformance.vectors.delta import Models
from conformance.vectors.file import FORMAT, INDEX_FILE
from conformance.vectors.index import Index, cases_digest, index_from
from conformance.vectors.record import case_digest, case_of


class CorruptedCorpus(Exception):
    """A vector file is not what was frozen; says which file and which case, and the next step."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Frozen cases by operator in the contract's order, with the index that vouches for them."""

    cases: Mapping[str, tuple[Case, ...]]
    index: Index

    def __iter__(self) -> Iterator[Case]:
        for operator in self.cases:
            yield from self.cases[operator]

    def __len__(self) -> int:
        return sum(map(len, self.cases.values()))

    def find(self, id_: str) -> Case:
        """The case with this id; raises KeyError."""
        for case in self.cases.get(id_.split("::", 1)[0], ()):
            if case.id == id_:
                return case
        raise KeyError(id_)


def load_corpus(layout: Layout) -> Corpus:
    """The corpus below `vectors/`; empty where there is no index. Raises CorruptedCorpus."""
    index_file = layout.vectors / INDEX_FILE
    shown = layout.shown(index_file)
    if not index_file.is_file():
        return Corpus({}, Index({}))
    record = _read(index_file, shown)
    if not isinstance(record, dict):
        raise _corrupted(shown, "the index is not an object")
    try:
        index = index_from(record)
        root = record["digest"]
    except (KeyError, TypeError, AttributeError) as error:
        raise _corrupted(shown, f"the index lacks {error}") from None
    except ValueError as error:
        raise _corrupted(shown, str(error)) from None
    if index.root != root:
        raise _corrupted(shown, "the root digest is not that of the operators")
    return Corpus({name: _operator_cases(layout, index, name) for name in index.operators}, index)


def _operator_cases(layout: Layout, index: Index, operator: str) -> tuple[Case, ...]:
    entry = index.operators[operator]
    file = layout.vectors / entry.file
    shown = layout.shown(file)
    if not file.is_file():
        raise _corrupted(shown, "the file that the index names is not there")
    record = _read(file, shown)
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("contract") != operator:
        raise _corrupted(shown, f"it is no vector file of format {FORMAT} for {operator}")
    cases, models = dict[str, Case](), Models()
    for k, body in enumerate(record.get("cases", ())):
        where = body.get("id", f"number {k + 1}") if isinstance(body, dict) else f"number {k + 1}"
        try:
            if "steps" in body:
                body["steps"] = models.read(body["id"], body["steps"])
            case = case_of(body)
            digest = case_digest(case)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise _corrupted(shown, f"case {where} is incomplete ({error!r:.100})") from None
        if case.id in cases or case.operator != operator:
            raise _corrupted(shown, f"case {where} stands twice or under the wrong operator")
        if case.id not in entry.confirmed_by:
            raise _corrupted(shown, f"case {where} is not in the index")
        if digest != case.digest:
            raise _corrupted(shown, f"case {where} has the digest {digest[:16]}..., it says {case.digest[:16]}...")
        cases[case.id] = case
    missing = entry.confirmed_by.keys() - cases.keys()
    if missing:
        raise _corrupted(shown, f"case {min(missing)} is in the index but not here")
    whole = cases_digest({case.id: case.digest for case in cases.values()})
    if whole != entry.digest:
        said = f"the cases together have the digest {whole[:16]}..., the index says {entry.digest[:16]}..."
        raise _corrupted(shown, said)
    return tuple(cases.values())


def _read(file: Path, shown: str) -> Any:
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _corrupted(shown, f"it is not JSON ({error})") from None


def _corrupted(shown: str, message: str) -> CorruptedCorpus:
    return CorruptedCorpus(f"{shown}: {message}\n    hint: restore the file, or run `tally vectors build`")
