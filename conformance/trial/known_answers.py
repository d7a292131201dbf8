"""Known answers: digests of what the reference answered in earlier runs, so that it is not asked the same again.

A backend that gives an answer with the known digest is right. Any other answer is compared with one that the reference
gives now. So a wrong backend gets the same verdict and the same explanation as without known answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.backend.outcome import Lost, Observed, ObservedFailure, ObservedResult
from conformance.backend.scheduler import Call
from conformance.codec.codebook import Codebook
from conformance.contract.cache import MISSING, PACKAGE, Cache, digest_of_files, digest_of_texts, open_cache
from conformance.contract.lazy import files_digest
from conformance.contract.suite import Suite
from conformance.vectors.case import asked_of
from conformance.vectors.conversation.exchange import AnyStep, Transcript

_KIND: Final = "answers"
_SKIPPED: Final = ("__pycache__", "node_modules")
_EDITABLE: Final = "__editable__"  # the start of the names of files that lead imports to folders elsewhere


class KnownAnswers:
    """The known answers of one reference to the calls and traces of one check; without a key, none are known."""

    def __init__(self, cache: Cache | None = None, key: str = "") -> None:
        self._cache, self._key = cache if key else None, key
        found: Any = MISSING if self._cache is None else self._cache.get(_KIND, key)
        self._known: dict[bytes, bytes] = {} if found is MISSING else dict(found)
        self._earlier = len(self._known)

    def question(self, asked: Call | Sequence[AnyStep]) -> bytes:
        """The digest of a call or of the steps of a trace; empty if its answer is not stored."""
        if self._cache is None:
            return b""
        if isinstance(asked, Call):
            return _digest([asked.operator, asked.inputs])
        return _digest([repr(asked_of(step)) for step in asked])

    def is_known(self, question: bytes) -> bool:
        """Whether the reference has answered this before."""
        return question in self._known

    def agrees(self, question: bytes, answer: Observed | Transcript | Lost) -> bool:
        """Whether the reference is known to give this answer."""
        known = self._known.get(question)
        return known is not None and known == _digest_of_answer(answer)

    def note(self, question: bytes, answer: Observed | Transcript | Lost) -> None:
        """Remember an answer of the reference."""
        if question and (digest := _digest_of_answer(answer)):
            self._known[question] = digest

    def keep(self) -> None:
        """Store the answers for later runs if there are new ones."""
        if self._cache is not None and len(self._known) > self._earlier:
            self._cache.put(_KIND, self._key, self._known)


@dataclass(frozen=True, slots=True)
class AnswerStore:
    """Where the answers of one reference are known from; without a digest, none are known."""

    digest: str = ""  # of everything that an answer depends on

    def of(self, check: str) -> KnownAnswers:
        """The known answers for a check."""
        return KnownAnswers(open_cache("trial"), digest_of_texts((self.digest, check)) if self.digest else "")


def answers_of(reference: str, codebook: Codebook) -> AnswerStore:
    """The answers of a reference; none if it is not certain which files they depend on.

    It is certain if the reference is a Python command of the suite, `[sandbox] show` names its files, and no package
    is imported from a folder outside the installation and the suite. The cache itself counts the versions of Python and
    of all packages.
    """
    suite, contracts = codebook.suite, files_digest(codebook.forms)
    command = suite.backends.get(reference, "")
    if not contracts or not command.startswith("python ") or _imports_from_elsewhere(suite):
        return AnswerStore()
    places = [_shown_place(suite, name) for name in suite.sandbox.get("show", ())]
    if not places or None in places:
        return AnswerStore()
    hidden = {_shown_place(suite, name) for name in suite.sandbox.get("hide", ())}
    files: dict[str, bytes] = {}
    for number, place in enumerate(filter(None, places)):
        for file in _files_below(place, hidden):
            files[f"{number} {file.relative_to(place).as_posix()}"] = file.read_bytes()
    return AnswerStore(digest_of_texts((command, contracts, digest_of_files(files))))


def _shown_place(suite: Suite, name: str) -> Path | None:
    """Where a file or folder of `[sandbox]` is; the code of the bundled suite may be installed beside the harness."""
    roots = (suite.root, PACKAGE.parent) if suite.root.is_relative_to(PACKAGE) else (suite.root,)
    return next((root / name for root in roots if (root / name).exists()), None)


def _files_below(place: Path, hidden: Container[Path | None]) -> Iterator[Path]:
    if place.is_file():
        yield place
    for folder, folders, files in os.walk(place):
        folders[:] = [one for one in folders if one not in _SKIPPED and Path(folder, one) not in hidden]
        yield from (file for file in map(Path(folder).joinpath, files) if file.is_file())


def _imports_from_elsewhere(suite: Suite) -> bool:
    ours = [Path(place).resolve() for place in (sys.prefix, sys.base_prefix, suite.root)]
    for entry in filter(os.path.isdir, sys.path):
        if not any(Path(entry).resolve().is_relative_to(place) for place in ours):
            return True
        if any(file.name.startswith(_EDITABLE) for file in Path(entry).iterdir()):
            return True
    return False


def _digest_of_answer(answer: Observed | Transcript | Lost) -> bytes:
    """The digest of a valid answer; empty for any other, which is never known."""
    if not isinstance(answer, Transcript):
        return _digest(_plain(answer))
    parts = [[one.step, one.operator, _plain(one.observed)] for one in answer.exchanges]
    return _digest([parts, answer.trees, answer.fault]) if all(part[2] for part in parts) else b""


def _plain(answer: Observed | Lost) -> list[Any]:
    match answer:
        case ObservedResult(fields, handles):
            return ["result", fields, sorted(handles)]
        case ObservedFailure(code, data):
            return ["failure", code, data]
    return []


def _digest(value: list[Any]) -> bytes:
    try:
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest() if value else b""
    except (TypeError, ValueError):  # no JSON: a number as a key, for example
        return b""
