"""The frozen vectors, read back: every digest is verified, once for the same bytes; cases are read on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.contract.cache import MISSING, Cache, digest_of_texts, open_cache
from conformance.contract.lazy import LazyMapping
from conformance.contract.suite import Suite
from conformance.contract.yaml.source import BadFile
from conformance.vectors.case import Case
from conformance.vectors.frozen.vector_file import (
    FORMAT,
    INDEX_FILE,
    Index,
    Models,
    case_digest,
    case_of,
    index_from,
)
from conformance.vectors.jsontext import digest_of

Outline = tuple[str, str]  # of a case: its id and its profile
_FEW: Final = 4  # if an operator has at least this many times the wanted cases, only these are made

PIN: Final = "pin"  # the name in index.json if a pinned value is the second derivation
CONTRACT: Final = "contract"  # the name in index.json if every answer follows from the contract



class CorruptedCorpus(BadFile):
    """A vector file is not what was frozen; says which file and which case, and the next step."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Frozen cases by operator in the contract's order, with their index."""

    cases: Mapping[str, tuple[Case, ...]]
    index: Index
    read_part: Callable[[str, Collection[str]], tuple[Case, ...]] | None = field(
        default=None, repr=False, compare=False
    )

    def __iter__(self) -> Iterator[Case]:
        for operator in self.cases:
            yield from self.cases[operator]

    def __len__(self) -> int:
        return sum(len(outline_of(self.cases, operator)) for operator in self.cases)

    def find(self, id_: str) -> Case:
        """The case with this id; raises KeyError."""
        operator = id_.split("::", 1)[0]
        if operator not in self.cases or all(known != id_ for known, _ in outline_of(self.cases, operator)):
            raise KeyError(id_)
        return self.some(operator, {id_})[0]

    def some(self, operator: str, ids: Collection[str]) -> tuple[Case, ...]:
        """The cases of an operator with these ids; if they are few, the other cases of a loaded corpus are not made."""
        wanted = [id_ for id_, _ in outline_of(self.cases, operator) if id_ in ids]
        if self.read_part is None or _FEW * len(wanted) > len(outline_of(self.cases, operator)):
            return tuple(case for case in self.cases[operator] if case.id in ids)
        return self.read_part(operator, wanted) if wanted else ()


def load_corpus(suite: Suite, operator: str = "") -> Corpus:
    """The corpus below `vectors/`, or its cases of one operator; empty if there is no index. Raises CorruptedCorpus."""
    index_file = suite.vectors / INDEX_FILE
    shown = suite.path_text(index_file)
    if not index_file.is_file():
        return Corpus({}, Index({}))
    data = index_file.read_bytes()
    record = _parsed(data, shown)
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
    case_files = _CaseFiles(suite, index, open_cache("vectors"))
    outlines = {name: case_files.outline(name) for name in index.operators if operator in ("", name)}
    digest = digest_of_texts([hashlib.sha256(data).hexdigest(), *case_files.digests.values()])
    return Corpus(LazyMapping(outlines, case_files.cases, digest), index, case_files.part)


def outline_of(cases: Mapping[str, tuple[Case, ...]], operator: str) -> Sequence[Outline]:
    """The id and profile of every case of an operator; the cases of a loaded corpus are not made for it."""
    if isinstance(cases, LazyMapping):
        noted: Sequence[Outline] = cases.notes[operator]
        return noted
    return [(case.id, case.profile) for case in cases[operator]]


class _CaseFiles:
    """The files of a corpus as they were when they were first read, and the cases in them."""

    def __init__(self, suite: Suite, index: Index, cache: Cache) -> None:
        self._suite, self._index, self._cache = suite, index, cache
        self._files: dict[str, bytes] = {}
        self._cases: dict[str, tuple[Case, ...]] = {}
        self.digests: dict[str, str] = {}

    def outline(self, operator: str) -> tuple[Outline, ...]:
        """The outlines of an operator's cases; their digests are verified once for the same bytes."""
        entry = self._index.operators[operator]
        file = self._suite.vectors / entry.file
        if not file.is_file():
            raise _corrupted(self._suite.path_text(file), "the file that the index names is not there")
        self._files[operator] = file.read_bytes()
        said = (operator, entry.digest, *entry.confirmed_by)
        self.digests[operator] = digest_of_texts([hashlib.sha256(self._files[operator]).hexdigest(), *said])
        known = self._cache.get("cases", self.digests[operator])
        if known is MISSING:
            self._cases[operator] = self._read(operator, verified=False)
            known = [[case.id, case.profile] for case in self._cases[operator]]
            self._cache.put("cases", self.digests[operator], known)
        return tuple((id_, profile) for id_, profile in known)

    def cases(self, operator: str) -> tuple[Case, ...]:
        """The cases of an operator whose outline is known."""
        found = self._cases.pop(operator, None)
        return self._read(operator) if found is None else found

    def part(self, operator: str, ids: Collection[str]) -> tuple[Case, ...]:
        """Some cases of an operator whose outline is known."""
        if operator in self._cases:
            return tuple(case for case in self._cases[operator] if case.id in ids)
        return self._read(operator, frozenset(ids))

    def _read(self, operator: str, ids: Collection[str] | None = None, verified: bool = True) -> tuple[Case, ...]:
        """The cases in a file, whose digests are computed unless they are `verified`; with `ids` only those."""
        entry = self._index.operators[operator]
        shown = self._suite.path_text(self._suite.vectors / entry.file)
        record = _parsed(self._files[operator], shown)
        if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("contract") != operator:
            raise _corrupted(shown, f"it is no vector file of format {FORMAT} for {operator}")
        cases, models = dict[str, Case](), Models()
        for k, body in enumerate(record.get("cases", ())):
            where = body.get("id", f"number {k + 1}") if isinstance(body, dict) else f"number {k + 1}"
            try:
                if ids is not None and body["id"] not in ids:
                    models.skip_case(body["id"], body.get("steps", ()))
                    continue
                if "steps" in body:
                    body["steps"] = models.read(body["id"], body["steps"])
                case = case_of(body)
                digest = case.digest if verified else case_digest(case)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise _corrupted(shown, f"case {where} is incomplete ({error!r:.100})") from None
            if case.id in cases or case.operator != operator:
                raise _corrupted(shown, f"case {where} comes twice or under the wrong operator")
            if case.id not in entry.confirmed_by:
                raise _corrupted(shown, f"case {where} is not in the index")
            if digest != case.digest:
                raise _corrupted(shown, f"case {where} has the digest {digest[:16]}..., it says {case.digest[:16]}...")
            cases[case.id] = case
        if ids is not None:
            return tuple(cases.values())
        missing = entry.confirmed_by.keys() - cases.keys()
        if missing:
            raise _corrupted(shown, f"case {min(missing)} is in the index but not here")
        whole = digest_of({case.id: case.digest for case in cases.values()})
        if whole != entry.digest:
            said = f"the cases together have the digest {whole[:16]}..., the index says {entry.digest[:16]}..."
            raise _corrupted(shown, said)
        return tuple(cases.values())


def _parsed(data: bytes, shown: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _corrupted(shown, f"it is not JSON ({error})") from None


def _corrupted(shown: str, message: str) -> CorruptedCorpus:
    return CorruptedCorpus(shown, message, "restore the file, or run `tally vectors build`")
