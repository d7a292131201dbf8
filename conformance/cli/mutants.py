"""`tally mutants`: does the suite notice each deliberate mistake?"""

from __future__ import annotations

import click

_KINDS = ("vectors", "laws", "fuzz", "crash")


@click.command("mutants")
@click.argument("ids", nargs=-1)
@click.option("--write", is_flag=True, help="Write the reports; with IDS, only their rows of kill-matrix.json.")
@click.option(
    "--jobs", type=click.IntRange(1), default=2, show_default=True, metavar="N", help="Number of mutants at a time."
)
@click.option(
    "--by",
    "kinds",
    type=click.Choice(_KINDS),
    multiple=True,
    help="What to run besides the vectors; repeatable. The default is nothing with IDS, and everything without.",
)
@click.option(
    "--changed",
    is_flag=True,
    help="Keep the committed row of a mutant whose source did not change; run only cases that changed or killed it.",
)
@click.option("--solo", is_flag=True, help="Declare one operator at a time; a stand-in answers everything else.")
@click.option("--wire", is_flag=True, help="Score distortions of values instead; IDS are then operators.")
def command(ids: tuple[str, ...], kinds: tuple[str, ...], jobs: int, **flags: bool) -> int:
    """Run every mutant, or those named, against the quick vectors, laws, fuzzing and crash workloads.

    Each kind runs by itself. Without IDS the trivial backends run as well, and the matrix and the floor are compared
    with the committed ones. Exit status 1: a mutant survives, a control dies, a patch does not apply, a mutant does
    not break what it declares, a trivial backend passes 5 %, or a committed report is stale. With --solo: a mutant
    survives whichever operator is declared alone, and its entry does not say why (`solo`).

    With --wire: which leaves of inputs and answers show that a value was rounded, cut or narrowed on the wire;
    exit status 1 if this differs from reports/distortions.json.
    """
    from conformance.cli.killing import judge_mutants, judge_solos
    from conformance.cli.wiring import judge_wire

    if flags["solo"]:
        if flags["write"] or flags["changed"] or kinds:
            raise click.UsageError("--solo runs the vectors and writes nothing; leave out the other options")
        return judge_solos(ids)
    if flags["wire"]:
        return judge_wire(ids, flags["write"])
    chosen = ("vectors", *kinds) if kinds or ids else _KINDS
    return judge_mutants(ids, chosen, jobs, flags["changed"], flags["write"])
