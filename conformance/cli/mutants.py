"""`tally mutants`: does the suite notice each deliberate mistake?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from conformance.cli.console import MUTANT_IDS, CommandError, require_known, say
from conformance.cli.progress import shown_progress
from conformance.cli.suite import frozen_vectors, specification
from conformance.codec.codebook import codebook_of
from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.trial.committed_reports import DISTORTIONS_FILE, FLOOR_FILE, MATRIX_FILE, UnreadableReport
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.crash.strace import NotRun
from conformance.trial.forked import Forked, in_child_process
from conformance.trial.mutants.checks import MutantChecks
from conformance.trial.mutants.distortions import (
    read_others,
    read_unnoticed,
    score_changes,
    score_lines,
    score_text,
    wire_score,
)
from conformance.trial.mutants.floor import ALL, Floor, floor_problems, floor_text, measure_floor, read_floor
from conformance.trial.mutants.kill_matrix import (
    KillMatrix,
    MutantRow,
    matrix_changes,
    matrix_problems,
    matrix_summary,
    matrix_text,
    merged_matrix,
    read_matrix,
    undeclared_classes,
)
from conformance.trial.mutants.run import MutantOptions, measure_matrix, solo_problems, solos
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.jsontext import write_whole

FINE, BAD = 0, 1


def judge_mutants(ids: Sequence[str], kinds: Sequence[str], jobs: int, changed: bool, write: bool) -> int:
    """Run, print, compare or write."""
    library, corpus = _specified(ids)
    folder = library.suite.reports
    committed = read_matrix(folder / MATRIX_FILE) if changed or (ids and write) else None

    def merged(fresh: KillMatrix) -> KillMatrix:
        kept = {} if committed is None else {id_: row for id_, row in committed.rows.items() if id_ in library.mutants}
        return merged_matrix(KillMatrix((), kept) if committed is None else replace(committed, rows=kept), fresh)

    def save(fresh: KillMatrix) -> None:
        """Write the rows so far, so that `--changed` asks only the rest after an interruption."""
        write_whole(folder / MATRIX_FILE, matrix_text(merged(fresh)))

    saving = save if write and committed is not None else None
    effort = MutantOptions(kinds, MutantChecks(library, corpus, codebook_of(library)), committed if changed else None)
    try:
        with shown_progress("mutants") as progress:
            # The mutants run with the suite's own laws and generators, which this process does not import.
            matrix = in_child_process(
                lambda told: measure_matrix(library, corpus, ids, Forked(jobs), told, effort, saving), progress
            )
            floor = None if ids else measure_floor(library, corpus, progress)
    except (NotRun, Untraceable) as error:
        raise CommandError(
            "--by crash", "T010", f"not run: {error}", "leave out crash, and name the other kinds"
        ) from None
    say("\n".join(_matrix_lines(matrix, kinds, verbose=bool(ids))))
    bad = list(matrix_problems(matrix, library.mutants))
    for alike in undeclared_classes(matrix, library.mutants):
        bad.append(f"{', '.join(alike)} answer every case alike: add a case in which they differ, or `equivalent_to`")
    if floor is not None:
        for name, scores in floor.scores.items():
            say(f"floor: {name} passes {scores[ALL]}")
        bad += floor_problems(floor)
    if write:
        _write(library, merged(matrix), floor)
    elif floor is not None:
        bad += _stale(folder, matrix, floor)
    return _told(bad)


def _told(bad: Sequence[str]) -> int:
    """Print what is red; return the exit status."""
    for sentence in bad:
        say(f"red: {sentence}")
    return BAD if bad else FINE


def judge_solos(ids: Sequence[str]) -> int:
    """Run with one operator declared at a time, and print."""
    library, corpus = _specified(ids)
    try:
        matrix: KillMatrix | None = read_matrix(library.suite.reports / MATRIX_FILE)
    except UnreadableReport:
        matrix = None
    with shown_progress("mutants") as progress:
        found = solos(library, corpus, matrix, ids, progress=progress)
    alone = [one for one in found if one.operator]
    listed = [one for one in found if not one.operator and library.mutants[one.id].solo]
    for one in alone if ids else ():
        say(f"{one.id}  dies with {one.operator} alone  {one.case}")
    for one in listed:
        say(f"{one.id}  needs more than one operator: {library.mutants[one.id].solo}")
    told = f"{len(alone)} killed with one operator declared alone, {len(listed)} with a reason why not"
    say(f"{counted(len(found), 'mutant')}: {told}")
    return _told(list(solo_problems(found, library.mutants)))


def _specified(ids: Sequence[str]) -> tuple[Library, Corpus]:
    library = specification()
    corpus = frozen_vectors(library, least=1)
    for id_ in ids:
        require_known(f"mutant {id_!r}", id_, library.mutants, "no mutant has this id", MUTANT_IDS)
    return library, corpus


def _matrix_lines(matrix: KillMatrix, asked: Sequence[str], verbose: bool) -> Iterator[str]:
    width = max(map(len, matrix.rows), default=0)
    for row in matrix.rows.values():
        first = f"  first {row.first}" if verbose and row.first else ""
        yield f"{row.id:<{width}}  {row.status.value:<13} {len(row.killed):>5} of {len(matrix.cases)}{first}"
        yield from (f"    {line}" for line in _evidence_lines(row, asked) if verbose)
    states = Counter(row.status.value for row in matrix.rows.values())
    total = ", ".join(f"{count} {status}" for status, count in sorted(states.items()))
    enough = f"{len(matrix.killing_set)} of {counted(len(matrix.cases), 'case')} kill as many"
    yield f"{counted(len(matrix.rows), 'mutant')}: {total}; {enough}"
    found = matrix_summary(matrix)
    kinds = (name.removeprefix("killed_by_") for name in found if name.startswith("killed_by_"))
    by = ", ".join(f"{kind} {found[f'killed_by_{kind}']}" for kind in kinds)
    yield f"killed by {by}; {len(found['mutants_on_a_single_case'])} on a single case"


def _evidence_lines(row: MutantRow, asked: Sequence[str]) -> Iterator[str]:
    """The lines about what a mutant breaks and what else kills it, also if crashes were `asked` for but not made."""
    for text, count in row.broken.items():
        yield f"breaks {text} in {counted(count, 'case')}"
    for kind in ("laws", "fuzz", "crash"):
        found = getattr(row, kind)
        if found is not None:
            yield f"{kind}: {', '.join(sorted(found)) or 'nothing'}"
        elif kind == "crash" and kind in asked:
            yield "crash: not tried, because `breaks` in mutants.yaml names no workload (workload:OPERATOR#NAME)"


def _write(library: Library, matrix: KillMatrix, floor: Floor | None) -> None:
    folder = library.suite.reports
    folder.mkdir(exist_ok=True)
    texts = {folder / MATRIX_FILE: matrix_text(matrix)}
    if floor is not None:
        texts[folder / FLOOR_FILE] = floor_text(floor)
    for file, text in texts.items():
        write_whole(file, text)
        say(f"wrote {library.suite.path_text(file)}")


def _stale(folder: Path, matrix: KillMatrix, floor: Floor) -> list[str]:
    """The differences of the committed reports from this run."""
    try:
        committed = read_matrix(folder / MATRIX_FILE)
        old = read_floor(folder / FLOOR_FILE)
    except UnreadableReport as error:
        return [str(error)]
    found = list(matrix_changes(committed, matrix))
    if old != floor:
        found.append(f"{FLOOR_FILE} differs from the floor measured now")
    return [f"{one}\n    hint: run `tally mutants --write` and review the difference" for one in found]


def judge_wire(operators: Sequence[str], write: bool) -> int:
    """Score the operators (all if none is named), and compare with the committed score or write it."""
    library = specification()
    for name in operators:
        require_known(f"operator {name!r}", name, library.contracts, "no contract has this name")
    with shown_progress("mutants") as progress:
        score = wire_score(library, frozen_vectors(library, least=1), operators, progress=progress)
    say("\n".join(score_lines(score)))
    file = library.suite.reports / DISTORTIONS_FILE
    if operators:
        for one, reason in sorted(score.unnoticed.items()):
            say(f"{one.operator}, {one.side}, {one.leaf}: {one.name}: {reason}")
    try:
        if write:
            file.parent.mkdir(exist_ok=True)
            write_whole(file, score_text(score, read_others(file, operators)))
            say(f"wrote {library.suite.path_text(file)}")
            return FINE
        committed = read_unnoticed(file)
    except UnreadableReport as error:
        return _told([str(error)])
    hint = "run `tally mutants --wire --write` and review the difference"
    stale = score_changes(committed, score, frozenset(operators))
    return _told([f"{sentence}\n    hint: {hint}" for sentence in stale])


KINDS = ("vectors", "laws", "fuzz", "crash")


@click.command("mutants")
@click.argument("ids", nargs=-1)
@click.option("--write", is_flag=True, help="Write the reports; with IDS, only the parts of these.")
@click.option(
    "--jobs", type=click.IntRange(1), default=2, show_default=True, metavar="N", help="Number of mutants at a time."
)
@click.option(
    "--by",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="What to run besides the vectors; repeatable. The default is everything; for IDS without --write, nothing.",
)
@click.option(
    "--changed",
    is_flag=True,
    help="Keep the committed row of a mutant whose source did not change; run only cases that changed or killed it. "
    "With --write an interrupted run keeps the rows that it has.",
)
@click.option("--solo", is_flag=True, help="Declare one operator at a time; a stand-in answers everything else.")
@click.option("--wire", is_flag=True, help="Score distortions of values instead; IDS are then operators.")
def command(ids: tuple[str, ...], kinds: tuple[str, ...], jobs: int, **flags: bool) -> int:
    """Run every mutant, or those named, against the quick vectors, laws, fuzzing and crash workloads.

    Each kind runs alone. A row that is written has the results of every kind, unless --by names fewer. Without IDS the
    trivial backends run as well, and the matrix and the floor are compared with the committed ones. Exit status 1: a
    mutant survives, a control dies, a patch does not apply, a mutant does not break what it declares, a trivial backend
    passes 5 % (25 % of fewer than 100 cases), or a committed report is stale. With --solo: a mutant survives whichever
    operator is declared alone, and its entry does not say why (`solo`).

    With --wire: which leaves of inputs and answers show that a value was rounded, cut or narrowed on the wire;
    exit status 1 if this differs from reports/distortions.json.

    \b
    Examples:
      tally mutants --changed
      tally mutants no-upper-bound --by laws
    """

    if flags["solo"]:
        if flags["write"] or flags["changed"] or kinds:
            raise click.UsageError("--solo runs the vectors and writes nothing; leave out the other options")
        return judge_solos(ids)
    if flags["wire"]:
        return judge_wire(ids, flags["write"])
    shown = bool(ids) and not flags["write"]
    chosen = ("vectors", *kinds) if kinds or shown else KINDS
    return judge_mutants(ids, chosen, jobs, flags["changed"], flags["write"])
