"""`tally run`: one backend or several on trial, and the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.seconds import Seconds
from conformance.report.writer import WRITERS
from conformance.trial.options import DEFAULT_TIMEOUT, PROFILES

_OUTPUT: Final = "reports/last"  # where --format writes unless --output says otherwise
_BACKEND: Final = (
    "A bundled name (reference, vectorized, javascript, mutant:ID), python:module[:object], or a command line; "
    "repeat it for a column each."
)
_SANDBOX: Final = "bwrap: run the backend under bubblewrap, without network, contracts, vectors and harness."


@click.command("run")
@click.option("--backend", "backends", multiple=True, metavar="TEXT", help=_BACKEND)
@click.option("--wire", type=click.Choice(["json", "cbor"]), default="json", show_default=True)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="standard",
    show_default=True,
    help="quick: vectors; standard: and laws, behaviour, fuzzing; golden: and N = 10^9 and up.",
)
@click.option("-k", "--select", multiple=True, metavar="PATTERN", help="Only checks whose id holds or matches this.")
@click.option("--sandbox", type=click.Choice(["none", "bwrap"]), default="none", show_default=True, help=_SANDBOX)
@click.option(
    "--sandbox-read",
    "readable",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, resolve_path=True),
    metavar="PATH",
    help="A file or folder that the sandboxed backend may read as well; repeatable.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Backend processes at a time.")
@click.option(
    "--timeout",
    type=Seconds(0.01),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    help="Seconds without an answer before a backend counts as hung.",
)
@click.option(
    "--expected-failures",
    "expected",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Checks that are known to fail, with reason and issue; strict.",
)
@click.option("--update-expected", is_flag=True, help="Rewrite FILE to list what fails now.")
@click.option("--reason", default="", help="Why the checks that --update-expected adds fail.")
@click.option("--issue", default="", metavar="URL", help="Where the checks that --update-expected adds are worked on.")
@click.option("--fuzz-examples", type=click.IntRange(1), metavar="N", help="Fuzzed calls per operator.")
@click.option("--seed", default="", metavar="TEXT", help="Fuzz from this seed; without it always the same calls.")
@click.option("--shuffle", default="", metavar="TEXT", help="Try the checks in the order that this seed gives.")
@click.option(
    "--require",
    multiple=True,
    metavar="OPERATOR",
    help="Red where the backend does not declare this operator or machine; repeat it, or say `all`.",
)
@click.option("--crash", is_flag=True, help="Also crash the backend in the workloads of the operators it declares.")
@click.option("--same-process", is_flag=True, help="Run a python: backend in this process, for a debugger.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write record.json and observations.json there.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(sorted(WRITERS)),
    help=f"Also write this page into DIR ({_OUTPUT} where --output is not given).",
)
@click.option("--show", type=click.IntRange(0), default=8, show_default=True, help="Distinct failures to print.")
def command(**given: Any) -> int:
    """Put a backend on trial against the contracts and print the verdict.

    Without --backend the bundled reference is tried. Exit status: 0 conformant, or passed with expected failures,
    1 not conformant or no valid hello, 2 no judgement.
    """
    from conformance.cli.running import run_all

    output = given.pop("output")
    if given["formats"] and output is None:
        output = Path(_OUTPUT)
    return run_all(output=output, **given)
