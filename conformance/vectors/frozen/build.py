"""Derives the corpus again: `tally vectors build` writes it, `check` and `diff` compare it with the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.contract.yaml.source import Position, Problem
from conformance.vectors.case import Case, Question, asked_of
from conformance.vectors.frozen.corpus import CONTRACT, PIN, Corpus, CorruptedCorpus, load_corpus
from conformance.vectors.frozen.derivation import keeps_pins
from conformance.vectors.frozen.freeze import FreezeProgress, Frozen, freeze, no_progress, second_derivations
from conformance.vectors.frozen.governance import governance
from conformance.vectors.frozen.lock import LOCK_FILE, contract_digests, lock_of, lock_text, read_lock
from conformance.vectors.frozen.vector_file import (
    INDEX_FILE,
    Index,
    case_record,
    corpus_texts,
    index_of,
    index_record,
    vector_file,
)
from conformance.vectors.jsontext import write_whole
from conformance.vectors.questions.expand import expand_all

Agrees = Callable[[Case], bool]  # whether the frozen answers of a case contradict no contract


@dataclass(frozen=True, slots=True)
class BuiltCorpus:
    """A corpus derived again: every file as text by its path below the root, and the problems that were found."""

    corpus: Corpus
    texts: Mapping[str, str]
    problems: tuple[Problem, ...]
    reused: tuple[str, ...]  # cases copied from the frozen corpus, not derived again


def regenerate(
    library: Library,
    jobs: int = 1,
    golden: bool = False,
    progress: FreezeProgress = no_progress,
    only: frozenset[str] | None = None,
    agrees: Agrees = lambda _: True,
) -> BuiltCorpus:
    """Derive the whole corpus. A golden case whose question is already frozen is copied unless `golden` is true.

    With `only`, so is every case of other operators than these that backends confirm as before, where also the
    contracts of all that it calls are as they were, or its answers agree with what they now say.
    Raises MalformedContract where a contract does not expand, BackendNotFound or BadHello where a backend cannot start,
    BadLock.
    """
    codebook = codebook_of(library)
    questions = expand_all(codebook)
    every = [question for some in questions.values() for question in some]
    old = {} if golden and only is None else _frozen(library)
    unchanged = _unchanged(library) if only is not None else frozenset()

    def is_kept(question: Question) -> bool:
        if question.id not in old or (only is not None and question.operator in only):
            return False
        case, by = old[question.id]
        trusted = question.profile == "golden" and not golden
        if not (trusted or (only is not None and _is_confirmed(case, by, codebook))):
            return False
        same = asks_the_same(question, case) and keeps_pins(question, case, codebook)
        return same and (only is None or question.operators <= unchanged or agrees(case))

    reused = {question.id: old[question.id] for question in every if is_kept(question)}
    frozen = freeze([one for one in every if one.id not in reused], codebook, jobs, progress)
    return _built(library, codebook, questions, frozen, reused)


def _is_confirmed(case: Case, by: Sequence[str], codebook: Codebook) -> bool:
    """Whether only backends that confirm its operator today confirmed a case, and at least one if there are any."""
    named, were = set(second_derivations(case.operator, codebook)), set(by) - {PIN, CONTRACT}
    if not named:
        return not were and (bool(by) or codebook[case.operator].contract.of_one(codebook.suite))
    return bool(were) and were <= named


def _unchanged(library: Library) -> frozenset[str]:
    """The operators whose contracts are the same as in the lock, apart from prose."""
    locked = read_lock(library.suite).contracts
    now = contract_digests(library)
    return frozenset(name for name, one in locked.items() if now.get(name) == f"{one.version} {one.digest}")


def _frozen(library: Library) -> dict[str, tuple[Case, tuple[str, ...]]]:
    """The cases on disk with what confirmed them; none if the corpus is corrupted."""
    try:
        corpus = load_corpus(library.suite)
    except CorruptedCorpus:
        return {}
    return {case.id: (case, corpus.index.operators[case.operator].confirmed_by[case.id]) for case in corpus}


def asks_the_same(question: Question, case: Case) -> bool:
    """Whether a frozen case is the answer to exactly this question."""
    if question.accumulation is not None or case.accumulation is not None:
        frozen = case.accumulation and replace(case.accumulation, checkpoints=())
        return question.accumulation == frozen
    return [asked_of(step) for step in case.steps] == [asked_of(step) for step in question.steps]


def _built(
    library: Library,
    codebook: Codebook,
    questions: Mapping[str, Sequence[Question]],
    frozen: Frozen,
    reused: Mapping[str, tuple[Case, tuple[str, ...]]],
) -> BuiltCorpus:
    fresh = {id_: (case, frozen.confirmed_by[id_]) for id_, case in frozen.cases.items()}
    known = {**fresh, **reused}
    cases: dict[str, tuple[Case, ...]] = {
        # The question's current prose, which the digest does not cover.
        operator: tuple(replace(known[one.id][0], **one.said) for one in some if one.id in known)
        for operator, some in sorted(questions.items())
        if codebook[operator].contract.method is None  # the vectors of a machine are in one file
    }
    contracts = {operator: codebook[operator].contract for operator in cases}
    files = {operator: vector_file(contract.family, operator) for operator, contract in contracts.items()}
    index = index_of(cases, files, {id_: confirmed for id_, (_, confirmed) in known.items()})
    corpus = Corpus(cases, index)
    suite = library.suite
    versions = {operator: contract.version for operator, contract in contracts.items()}
    texts = {suite.path_text(suite.vectors / name): text for name, text in corpus_texts(cases, index, versions).items()}
    texts[suite.path_text(suite.spec / LOCK_FILE)] = lock_text(lock_of(library, corpus, read_lock(suite).released))
    return BuiltCorpus(corpus, texts, frozen.problems, tuple(reused))


def stale_files(library: Library, built: BuiltCorpus) -> Iterator[Path]:
    """Vector files on disk that belong to no contract; other JSON files there are somebody's own."""
    for file in sorted(library.suite.vectors.glob("**/*.json")):
        if library.suite.path_text(file) not in built.texts and _has_vectors(file):
            yield file


def _has_vectors(file: Path) -> bool:
    """Whether a file was written by a build."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= {"cases", "contract", "format", "version"}


def _is_index(data: bytes) -> bool:
    """Whether a build wrote an index, which may be damaged or empty now."""
    return not data or all(f'"{key}"'.encode() in data for key in index_record(Index({})))


def write(library: Library, built: BuiltCorpus) -> tuple[str, ...]:
    """Write every file that differs and remove stale ones; return their paths, none if there is a problem."""
    if built.problems:
        return ()
    suite = library.suite
    touched = []
    for name, text in built.texts.items():
        file = suite.root / name
        if not file.is_file() or file.read_bytes() != text.encode("utf-8"):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, text)
            touched.append(name)
    for file in stale_files(library, built):
        file.unlink()
        touched.append(suite.path_text(file))
    return tuple(touched)


def build(
    library: Library,
    jobs: int = 1,
    golden: bool = False,
    progress: FreezeProgress = no_progress,
    only: frozenset[str] | None = None,
    agrees: Agrees = lambda _: True,
) -> tuple[BuiltCorpus, tuple[str, ...]]:
    """Derive the corpus (see `regenerate`) and write the files that changed; write nothing if there is a problem.

    Raises CorruptedCorpus where another program's index is in the way.
    """
    index = library.suite.vectors / INDEX_FILE
    if index.is_file() and not _is_index(index.read_bytes()):
        shown, hint = library.suite.path_text(index), "move it away, or name another folder of vectors in tally.toml"
        raise CorruptedCorpus(shown, "no build wrote this file, so none replaces it", hint)
    built = regenerate(library, jobs, golden, progress, only, agrees)
    return built, write(library, built)


@dataclass(frozen=True, slots=True)
class Change:
    """The changed cases of one operator that test one requirement; a case can be in several changes."""

    operator: str
    requirement: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()  # another question or another answer
    reworded: tuple[str, ...] = ()  # the same digest under other prose, requirements or profile

    def __str__(self) -> str:
        counts = [f"{len(ids)} {word}" for word, ids in self.parts() if ids]
        return f"{self.operator} {self.requirement}: {', '.join(counts)}"

    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The four lists with their names."""
        return tuple((name, getattr(self, name)) for name in ("added", "removed", "changed", "reworded"))


def diff(old: Iterable[Case], new: Iterable[Case]) -> tuple[Change, ...]:
    """The changes from `old` to `new`, sorted by operator and requirement."""
    before, after = {case.id: case for case in old}, {case.id: case for case in new}
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for id_ in sorted(before.keys() | after.keys()):
        kind = _kind(before.get(id_), after.get(id_))
        if not kind:
            continue
        for case in (before.get(id_), after.get(id_)):
            for requirement in case.requirements if case is not None else ():
                ids = found.setdefault((case.operator, requirement), {}).setdefault(kind, [])  # type: ignore[union-attr]
                if id_ not in ids:
                    ids.append(id_)
    return tuple(
        Change(operator, requirement, **{kind: tuple(ids) for kind, ids in kinds.items()})
        for (operator, requirement), kinds in sorted(found.items())
    )


def _kind(old: Case | None, new: Case | None) -> str:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    if old.digest != new.digest:
        return "changed"
    return "reworded" if case_record(old) != case_record(new) else ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found; `changes` says what drifted, `reused` which golden cases were not derived again."""

    problems: tuple[Problem, ...]
    changes: tuple[Change, ...]
    cases: int
    reused: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the files are the derived ones and break no version rule."""
        return not self.problems

    @property
    def summary(self) -> str:
        """One line for people; it says so when golden values were taken on trust."""
        trust = ""
        if self.reused:
            kept = counted(len(self.reused), "golden case")
            trust = f"; {kept} kept as frozen (derive them too with --profile golden)"
        verdict = "unchanged" if self.passed else counted(len(self.problems), "problem")
        return f"{counted(self.cases, 'case')} regenerated or kept: {verdict}{trust}"


def check(library: Library, built: BuiltCorpus) -> Checked:
    """The files compared with what was derived again, byte for byte (V008), and the corpus with the lock (governance).

    Raises BadLock.
    """
    problems = [*built.problems, *_drift(library, built)]
    old: Sequence[Case] | None = None
    try:
        old = tuple(load_corpus(library.suite))
    except CorruptedCorpus as error:
        problems.append(Problem(Position(error.place, 1, 1), "V009", error.message, error.hint))
    problems += governance(library, built.corpus, read_lock(library.suite))
    changes = diff(old, built.corpus) if old is not None else ()
    return Checked(tuple(sorted(set(problems))), changes, len(built.corpus), built.reused)


def _drift(library: Library, built: BuiltCorpus) -> list[Problem]:
    found = []
    for name, text in built.texts.items():
        file = library.suite.root / name
        if not file.is_file():
            message = "the file is missing"
        else:
            line = _first_difference(file.read_bytes(), text.encode("utf-8"))
            if not line:
                continue
            message = f"the file is not what the contracts and backends make; it differs from line {line} on"
        place = Position(name, 1, 1)
        found.append(Problem(place, "V008", message, "see `tally vectors diff`, then `tally vectors build`"))
    for file in stale_files(library, built):
        place = Position(library.suite.path_text(file), 1, 1)
        found.append(Problem(place, "V008", "this file belongs to no contract", "run `tally vectors build`"))
    return found


def _first_difference(old: bytes, new: bytes) -> int:
    """The number of the first line that differs, from 1; 0 if none differs."""
    if old == new:
        return 0
    before, after = old.split(b"\n"), new.split(b"\n")
    pairs = enumerate(zip(before, after, strict=False), start=1)
    return next((k for k, (left, right) in pairs if left != right), min(len(before), len(after)))
