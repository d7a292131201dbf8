"""Finds the known mistake that explains a failing backend: the mutant with the same answers, or none (DESIGN 7)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final, Protocol

from conformance.contract.family import Mutant
from conformance.trial.check import Diagnosis, Kind, Result, Verdict
from conformance.trial.client import behaviour
from conformance.trial.mutants.kill_matrix import KillMatrix, MutantRow
from conformance.vectors.leaf import is_placeholder

NOT_EXPLAINED: Final = Diagnosis(explained=False)
SHOWN: Final = 3  # sentences of mutants that the selected cases do not tell apart
MOST_UNLISTED: Final = 24  # mutants that the matrix does not have; more of them would take minutes to ask
MOST_FOR_ONE: Final = 24  # suspects where one case fails, or none; each of them takes half a second to ask
MOST_SUSPECTS: Final = 100  # in all; without a vector that was judged, every mutant of the operator is one
_JUDGED: Final = (Verdict.PASS, Verdict.FAIL)
_TRIED: Final = (Kind.VECTOR, Kind.LAW)  # checks that a mutant can be given one by one


class Interview(Protocol):
    """Asks mutants the questions that the backend under test was asked."""

    def checks(self, mutant: Mutant, wanted: Sequence[str]) -> Mapping[str, Result]:
        """The mutant's results in these vectors and laws, by id; one that a mutant cannot be given is left out."""

    def alike_near(self, mutant: Mutant, failed: Sequence[Result], left_out: Sequence[str]) -> bool:
        """Whether the mutant answers counterexamples, frozen cases that the run left out, and calls near what failed
        as the backend does."""

    def fresh(self, mutant: Mutant, operators: Sequence[str]) -> bool:
        """Whether the mutant and the backend answer alike in new calls of these operators."""


def diagnose(
    results: Sequence[Result],
    mutants: Mapping[str, Mutant],
    matrix: KillMatrix,
    interview: Interview,
    believed: Collection[str] | None = None,
) -> Diagnosis | None:
    """Name the mutant that answers as the backend does; None if nothing failed.

    The `believed` cases of the committed matrix (all if None) say which mutants are suspects. A mutant that is not in
    the matrix is a suspect too, unless there are many. Each of them is asked the failing checks, the passing ones that
    are not believed, counterexamples, calls near what failed, and new calls; one other answer clears it. A crash or
    timeout is never a mutant's doing. Where one frozen case fails, or behaviour alone, which no mutant is asked,
    many suspects are not asked, and very many never: it would take minutes. A mistake that no mutant makes is not
    explained: there is no nearest one.
    """
    failed = [result for result in results if result.verdict is Verdict.FAIL]
    if not failed and all(result.verdict is not Verdict.ERROR for result in results):
        return None
    if not failed or any(result.verdict is Verdict.ERROR for result in results):
        return NOT_EXPLAINED  # a lost backend
    held = frozenset(matrix.cases if believed is None else {*matrix.cases} & {*believed})
    listed, single = list(_suspects(results, mutants, matrix, held)), len(_evidence(failed)) == 1
    by_a_case = any(result.check.id in held for result in failed)
    by_behaviour = all(result.check.kind is Kind.BEHAVIOUR for result in failed)
    alone = (single and by_a_case) or by_behaviour
    many = len(listed) > (MOST_FOR_ONE if alone else MOST_SUSPECTS)
    alike = [] if many else [mutant for mutant in listed if _agrees(mutant, results, matrix, interview, held)]
    others = unlisted(mutants, matrix)
    if len(others) <= MOST_UNLISTED:
        alike += [mutant for mutant in others if _agrees(mutant, results, matrix, interview, frozenset())]
    if many and not alike:
        why = "fail this case as well; only more failing cases" if by_a_case else "are not ruled out; only more checks"
        return replace(NOT_EXPLAINED, sentence=f"{len(listed)} known mistakes {why} tell them apart")
    if not alike:
        return NOT_EXPLAINED
    return _diagnosis(alike, matrix, single)


def unlisted(mutants: Mapping[str, Mutant], matrix: KillMatrix) -> list[Mutant]:
    """The mutants that the matrix does not have yet: which cases kill them is not known."""
    return [mutant for id_, mutant in sorted(mutants.items()) if id_ not in matrix.rows and not mutant.control]


def _evidence(failed: Sequence[Result]) -> set[str]:
    """The distinct calls that failed; checks without a call, or whose call depends on earlier ones, count each."""
    found = set()
    for result in failed:
        call = result.call
        parts = [] if call is None or not isinstance(call.inputs, Mapping) else list(call.inputs.values())
        hangs = any(map(is_placeholder, parts))
        found.add(result.check.id if call is None or hangs else repr((call.operator, call.inputs)))
    return found


def _suspects(
    results: Sequence[Result], mutants: Mapping[str, Mutant], matrix: KillMatrix, held: Set[str]
) -> Iterator[Mutant]:
    """The mutants that the matrix kills by exactly the failing vectors, of those that were judged and are believed."""
    vectors = {r.check.id: r for r in results if r.check.kind is Kind.VECTOR and r.verdict in _JUDGED}
    failing = {id_ for id_, result in vectors.items() if result.verdict is Verdict.FAIL} & held
    judged = vectors.keys() & held
    operators = {result.check.operator for result in results if result.verdict is Verdict.FAIL}
    for id_, row in sorted(matrix.rows.items()):
        if id_ not in mutants or mutants[id_].control or row.killed & judged != failing:
            continue
        if failing or _reaches(row, operators):
            yield mutants[id_]


def _reaches(row: MutantRow, operators: set[str]) -> bool:
    """Whether a check of these operators notices a mutant; where no vector fails, the others are not worth asking."""
    noticed = {re.split("::|#", id_.removeprefix("law:"))[0] for id_ in (*row.killed, *(row.laws or ()))}
    return bool((noticed | (row.fuzz or frozenset())) & operators)


def _agrees(
    mutant: Mutant, results: Sequence[Result], matrix: KillMatrix, interview: Interview, held: Set[str]
) -> bool:
    """Whether a mutant gives the backend's answers to all questions; the cheapest questions come first."""
    failed = [result for result in results if result.verdict is Verdict.FAIL]
    tried = {r.check.id: r for r in results if r.check.kind in _TRIED and r.verdict in _JUDGED}
    first = sorted(result.check.id for result in failed if result.check.kind in _TRIED)
    found = interview.checks(mutant, first)
    # A failing golden case tells nothing, because no mutant is asked it.
    if not _answers_alike(found, tried, [id_ for id_ in first if id_ in found or id_ in held]):
        return False
    then = sorted(id_ for id_, r in tried.items() if r.verdict is Verdict.PASS and id_ not in held)
    found = interview.checks(mutant, then)
    if not _answers_alike(found, tried, sorted(found)):
        return False
    left_out = sorted(matrix.rows[mutant.id].killed - tried.keys()) if mutant.id in matrix.rows else []
    if not interview.alike_near(mutant, failed, left_out):
        return False
    return interview.fresh(mutant, sorted({result.check.operator for result in failed}))


def _answers_alike(mutant: Mapping[str, Result], backend: Mapping[str, Result], asked: Sequence[str]) -> bool:
    for id_ in asked:
        theirs, ours = mutant.get(id_), backend[id_]
        if theirs is None or theirs.verdict is not ours.verdict:
            return False
        if ours.verdict is Verdict.FAIL and behaviour(theirs) != behaviour(ours):
            return False
    return True


def _diagnosis(alike: Sequence[Mutant], matrix: KillMatrix, single: bool) -> Diagnosis:
    """The diagnosis of mutants that answer everything that was asked alike."""
    sentences = list(dict.fromkeys(mutant.sentence for mutant in alike))
    sentence = sentences[0]
    if set(matrix.class_of(alike[0].id)) >= {mutant.id for mutant in alike}:
        # One behaviour class: it does not matter which member is meant.
        sentences = sentences[:1]
    if len(sentences) > 1:
        more = [f"{len(sentences) - SHOWN} more"] if len(sentences) > SHOWN else []
        listed = "; ".join([*sentences[:SHOWN], *more])
        sentence = f"one of these, which the selected cases do not tell apart: {listed}"
    return Diagnosis(
        explained=not single,
        single=single,
        mutants=tuple(mutant.id for mutant in alike),
        sentence=sentence,
        requirements=_union(mutant.requirements for mutant in alike),
        rulings=_union(mutant.rulings for mutant in alike),
    )


def _union(names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({name for some in names for name in some}))
