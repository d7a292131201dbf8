"""`tally crash`: does a backend recover from a crash at every point?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.seconds import Seconds
from conformance.trial.options import DEFAULT_TIMEOUT

_BACKEND = "A bundled name, python:module[:object], or a command line; repeatable."


@click.command("crash")
@click.option("--backend", "backends", multiple=True, metavar="TEXT", help=_BACKEND)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="NAME",
    help="A workload of a contract, by its name or any part of OPERATOR%NAME; repeatable. The default is all.",
)
@click.option("--list", "listed", is_flag=True, help="List the workloads and run nothing.")
@click.option(
    "--model",
    type=click.Choice(["kill", "ext4", "posix"]),
    default="posix",
    show_default=True,
    help="The harshest crash to try: kill keeps everything done, ext4 loses content, posix loses names as well.",
)
@click.option(
    "--states", type=click.IntRange(1), metavar="N", help="Number of states to try per workload; the default is 2000."
)
@click.option("--full", is_flag=True, help="Try every state, and print the level that was reached.")
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    type=click.Choice(["order", "kill", "error"]),
    help="order: check that files are durable before they are renamed or answered. kill: kill the backend at "
    "every call. error: make every fsync, write and unlink fail, one in each run. Repeatable.",
)
@click.option(
    "--wire", type=click.Choice(["json", "cbor"]), default="json", show_default=True, help="The encoding of messages."
)
@click.option(
    "--timeout",
    type=Seconds(0.01),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Seconds without an answer before a backend counts as hung.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write the results as JSON."
)
@click.option(
    "--show", type=click.IntRange(0), default=1, show_default=True, help="Number of bad states to print per workload."
)
def command(**given: Any) -> int:
    """Record a workload under strace, rebuild the files that crashes can leave, and let the backend recover and read.

    Exit status: 0 no bad state at or below the level that the workload asks for, 1 there is one, 2 no judgement:
    strace is missing or may not trace, or the backend makes calls that cannot be traced.
    """
    from conformance.cli.crashing import try_all

    if given["full"] and given["states"] is not None:
        raise click.UsageError("--full tries every state; leave out --states")
    return try_all(**given)
