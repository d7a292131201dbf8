"""`tally vectors`: the frozen cases built, checked and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_FULL = "golden"


@click.group("vectors")
def command() -> None:
    """Build the frozen vectors, check that they are reproducible, or show what changed.

    Exit status: 0 unchanged or written, 1 drift or a value without a second derivation, 2 a contract or backend that
    cannot be used.
    """


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all three."""
    jobs = click.option(
        "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of processes at a time."
    )
    text = "golden: also derive N = 10^9 and up again; standard keeps the frozen golden cases."
    profile = click.option(
        "--profile", type=click.Choice(["standard", _FULL]), default="standard", show_default=True, help=text
    )
    return jobs(profile(function))


@command.command("build")
@_shared
@click.option(
    "--only",
    multiple=True,
    metavar="OPERATOR",
    help="Derive this operator again, and of the others only new questions; repeatable.",
)
@click.option("--changed", is_flag=True, help="Derive only the cases whose question is new or changed.")
def build(jobs: int, profile: str, only: tuple[str, ...], changed: bool) -> int:
    """Derive every case and write what changed. If there is any problem, nothing is written.

    `--only` and `--changed` keep the frozen answers of all other cases; `tally vectors check` derives them all.
    """
    from conformance.cli.freezing import build_vectors

    return build_vectors(jobs, profile == _FULL, only, changed)


@command.command("check")
@_shared
def check(jobs: int, profile: str) -> int:
    """Derive every case, compare every byte with the files, and compare the corpus with contracts.lock."""
    from conformance.cli.freezing import check_vectors

    return check_vectors(jobs, profile == _FULL)


@command.command("diff")
@click.option("--cases", is_flag=True, help="List every case.")
@_shared
def diff(jobs: int, profile: str, cases: bool) -> int:
    """Show what a build would change, by operator and requirement; exit status 1 if it would change anything."""
    from conformance.cli.freezing import diff_vectors

    return diff_vectors(jobs, profile == _FULL, cases)
