"""Every mutant with one operator declared at a time: do the checks of that operator alone notice the mistake?

The stand-in answers every other operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library
from conformance.contract.mutant import Mutant
from conformance.lint.reference import check_of
from conformance.trial.attempt import attempt
from conformance.trial.mutants import JOBS, deciding_cases
from conformance.trial.mutants_matrix import KillMatrix
from conformance.trial.options import Progress, Silence
from conformance.trial.reach import reach_of
from conformance.vectors.case import Case

FIRST: Final = 4  # cases that kill the whole mutant, asked before all others of an operator


@dataclass(frozen=True, slots=True)
class Solo:
    """What became of one mutant: the operator that alone is enough to kill it, and by which case."""

    id: str
    operator: str = ""
    case: str = ""
    refusal: str = ""  # why it could not be asked


def solos(
    library: Library,
    cases: Iterable[Case],
    matrix: KillMatrix | None,
    only: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[Solo, ...]:
    """Try every mutant but controls, or those named in `only`; the matrix only says where to look first."""
    mutants = [one for id_, one in sorted(library.mutants.items()) if (not only or id_ in only) and not one.control]
    progress = progress or Silence()
    progress.stage("mutants, one operator at a time", len(mutants))
    judge = partial(_solo, cases=deciding_cases(cases), codebook=codebook_of(library), matrix=matrix)
    found = []
    with ThreadPoolExecutor(JOBS) as own:
        for one in own.map(judge, mutants):
            found.append(one)
            progress.step()
    return tuple(found)


def solo_problems(found: Iterable[Solo], mutants: Mapping[str, Mutant]) -> Iterator[str]:
    """One sentence for each mutant that no operator alone kills and that does not say why, or that says so in vain."""
    for one in found:
        reason = mutants[one.id].solo
        if one.refusal:
            yield f"{one.id} could not be asked: {one.refusal}"
        elif one.operator and reason:
            yield f"{one.id} dies with {one.operator} declared alone ({one.case}): take `solo` off it"
        elif not one.operator and not reason:
            yield f"{one.id} survives wherever one operator is declared alone: add a case, or `solo: reason`"


def _solo(mutant: Mutant, cases: Sequence[Case], codebook: Codebook, matrix: KillMatrix | None) -> Solo:
    row = matrix.rows.get(mutant.id) if matrix is not None else None
    killing = row.killed if row is not None else frozenset()
    if row is not None and not killing and row.crash:
        # Only a crash shows it, and a workload belongs to the operator that declares it.
        workload = min(row.crash)
        return Solo(mutant.id, check_of(workload).operator, workload)
    likely = [case for case in cases if case.id in killing]
    # A case that calls nothing else is killed alone as it is together, so it comes before the others.
    likely.sort(key=lambda case: (not case.operators <= codebook.promised({case.operator}), case.id))
    for part in (likely, reach_of(mutant.backend, codebook).of(cases)):
        for operator in dict.fromkeys(case.operator for case in part):
            asked = [case for case in part if case.operator == operator]
            chosen = asked[:FIRST] if part is likely else asked
            tried = attempt(mutant.backend, chosen, codebook, declared=codebook.promised({operator}))
            if tried.refusal:
                return Solo(mutant.id, refusal=tried.refusal)
            if tried.wrong:
                return Solo(mutant.id, operator, min(tried.wrong))
    return Solo(mutant.id)
