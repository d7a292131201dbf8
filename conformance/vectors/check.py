"""The check that the corpus on disk equals, byte for byte, a newly built one; and the changes between two corpora."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.contract.library import Library
from conformance.contract.source import Position, Problem
from conformance.vectors.build import Built, regenerate, stale_files
from conformance.vectors.case import Case
from conformance.vectors.corpus import Corpus, CorruptedCorpus, load_corpus
from conformance.vectors.freeze import Progress, silent
from conformance.vectors.governance import governance
from conformance.vectors.lock import LOCK_FILE, read_lock
from conformance.vectors.vector_file import case_record


@dataclass(frozen=True, slots=True)
class Change:
    """The cases of one operator that changed and test one requirement; one of several requirements is in each."""

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
        """Whether the corpus is what it must be."""
        return not self.problems

    @property
    def summary(self) -> str:
        """One line for people; it says so when golden values were taken on trust."""
        trust = ""
        if self.reused:
            trust = f"; {len(self.reused)} golden cases kept as frozen (derive them too with --profile golden)"
        verdict = "unchanged" if self.passed else f"{len(self.problems)} problems"
        return f"{self.cases} cases regenerated or kept: {verdict}{trust}"


def check(
    library: Library,
    jobs: int = 1,
    golden: bool = False,
    progress: Progress = silent,
    reference: str = "",
) -> Checked:
    """Regenerate the corpus and compare every byte (V008), and compare it with the lock (governance).

    Raises what `regenerate` raises.
    """
    suite = library.suite
    problems: list[Problem] = []
    try:
        old = load_corpus(suite)
    except CorruptedCorpus as error:
        message, _, hint = str(error).partition("\n    hint: ")
        file, _, rest = message.partition(": ")
        problems.append(Problem(Position(file, 1, 1), "V009", rest, hint))
        old = None
    built = regenerate(library, jobs, golden, progress, reference)
    problems += built.problems
    problems += _drift(library, built)
    lock_file = suite.spec / LOCK_FILE
    lock = read_lock(lock_file, suite.shown(lock_file))
    problems += governance(library, built.corpus, lock)
    changes = diff(old, built.corpus) if old is not None else ()
    return Checked(tuple(sorted(set(problems))), changes, len(built.corpus), built.reused)


def _drift(library: Library, built: Built) -> list[Problem]:
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
        place = Position(library.suite.shown(file), 1, 1)
        found.append(Problem(place, "V008", "this file belongs to no contract", "run `tally vectors build`"))
    return found


def _first_difference(old: bytes, new: bytes) -> int:
    """The number of the first line that differs, 0 where none does."""
    if old == new:
        return 0
    before, after = old.split(b"\n"), new.split(b"\n")
    pairs = enumerate(zip(before, after, strict=False), start=1)
    return next((k for k, (left, right) in pairs if left != right), min(len(before), len(after)))


def compare(
    library: Library,
    jobs: int = 1,
    golden: bool = False,
    progress: Progress = silent,
    reference: str = "",
) -> tuple[tuple[Change, ...], Built]:
    """What a build would change against the corpus on disk (`tally vectors diff`); raises CorruptedCorpus as well."""
    old: Corpus = load_corpus(library.suite)
    built = regenerate(library, jobs, golden, progress, reference)
    return diff(old, built.corpus), built
