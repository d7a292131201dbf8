"""`tally mutants`: does the corpus notice each deliberate mistake?"""

from __future__ import annotations

import click


@click.command("mutants")
@click.argument("ids", nargs=-1)
@click.option("--write", is_flag=True, help="Write reports/kill-matrix.json and reports/floor.json afresh.")
def command(ids: tuple[str, ...], write: bool) -> int:
    """Run every mutant, or those named, against the quick vectors, and the trivial backends beside them.

    Without IDS the matrix and the floor are compared with the committed ones. Exit status 1: a mutant survives, a
    control dies, a patch does not apply, a trivial backend passes 5 %, or a committed report is stale.
    """
    from conformance.cli.killing import judge_mutants

    if ids and write:
        raise click.UsageError("--write needs the whole matrix; leave the ids away")
    return judge_mutants(ids, write)
