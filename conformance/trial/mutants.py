"""Every mutant against the frozen cases: does the corpus notice each deliberate mistake (DESIGN 7)?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Final

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library
from conformance.contract.mutant import Mutant
from conformance.trial.attempt import Attempt, attempt, behaviour, reachable
from conformance.trial.mutants_matrix import KillMatrix, MutantRow, Status
from conformance.trial.options import Progress, Silence
from conformance.vectors.case import Case

PROFILE: Final = "quick"  # only these cases decide: a mutant must not need a slow case to be noticed
JOBS: Final = 2
_UNUSABLE: Final = "it exited with status 3"  # the patch does not apply; a mutant says so before its hello


def kill_matrix(
    library: Library,
    cases: Iterable[Case],
    only: Sequence[str] = (),
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> KillMatrix:
    """Run every mutant, or those named in `only`, over the quick cases; the executor must share memory.

    The result does not depend on the executor, the number of its workers, or the order of the cases.
    """
    deciding = deciding_cases(cases)
    mutants = [mutant for id_, mutant in sorted(library.mutants.items()) if not only or id_ in only]
    progress = progress or Silence()
    progress.stage("mutants", len(mutants))
    judge = partial(_row, cases=deciding, codebook=codebook_of(library))
    with ThreadPoolExecutor(JOBS) as own:
        rows: dict[str, MutantRow] = {}
        for row in (executor or own).map(judge, mutants):
            rows[row.id] = row
            progress.step()
    return KillMatrix(tuple(case.id for case in deciding), rows)


def deciding_cases(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases that decide whether a mutant is killed, in id order."""
    return tuple(sorted((case for case in cases if case.profile == PROFILE), key=lambda case: case.id))


def _row(mutant: Mutant, cases: Sequence[Case], codebook: Codebook) -> MutantRow:
    asked = cases if mutant.control else reachable(mutant.backend, cases, codebook)
    tried = attempt(mutant.backend, asked, codebook)
    if tried.refusal:
        status = Status.NOT_APPLIED if _UNUSABLE in tried.refusal else Status.DOES_NOT_RUN
        said = tried.stderr_tail.strip().splitlines()
        return MutantRow(mutant.id, status, reason=said[-1] if said else tried.refusal)
    killed = tried.wrong
    if mutant.control:
        return MutantRow(mutant.id, Status.CONTROL_DEAD if killed else Status.CONTROL_ALIVE, killed)
    return MutantRow(mutant.id, Status.KILLED if killed else Status.SURVIVED, killed, behaviour_digest(tried))


def behaviour_digest(tried: Attempt) -> str:
    """The digest, 16 hex digits, of every wrong answer of an attempt; empty where there is none."""
    if not tried.wrong:
        return ""
    lines = [f"{id_} {behaviour(tried.results[id_])}\n" for id_ in sorted(tried.wrong)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]
