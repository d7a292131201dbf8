"""What `tally mutants` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from conformance.cli.complaint import Complaint, nearest
from conformance.cli.progress import shown_progress
from conformance.cli.specification import frozen_vectors, specification
from conformance.contract.library import Library
from conformance.trial import floor as floors
from conformance.trial import mutants_report as matrices
from conformance.trial.floor import Floor
from conformance.trial.mutants import kill_matrix
from conformance.trial.mutants_matrix import KillMatrix, problems, undeclared_classes

FINE, BAD = 0, 1


def judge_mutants(ids: Sequence[str], write: bool) -> int:
    """Run, print, compare or write."""
    library = specification()
    corpus = frozen_vectors(library, least=1)
    for id_ in ids:
        if id_ not in library.mutants:
            raise Complaint(f"mutant {id_!r}", "T003", "no mutant has this id", nearest(id_, sorted(library.mutants)))
    with shown_progress("mutants") as progress:
        matrix = kill_matrix(library, corpus, ids, progress=progress)
        floor = None if ids else floors.measure_floor(library, corpus, progress)
    click.echo("\n".join(_matrix_lines(matrix, verbose=bool(ids))))
    bad = list(problems(matrix, library.mutants))
    for alike in undeclared_classes(matrix, library.mutants):
        bad.append(f"{', '.join(alike)} answer every case alike: add a case that tells them apart, or `equivalent_to`")
    if floor is not None:
        click.echo("\n".join(_floor_lines(floor)))
        bad += floors.floor_problems(floor)
        bad += _written(library, matrix, floor) if write else _stale(library, matrix, floor)
    for sentence in bad:
        click.echo(f"red: {sentence}")
    return BAD if bad else FINE


def _matrix_lines(matrix: KillMatrix, verbose: bool) -> Iterator[str]:
    width = max(map(len, matrix.rows), default=0)
    for row in matrix.rows.values():
        first = f"  first {row.first}" if verbose and row.first else ""
        yield f"{row.id:<{width}}  {row.status.value:<13} {len(row.killed):>5} of {len(matrix.cases)}{first}"
    counted = Counter(row.status.value for row in matrix.rows.values())
    total = ", ".join(f"{count} {status}" for status, count in sorted(counted.items()))
    yield f"{len(matrix.rows)} mutants: {total}; {len(matrix.killing_set)} of {len(matrix.cases)} cases kill as many"


def _floor_lines(floor: Floor) -> Iterator[str]:
    for name, scores in floor.scores.items():
        yield f"floor: {name} passes {scores[floors.ALL]}"


def _written(library: Library, matrix: KillMatrix, floor: Floor) -> list[str]:
    folder = library.layout.reports
    folder.mkdir(exist_ok=True)
    for file, text in _texts(matrix, floor, folder).items():
        file.write_text(text, encoding="utf-8")
        click.echo(f"wrote {library.layout.shown(file)}")
    return []


def _stale(library: Library, matrix: KillMatrix, floor: Floor) -> list[str]:
    """What the committed reports say otherwise than this run."""
    folder = library.layout.reports
    try:
        committed = matrices.read_matrix(folder / matrices.FILE)
        old = floors.read_floor(folder / floors.FILE)
    except (matrices.UnreadableMatrix, floors.UnreadableFloor) as error:
        return [str(error)]
    found = list(matrices.changes(committed, matrix))
    if old != floor:
        found.append(f"{floors.FILE} differs from the floor measured now")
    return [f"{one}\n    hint: run `tally mutants --write` and review the difference" for one in found]


def _texts(matrix: KillMatrix, floor: Floor, folder: Path) -> dict[Path, str]:
    return {folder / matrices.FILE: matrices.matrix_text(matrix), folder / floors.FILE: floors.floor_text(floor)}
