"""The corpus derived again: what `tally vectors build` writes and what `check` and `diff` compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library
from conformance.contract.source import Problem
from conformance.vectors.case import Case, Question, asked_of
from conformance.vectors.corpus import CONTRACT, PIN, Corpus, CorruptedCorpus, load_corpus
from conformance.vectors.expand import expand_all
from conformance.vectors.freeze import Frozen, Progress, freeze, second_derivations, silent
from conformance.vectors.jsontext import write_whole
from conformance.vectors.lock import LOCK_FILE, Lock, contract_digests, lock_of, lock_text, read_lock
from conformance.vectors.vector_file import corpus_texts, index_of, vector_file

Agrees = Callable[[Case], bool]  # whether the frozen answers of a case contradict no contract


@dataclass(frozen=True, slots=True)
class Built:
    """A corpus derived again: every file as text by its path below the root, and the problems that were found."""

    corpus: Corpus
    texts: Mapping[str, str]
    problems: tuple[Problem, ...]
    reused: tuple[str, ...]  # cases taken over from the frozen corpus, not derived again
    lock: Lock


def regenerate(
    library: Library,
    jobs: int = 1,
    golden: bool = False,
    progress: Progress = silent,
    reference: str = "",
    only: frozenset[str] | None = None,
    agrees: Agrees = lambda _: True,
) -> Built:
    """Derive the whole corpus. A golden case whose question is frozen already is taken over unless `golden` is true.

    With `only`, so is every case of other operators than these that backends confirm as before, where also the
    contracts of all that it calls are as they were, or its answers agree with what they now say.
    Raises MalformedContract where a contract does not expand, BackendNotFound, BadHello or LostBackend where a backend
    cannot start, BadLock.
    """
    codebook = codebook_of(library)
    questions = expand_all(codebook)
    every = [question for some in questions.values() for question in some]
    old = {} if golden and only is None else _frozen(library)
    unchanged = _unchanged(library) if only is not None else frozenset()
    reused = {
        question.id: old[question.id]
        for question in every
        if question.id in old
        and (
            _may_stay(question, golden, only)
            or (only is not None and question.operator not in only and _is_confirmed(*old[question.id], codebook))
        )
        and asks_the_same(question, old[question.id][0])
        and (only is None or question.operators <= unchanged or agrees(old[question.id][0]))
    }
    frozen = freeze([one for one in every if one.id not in reused], codebook, jobs, progress, reference)
    return _built(library, codebook, questions, frozen, reused)


def _may_stay(question: Question, golden: bool, only: frozenset[str] | None) -> bool:
    """Whether a case is too long to be derived again, where its question is the frozen one."""
    return question.profile == "golden" and not golden and (only is None or question.operator not in only)


def _is_confirmed(case: Case, by: Sequence[str], codebook: Codebook) -> bool:
    """Whether only backends that now confirm its operator confirmed a case, and one of them if there is any."""
    named, were = set(second_derivations(case.operator, codebook)), set(by) - {PIN, CONTRACT}
    if not named:
        return not were and (bool(by) or codebook[case.operator].contract.of_one(codebook.suite))
    return bool(were) and were <= named


def _unchanged(library: Library) -> frozenset[str]:
    """The operators whose contracts are, but for prose, those of the lock."""
    suite = library.suite
    locked = read_lock(suite.spec / LOCK_FILE, suite.shown(suite.spec / LOCK_FILE)).contracts
    now = contract_digests(library)
    return frozenset(name for name, one in locked.items() if now.get(name) == f"{one.version} {one.digest}")


def _frozen(library: Library) -> dict[str, tuple[Case, tuple[str, ...]]]:
    """The cases on disk with what confirmed them; none where the corpus is not whole."""
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
) -> Built:
    fresh = {id_: (case, frozen.confirmed_by[id_]) for id_, case in frozen.cases.items()}
    known = {**fresh, **reused}
    cases: dict[str, tuple[Case, ...]] = {
        operator: tuple(_reworded(question, known[question.id][0]) for question in some if question.id in known)
        for operator, some in sorted(questions.items())
        if codebook[operator].contract.method is None  # the vectors of a machine are in one file
    }
    contracts = {operator: codebook[operator].contract for operator in cases}
    files = {operator: vector_file(contract.family, operator) for operator, contract in contracts.items()}
    index = index_of(cases, files, {id_: confirmed for id_, (_, confirmed) in known.items()})
    corpus = Corpus(cases, index)
    suite = library.suite
    lock_file = suite.spec / LOCK_FILE
    lock = lock_of(library, corpus, read_lock(lock_file, suite.shown(lock_file)).released)
    versions = {operator: contract.version for operator, contract in contracts.items()}
    texts = {suite.shown(suite.vectors / name): text for name, text in corpus_texts(cases, index, versions).items()}
    texts[suite.shown(lock_file)] = lock_text(lock)
    return Built(corpus, texts, frozen.problems, tuple(reused), lock)


def _reworded(question: Question, case: Case) -> Case:
    """The case under the question's present prose; its digest does not cover that."""
    return replace(
        case,
        why=question.why,
        requirements=question.requirements,
        rulings=question.rulings,
        profile=question.profile,
    )


def stale_files(library: Library, built: Built) -> Iterator[Path]:
    """Vector files on disk that belong to no contract."""
    for file in sorted(library.suite.vectors.glob("**/*.json")):
        if library.suite.shown(file) not in built.texts:
            yield file


def write(library: Library, built: Built) -> tuple[str, ...]:
    """Write every file that differs and remove stale ones; answers their paths, none where there is a problem."""
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
        touched.append(suite.shown(file))
    return tuple(touched)


def build(
    library: Library,
    jobs: int = 1,
    golden: bool = False,
    progress: Progress = silent,
    reference: str = "",
    only: frozenset[str] | None = None,
    agrees: Agrees = lambda _: True,
) -> tuple[Built, tuple[str, ...]]:
    """Derive the corpus and write what changed (see `regenerate`); nothing is written where anything is wrong."""
    built = regenerate(library, jobs, golden, progress, reference, only, agrees)
    return built, write(library, built)
