"""Which known mistake explains a failing backend: the mutant that answers as it does, or none (DESIGN 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from conformance.contract.mutant import Mutant
from conformance.trial.attempt import behaviour
from conformance.trial.check import Kind, Result, Verdict
from conformance.trial.mutants_matrix import KillMatrix
from conformance.trial.run_result import Diagnosis

Ask = Callable[[Mutant, Sequence[str]], Mapping[str, Result]]
NOT_EXPLAINED: Final = Diagnosis(explained=False)
SHOWN: Final = 3  # sentences of mutants that the selected cases do not tell apart
_JUDGED: Final = (Verdict.PASS, Verdict.FAIL)


def diagnose(
    results: Sequence[Result], mutants: Mapping[str, Mutant], matrix: KillMatrix, ask: Ask
) -> Diagnosis | None:
    """Name the mutant that fails exactly where the backend fails, with the same answers; None where nothing failed.

    `ask` tries frozen cases, by id, on a mutant; it may leave out cases that the matrix does not hold. The committed
    matrix says which mutants can be meant; what it says of passing cases is believed, everything else is asked. A
    crash or timeout is never a mutant's doing, and a mistake that no mutant holds is not explained: there is no
    nearest one.
    """
    if all(result.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE) for result in results):
        return None
    vectors = {r.check.id: r for r in results if r.check.kind is Kind.VECTOR and r.verdict in _JUDGED}
    failing = {id_ for id_, result in vectors.items() if result.verdict is Verdict.FAIL}
    if not failing or any(result.verdict is Verdict.ERROR for result in results):
        return NOT_EXPLAINED
    known = set(matrix.cases)
    first, then = sorted(failing & known), sorted(vectors.keys() - known)
    alike = [
        mutant
        for mutant in _candidates(mutants, matrix, failing & known, vectors.keys() & known)
        if _answers_alike(ask(mutant, first), vectors, first)
        and _answers_alike(found := ask(mutant, then), vectors, sorted(found))
    ]
    return _diagnosis(alike, matrix) if alike else NOT_EXPLAINED


def _candidates(
    mutants: Mapping[str, Mutant], matrix: KillMatrix, failing: set[str], selected: set[str]
) -> Iterator[Mutant]:
    """The mutants that the matrix kills by exactly the failing cases among the selected ones."""
    for id_, row in sorted(matrix.rows.items()):
        if id_ in mutants and not mutants[id_].control and row.killed & selected == failing:
            yield mutants[id_]


def _answers_alike(mutant: Mapping[str, Result], backend: Mapping[str, Result], asked: Sequence[str]) -> bool:
    for id_ in asked:
        theirs, ours = mutant.get(id_), backend[id_]
        if theirs is None or theirs.verdict is not ours.verdict:
            return False
        if ours.verdict is Verdict.FAIL and behaviour(theirs) != behaviour(ours):
            return False
    return True


def _diagnosis(alike: Sequence[Mutant], matrix: KillMatrix) -> Diagnosis:
    """The diagnosis of mutants that the failing cases cannot tell apart."""
    sentences = list(dict.fromkeys(mutant.sentence for mutant in alike))
    sentence = sentences[0]
    if set(matrix.class_of(alike[0].id)) >= {mutant.id for mutant in alike}:
        # One behaviour class: which member is meant cannot matter to anybody.
        sentences = sentences[:1]
    if len(sentences) > 1:
        more = [f"{len(sentences) - SHOWN} more"] if len(sentences) > SHOWN else []
        listed = "; ".join([*sentences[:SHOWN], *more])
        sentence = f"one of these, which the selected cases do not tell apart: {listed}"
    return Diagnosis(
        explained=True,
        mutants=tuple(mutant.id for mutant in alike),
        sentence=sentence,
        requirements=_union(mutant.requirements for mutant in alike),
        rulings=_union(mutant.rulings for mutant in alike),
    )


def _union(names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({name for some in names for name in some}))
