"""`tally run`: test one backend or several, and print the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.seconds import Seconds
from conformance.report.writer import WRITERS
from conformance.trial.options import DEFAULT_TIMEOUT, PROFILES

_OUTPUT: Final = "reports/last"  # where --format writes unless --output says otherwise
_BACKEND: Final = (
    "A bundled name (reference, vectorized, javascript, mutant:ID), python:module[:object], or a command line. "
    "Repeatable: one column for each."
)
_SANDBOX: Final = (
    "bwrap: run the backend under bubblewrap, without network and without access to contracts, vectors and harness."
)


@click.command("run")
@click.option("--backend", "backends", multiple=True, metavar="TEXT", help=_BACKEND)
@click.option(
    "--wire", type=click.Choice(["json", "cbor"]), default="json", show_default=True, help="The encoding of messages."
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="standard",
    show_default=True,
    help="quick: vectors; standard: also laws, behaviour and fuzzing; golden: also N = 10^9 and up.",
)
@click.option(
    "-k",
    "--select",
    multiple=True,
    metavar="PATTERN",
    help="Run only the checks whose id contains or matches this; repeatable.",
)
@click.option("--sandbox", type=click.Choice(["none", "bwrap"]), default="none", show_default=True, help=_SANDBOX)
@click.option(
    "--sandbox-read",
    "readable",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, resolve_path=True),
    metavar="PATH",
    help="Another file or folder that the sandboxed backend may read; repeatable.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of backend processes at a time."
)
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
    help="A list of checks that are known to fail, with reason and issue. A listed check that passes fails the run.",
)
@click.option("--update-expected", is_flag=True, help="Rewrite FILE so that it lists the checks that fail now.")
@click.option("--reason", default="", help="The reason for the checks that --update-expected adds.")
@click.option("--issue", default="", metavar="URL", help="The issue of the checks that --update-expected adds.")
@click.option("--fuzz-examples", type=click.IntRange(1), metavar="N", help="Number of fuzzed calls per operator.")
@click.option(
    "--seed", default="", metavar="TEXT", help="Fuzz with this seed; without it the calls are always the same."
)
@click.option("--shuffle", default="", metavar="TEXT", help="Run the checks in a random order from this seed.")
@click.option(
    "--require",
    multiple=True,
    metavar="OPERATOR",
    help="Fail if the backend does not declare this operator or machine; repeatable, or `all`.",
)
@click.option("--crash", is_flag=True, help="Also crash the backend in the workloads of its operators.")
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
    help=f"Also write this report into DIR ({_OUTPUT} without --output).",
)
@click.option(
    "--show", type=click.IntRange(0), default=8, show_default=True, help="Number of distinct failures to print."
)
def command(**given: Any) -> int:
    """Test a backend against the contracts and print the verdict.

    Without --backend the bundled reference is tested. Exit status: 0 conformant, or passed with expected failures,
    1 not conformant or no valid hello, 2 no judgement.
    """
    from conformance.cli.running import run_all

    output = given.pop("output")
    if given["formats"] and output is None:
        output = Path(_OUTPUT)
    return run_all(output=output, **given)
