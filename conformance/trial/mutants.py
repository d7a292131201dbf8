"""Every mutant against everything that can notice it: frozen cases, laws, fuzzing, crash workloads (DESIGN 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final

from conformance.backend.workers import workers
from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library
from conformance.contract.mutant import Mutant
from conformance.trial.attempt import Attempt, attempt, behaviour
from conformance.trial.evidence import Evidence
from conformance.trial.mutants_matrix import KillMatrix, MutantRow, Status
from conformance.trial.options import Progress, Silence
from conformance.trial.power import Power
from conformance.trial.reach import Footprints, Reach, footprints, reach_of
from conformance.vectors.case import Case

PROFILE: Final = "quick"  # only these cases decide: a mutant must not need a slow case to be noticed
DIGEST: Final = 8  # hex digits of a case's digest that tell whether it is still the one that was asked
JOBS: Final = 2
_FEW: Final = 20
_UNUSABLE: Final = "it exited with status 3"  # the patch does not apply; a mutant says so before its hello


@dataclass(frozen=True, slots=True)
class Effort:
    """How mutants are tried: on what beside the cases (`power`), and what is known already (`known`).

    A row of `known` whose mutant has the same source is believed. Asked again are only the cases that killed the mutant
    and those that changed; laws, fuzzing and crashes only where they were not tried.
    """

    kinds: Collection[str] = ("vectors",)
    power: Power | None = None
    known: KillMatrix | None = None


def kill_matrix(
    library: Library,
    cases: Iterable[Case],
    only: Sequence[str] = (),
    executor: Executor | None = None,
    progress: Progress | None = None,
    effort: Effort | None = None,
) -> KillMatrix:
    """Run every mutant, or those named in `only`; an executor must share memory, and only vectors may be tried in it.

    The result does not depend on the executor, the number of its workers, or the order of the cases.
    """
    deciding = deciding_cases(cases)
    mutants = [mutant for id_, mutant in sorted(library.mutants.items()) if not only or id_ in only]
    progress = progress or Silence()
    progress.stage("mutants", len(mutants))
    codebook = codebook_of(library)
    if effort is not None and effort.power is not None and "fuzz" in effort.kinds and len(mutants) > 1:
        effort.power.prepare()
    # To trace every case takes as long as a few mutants.
    traced = footprints(deciding, codebook) if len(mutants) > _FEW else None
    trial = _MutantTrial(deciding, digests_of(deciding), codebook, Evidence(codebook), effort or Effort(), traced)
    rows: dict[str, MutantRow] = {}
    with workers(JOBS) as own:
        for row in (executor or own).map(trial.row, mutants):
            rows[row.id] = row
            progress.step()
    return KillMatrix(tuple(case.id for case in deciding), rows, trial.digests, reference_only(library))


def reference_only(library: Library) -> tuple[str, ...]:
    """The ids of the requirements that are marked as held by tests of the suite's reference alone (L413)."""
    rows = (row for family in library.requirements.values() for row in family.requirements)
    return tuple(sorted(row.id for row in rows if row.reference_only))


def deciding_cases(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases that decide whether a mutant is killed, in id order."""
    return tuple(sorted((case for case in cases if case.profile == PROFILE), key=lambda case: case.id))


def digests_of(cases: Iterable[Case]) -> dict[str, str]:
    """The first digits of each case's digest."""
    return {case.id: case.digest[:DIGEST] for case in cases}


@dataclass(frozen=True, slots=True)
class _MutantTrial:
    """Tries one mutant after the other."""

    cases: Sequence[Case]
    digests: Mapping[str, str]
    codebook: Codebook
    evidence: Evidence
    effort: Effort
    footprints: Footprints | None = None

    def row(self, mutant: Mutant) -> MutantRow:
        reach = reach_of(mutant.backend, self.codebook)
        old = self._known(mutant, reach)
        row = self._tried(mutant, reach, old)
        if row.status is not Status.KILLED and row.status is not Status.SURVIVED:
            return row
        row = replace(row, laws=old.laws, fuzz=old.fuzz, crash=old.crash) if old is not None else row
        power, kinds = self.effort.power, self.effort.kinds
        if power is not None and "laws" in kinds and row.laws is None:
            row = replace(row, laws=power.laws(mutant, reach.changed))
        if power is not None and "fuzz" in kinds and row.fuzz is None:
            row = replace(row, fuzz=power.fuzz(mutant, reach.changed))
        if power is not None and ("crash" in kinds or not row.killed) and row.crash is None:
            row = replace(row, crash=power.crash(mutant))
        return replace(row, status=Status.KILLED if row.dies else Status.SURVIVED)

    def _known(self, mutant: Mutant, reach: Reach) -> MutantRow | None:
        row = self.effort.known.rows.get(mutant.id) if self.effort.known is not None else None
        return row if row is not None and reach.sources and row.sources == reach.sources else None

    def _tried(self, mutant: Mutant, reach: Reach, old: MutantRow | None) -> MutantRow:
        asked = self.cases if mutant.control else reach.of(self.cases, self.footprints)
        if old is not None and self.effort.known is not None:
            before = self.effort.known.digests
            fresh = {id_ for id_, digest in self.digests.items() if before.get(id_) != digest}
            asked = [case for case in asked if case.id in old.killed or case.id in fresh]
        tried = attempt(mutant.backend, asked, self.codebook, names_broken=True)
        if tried.refusal:
            status = Status.NOT_APPLIED if _UNUSABLE in tried.refusal else Status.DOES_NOT_RUN
            said = tried.stderr_tail.strip().splitlines()
            return MutantRow(mutant.id, status, reason=said[-1] if said else tried.refusal)
        killed = tried.wrong
        if mutant.control:
            status = Status.CONTROL_DEAD if killed else Status.CONTROL_ALIVE
            return MutantRow(mutant.id, status, killed, sources=reach.sources)
        by_id = {case.id: case for case in asked}
        broken = self.evidence.broken(mutant, ((by_id[id_], tried.results[id_]) for id_ in sorted(killed)))
        status = Status.KILLED if killed else Status.SURVIVED
        return MutantRow(
            mutant.id, status, killed, behaviour_digest(tried), broken=broken, sources=reach.sources
        )


def behaviour_digest(tried: Attempt) -> str:
    """The digest, 16 hex digits, of every wrong answer of an attempt; empty where there is none."""
    if not tried.wrong:
        return ""
    lines = [f"{id_} {behaviour(tried.results[id_])}\n" for id_ in sorted(tried.wrong)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]
