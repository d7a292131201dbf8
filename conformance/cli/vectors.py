"""`tally vectors`: the frozen cases built, checked and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_FULL = "golden"


@click.group("vectors")
def command() -> None:
    """Build, check or compare the frozen vectors with what the contracts and backends make today.

    Exit status: 0 unchanged or written, 1 drift or a value that nothing confirms, 2 a contract or backend that cannot
    be used.
    """


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all three."""
    jobs = click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes at a time.")
    text = "golden: derive N = 10^9 and up anew; otherwise golden cases are kept as frozen."
    profile = click.option(
        "--profile", type=click.Choice(["standard", _FULL]), default="standard", show_default=True, help=text
    )
    return jobs(profile(function))


@command.command("build")
@_shared
@click.option("--only", multiple=True, metavar="OPERATOR", help="Derive this operator; of others only new questions.")
@click.option("--changed", is_flag=True, help="Derive only the cases whose question is new or changed.")
def build(jobs: int, profile: str, only: tuple[str, ...], changed: bool) -> int:
    """Derive every case and write what changed; nothing is written where anything is wrong.

    `--only` and `--changed` believe the frozen answers of all other cases; `tally vectors check` derives them all.
    """
    from conformance.cli.freezing import build_vectors

    return build_vectors(jobs, profile == _FULL, only, changed)


@command.command("check")
@_shared
def check(jobs: int, profile: str) -> int:
    """Derive every case and compare every byte with the files, and hold the corpus to contracts.lock."""
    from conformance.cli.freezing import check_vectors

    return check_vectors(jobs, profile == _FULL)


@command.command("diff")
@click.option("--cases", is_flag=True, help="Name every case.")
@_shared
def diff(jobs: int, profile: str, cases: bool) -> int:
    """Say what a build would change, by operator and requirement; 1 where it would change anything."""
    from conformance.cli.freezing import diff_vectors

    return diff_vectors(jobs, profile == _FULL, cases)
