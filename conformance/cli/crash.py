"""`tally crash`: does a backend come back from a crash at every point?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.seconds import Seconds
from conformance.trial.options import DEFAULT_TIMEOUT

_BACKEND = "A bundled name, python:module[:object], or a command line; repeat it to try several."


@click.command("crash")
@click.option("--backend", "backends", multiple=True, metavar="TEXT", help=_BACKEND)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="NAME",
    help="A workload of a contract, by its name or any part of OPERATOR%NAME; repeatable. Without it all are tried.",
)
@click.option("--list", "listed", is_flag=True, help="List the workloads and try nothing.")
@click.option(
    "--model",
    type=click.Choice(["kill", "ext4", "posix"]),
    default="posix",
    show_default=True,
    help="The harshest crash to try: kill keeps everything done, ext4 loses content, posix loses names as well.",
)
@click.option("--states", type=click.IntRange(1), metavar="N", help="States to try per workload; 2000 unless told.")
@click.option("--full", is_flag=True, help="Try every state, and state the level that was reached.")
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    type=click.Choice(["order", "kill", "error"]),
    help="Also hold the order of the recorded calls to what is durable, kill the backend at every call, or let every "
    "fsync, write and unlink fail, one in each run.",
)
@click.option("--wire", type=click.Choice(["json", "cbor"]), default="json", show_default=True)
@click.option("--timeout", type=Seconds(0.01), default=DEFAULT_TIMEOUT, show_default=True, metavar="SECONDS")
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write the figures as JSON."
)
@click.option("--show", type=click.IntRange(0), default=1, show_default=True, help="Bad states to print per workload.")
def command(**given: Any) -> int:
    """Record a workload under strace, rebuild what crashes can leave, and let the backend recover and read.

    Exit status: 0 no bad state at or below the level that the workload asks for, 1 there is one, 2 no judgement:
    strace is missing or may not trace, or the backend does something that cannot be traced.
    """
    from conformance.cli.crashing import try_all

    if given["full"] and given["states"] is not None:
        raise click.UsageError("--full tries every state; leave --states away")
    return try_all(**given)
