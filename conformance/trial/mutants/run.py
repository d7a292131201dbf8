"""Runs every mutant against all checks that can kill it, and also with one operator declared at a time."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from conformance.backend.driver import Driver
from conformance.backend.hello import BadHello
from conformance.backend.mutant_copy import copy_digest, drop_copy
from conformance.backend.resolve import resolve
from conformance.backend.scheduler import workers
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.family import Mutant
from conformance.contract.library import Library
from conformance.contract.suite import MUTANT
from conformance.lint.checks import check_of
from conformance.trial.cases import CaseRunner
from conformance.trial.client import Attempt, attempt, behaviour, conversation_of, driver_of
from conformance.trial.mutants.checks import BrokenParts, MutantChecks
from conformance.trial.mutants.kill_matrix import KillMatrix, MutantRow, Status
from conformance.trial.options import DEFAULT_TIMEOUT, NO_PROGRESS, Progress
from conformance.vectors.case import Case

SOURCES: Final = 16  # hex digits that are kept of the digest of a mutant's source
TRACED: Final = "traced"  # the short name of the reference that writes down what it runs
_ALWAYS: Final = "*"  # the mark of a function that runs once for every case to come


@dataclass(frozen=True, slots=True)
class CoveredFunctions:
    """The functions of the suite's reference that each case runs, and those that run once for all cases."""

    by_case: Mapping[str, frozenset[str]]
    always: frozenset[str]

    def runs(self, case: str, functions: frozenset[str]) -> bool:
        """Whether a case may run one of these functions; one without a footprint may run any."""
        found = self.by_case.get(case)
        return found is None or not functions.isdisjoint(found) or not functions.isdisjoint(self.always)


@dataclass(frozen=True, slots=True)
class MutantScope:
    """What a mutant says of itself: the operators that its mistake can reach, and a digest of its own source."""

    changed: frozenset[str] | None = None  # None: it does not say, or gives no hello
    sources: str = ""
    functions: frozenset[str] | None = None  # the only functions that it changes; None: it does not say

    def of(self, cases: Sequence[Case], footprints: CoveredFunctions | None = None) -> Sequence[Case]:
        """The cases that the mistake can reach; the others are answered by the unchanged reference."""
        near = cases if self.changed is None else [case for case in cases if case.operators & self.changed]
        if footprints is None or self.functions is None:
            return near
        return [case for case in near if footprints.runs(case.id, self.functions)]


def reach_of(backend: str, codebook: Codebook) -> MutantScope:
    """The reach of a mutant by its own hello; without a valid one, asking cases tells why."""
    try:
        process, hello = driver_of(backend, codebook).start()
    except BadHello:
        return MutantScope()
    process.kill()
    sources = hello.sources
    if not sources and codebook.suite.mutants.copies:
        sources = copy_digest(codebook.suite, backend.removeprefix(MUTANT))
    return MutantScope(hello.changed, sources[:SOURCES], hello.functions)


def footprints(cases: Sequence[Case], codebook: Codebook) -> CoveredFunctions | None:
    """Ask the traced reference every case in turn, and read which functions each runs; None without a trace."""
    suite = codebook.suite
    if not suite.mutants.traced:
        return None
    runner = CaseRunner(codebook, DIALECTS["json"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "functions")
        traced = resolve(TRACED, replace(suite, backends={TRACED: suite.mutants.traced.replace("{file}", str(file))}))
        driver = Driver(traced, DIALECTS["json"], codebook, DEFAULT_TIMEOUT)
        held = [conversation_of(runner, case) for case in cases]
        together = [one for one in held if not (one.alone or one.in_step)]
        found: dict[str, frozenset[str]] = {}
        # Those that restart the process would run by turns, so each goes to the driver alone.
        for part in (together, *([one] for one in held if one.alone or one.in_step)):
            for finished in driver.run(part):
                ran = file.read_text("utf-8") if file.exists() else ""
                os.truncate(file, 0)
                if finished.lost is None:
                    found[finished.key] = frozenset(ran.split())
    always = frozenset(name.removeprefix(_ALWAYS) for ran in found.values() for name in ran if name.startswith(_ALWAYS))
    return CoveredFunctions(found, always)


PROFILE: Final = "quick"  # only these cases decide: a mutant must not need a slow case to be noticed
DIGEST: Final = 8  # hex digits of a case's digest that tell whether it is still the one that was asked
JOBS: Final = 2
SAVED: Final = 25  # mutants: of this suite, about a minute's work
_FEW: Final = 20
_UNUSABLE: Final = "it exited with status 3"  # the patch does not apply; a mutant says so before its hello


@dataclass(frozen=True, slots=True)
class MutantOptions:
    """How mutants are tried: on what beside the cases (`power`), and what is known already (`known`).

    A row of `known` whose mutant has the same source is believed. If cases in its reach changed, only these
    and those that killed it are asked; laws, fuzzing and crashes only where they were not tried, and fuzzing where it
    alone kills the mutant.
    """

    kinds: Collection[str] = ("vectors",)
    power: MutantChecks | None = None
    known: KillMatrix | None = None


def measure_matrix(
    library: Library,
    cases: Iterable[Case],
    only: Sequence[str] = (),
    executor: Executor | None = None,
    progress: Progress = NO_PROGRESS,
    effort: MutantOptions | None = None,
    save: Callable[[KillMatrix], None] | None = None,
) -> KillMatrix:
    """Run every mutant, or those named in `only`; an executor must share memory, and only vectors may be tried in it.

    The result does not depend on the executor, the number of its workers, or the order of the cases. `save` gets the
    rows so far, after every SAVED of them.
    """
    deciding = deciding_cases(cases)
    mutants = [mutant for id_, mutant in sorted(library.mutants.items()) if not only or id_ in only]
    progress.stage("mutants", len(mutants))
    codebook = codebook_of(library)
    if effort is not None and effort.power is not None and "fuzz" in effort.kinds and len(mutants) > 1:
        effort.power.prepare()
    # Tracing every case takes as long as a few mutants, so it does not pay for few.
    traced = footprints(deciding, codebook) if len(mutants) > _FEW else None
    digests = {case.id: case.digest[:DIGEST] for case in deciding}
    trial = _MutantTrial(deciding, digests, codebook, BrokenParts(codebook), effort or MutantOptions(), traced)
    ids, unchecked = tuple(case.id for case in deciding), reference_only(library)
    rows: dict[str, MutantRow] = {}
    with workers(JOBS) as own:
        for row in (executor or own).map(trial.row, mutants):
            rows[row.id] = row
            if save is not None and len(rows) % SAVED == 0:
                save(KillMatrix(ids, rows, trial.digests, unchecked))
            progress.step()
    return KillMatrix(ids, rows, trial.digests, unchecked)


def reference_only(library: Library) -> tuple[str, ...]:
    """The ids of the requirements that are marked as checked by tests of the suite's reference alone (L413)."""
    rows = (row for family in library.requirements.values() for row in family.requirements)
    return tuple(sorted(row.id for row in rows if row.reference_only))


def deciding_cases(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases that decide whether a mutant is killed, in id order."""
    return tuple(sorted((case for case in cases if case.profile == PROFILE), key=lambda case: case.id))


@dataclass(frozen=True, slots=True)
class _MutantTrial:
    """Tries one mutant after the other."""

    cases: Sequence[Case]
    digests: Mapping[str, str]
    codebook: Codebook
    parts: BrokenParts
    effort: MutantOptions
    footprints: CoveredFunctions | None = None

    def row(self, mutant: Mutant) -> MutantRow:
        """The row of one mutant; a copy that was made for it is removed."""
        try:
            return self._row(mutant)
        finally:
            drop_copy(self.codebook.suite, mutant.id)

    def _row(self, mutant: Mutant) -> MutantRow:
        reach = reach_of(mutant.backend, self.codebook)
        old = self._known_row(mutant, reach)
        row = self._measured_row(mutant, reach, old)
        if row.status is not Status.KILLED and row.status is not Status.SURVIVED:
            return row
        power, kinds = self.effort.power, self.effort.kinds
        if old is not None:
            row = replace(row, laws=old.laws, fuzz=old.fuzz, crash=old.crash)
            if "fuzz" in kinds and not replace(row, fuzz=None).dies:
                row = replace(row, fuzz=None)  # it dies by fuzzing alone, whose calls may be others now
        if power is not None and "laws" in kinds and row.laws is None:
            row = replace(row, laws=power.laws(mutant, reach.changed))
        if power is not None and "fuzz" in kinds and row.fuzz is None:
            row = replace(row, fuzz=power.fuzz(mutant, reach.changed))
        if power is not None and ("crash" in kinds or not row.killed) and row.crash is None:
            row = replace(row, crash=power.crash(mutant))
        return replace(row, status=Status.KILLED if row.dies else Status.SURVIVED)

    def _known_row(self, mutant: Mutant, reach: MutantScope) -> MutantRow | None:
        row = self.effort.known.rows.get(mutant.id) if self.effort.known is not None else None
        return row if row is not None and reach.sources and row.sources == reach.sources else None

    def _measured_row(self, mutant: Mutant, reach: MutantScope, old: MutantRow | None) -> MutantRow:
        by_id = {case.id: case for case in self.cases}
        asked = self.cases if mutant.control else reach.of(self.cases, self.footprints)
        if old is not None and self.effort.known is not None:
            before = self.effort.known.digests
            fresh = {id_ for id_, digest in self.digests.items() if before.get(id_) != digest}
            killing = [by_id[id_] for id_ in old.killed & by_id.keys()]
            same = len(killing) == len(old.killed) and old.clauses == self.parts.digest(mutant, killing)
            if same and fresh.isdisjoint(case.id for case in asked):
                return old
            asked = [case for case in asked if case.id in old.killed or case.id in fresh]
        timeout = self.codebook.suite.mutants.seconds
        tried = attempt(mutant.backend, asked, self.codebook, timeout, names_broken=True)
        if tried.refusal:
            status = Status.NOT_APPLIED if _UNUSABLE in tried.refusal else Status.DOES_NOT_RUN
            said = tried.stderr_tail.strip().splitlines()
            return MutantRow(mutant.id, status, reason=said[-1] if said else tried.refusal)
        killed = tried.wrong
        row = MutantRow(mutant.id, Status.KILLED if killed else Status.SURVIVED, killed, sources=reach.sources)
        row = replace(row, clauses=self.parts.digest(mutant, (by_id[id_] for id_ in killed)))
        if mutant.control:
            return replace(row, status=Status.CONTROL_DEAD if killed else Status.CONTROL_ALIVE)
        broken = self.parts.broken(mutant, ((by_id[id_], tried.results[id_]) for id_ in sorted(killed)))
        return replace(row, behaviour=behaviour_digest(tried), broken=broken)


def behaviour_digest(tried: Attempt) -> str:
    """The digest, 16 hex digits, of all wrong answers of an attempt; empty if there is none."""
    if not tried.wrong:
        return ""
    lines = [f"{id_} {behaviour(tried.results[id_])}\n" for id_ in sorted(tried.wrong)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


FIRST: Final = 4  # cases that kill the whole mutant, asked before all others of an operator


@dataclass(frozen=True, slots=True)
class SoloResult:
    """The solo result of a mutant: the operator that alone is enough to kill it, and the case that kills it."""

    id: str
    operator: str = ""
    case: str = ""
    refusal: str = ""  # why it could not be asked


def solos(
    library: Library,
    cases: Iterable[Case],
    matrix: KillMatrix | None,
    only: Sequence[str] = (),
    progress: Progress = NO_PROGRESS,
) -> tuple[SoloResult, ...]:
    """Try every mutant but controls, or those named in `only`; the matrix only says where to look first."""
    mutants = [one for id_, one in sorted(library.mutants.items()) if (not only or id_ in only) and not one.control]
    progress.stage("mutants, one operator at a time", len(mutants))
    judge = partial(_solo, cases=deciding_cases(cases), codebook=codebook_of(library), matrix=matrix)
    found = []
    with ThreadPoolExecutor(JOBS) as own:
        for one in own.map(judge, mutants):
            found.append(one)
            progress.step()
    return tuple(found)


def solo_problems(found: Iterable[SoloResult], mutants: Mapping[str, Mutant]) -> Iterator[str]:
    """One sentence for each mutant that no operator alone kills and that does not say why, or that says so in vain."""
    for one in found:
        reason = mutants[one.id].solo
        if one.refusal:
            yield f"{one.id} could not be asked: {one.refusal}"
        elif one.operator and reason:
            yield f"{one.id} dies with {one.operator} declared alone ({one.case}): take `solo` off it"
        elif not one.operator and not reason:
            yield f"{one.id} survives wherever one operator is declared alone: add a case, or `solo: reason`"


def _solo(mutant: Mutant, cases: Sequence[Case], codebook: Codebook, matrix: KillMatrix | None) -> SoloResult:
    row = matrix.rows.get(mutant.id) if matrix is not None else None
    killing = row.killed if row is not None else frozenset()
    if row is not None and not killing and row.crash:
        # Only a crash shows it, and a workload belongs to the operator that declares it.
        workload = min(row.crash)
        return SoloResult(mutant.id, check_of(workload).operator, workload)
    if row is not None and not killing and row.fuzz:
        # Only fuzzing shows it, which calls one operator and no other.
        operator = min(row.fuzz)
        return SoloResult(mutant.id, operator, f"{operator}?fuzz")
    likely = [case for case in cases if case.id in killing]
    # A case that calls nothing else is killed alone as it is together, so it comes before the others.
    likely.sort(key=lambda case: (not case.operators <= codebook.promised({case.operator}), case.id))
    for part in (likely, reach_of(mutant.backend, codebook).of(cases)):
        for operator in dict.fromkeys(case.operator for case in part):
            asked = [case for case in part if case.operator == operator]
            chosen = asked[:FIRST] if part is likely else asked
            tried = attempt(mutant.backend, chosen, codebook, declared=codebook.promised({operator}))
            if tried.refusal:
                return SoloResult(mutant.id, refusal=tried.refusal)
            if tried.wrong:
                return SoloResult(mutant.id, operator, min(tried.wrong))
    return SoloResult(mutant.id)
