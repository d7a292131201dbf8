"""`tally explain`: the rule behind a check, and the derivation of a value."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import click

from conformance.cli.seconds import Seconds
from conformance.trial.options import DEFAULT_TIMEOUT


@click.command("explain")
@click.argument("target", metavar="CHECK_OR_OPERATOR")
@click.option(
    "--backend",
    default=None,
    metavar="TEXT",
    help="Compare this backend with the reference, and explain the first difference.",
)
@click.option(
    "--path", default="", help="The output to derive, e.g. batch_sample_indices; the default is the first list."
)
@click.option("--index", type=click.IntRange(0), default=None, help="The element of that list.")
@click.option("--step", default="", help="The step of a trace, by its name; the default is the last.")
@click.option(
    "--inputs", type=click.File("rb"), default=None, help="A JSON file with the inputs of one call of OPERATOR."
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="A record.json: explain the call that failed CHECK in that run.",
)
@click.option(
    "--timeout",
    type=Seconds(0.01),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    help="Seconds without an answer before a backend counts as hung.",
)
def command(
    target: str,
    backend: str | None,
    path: str,
    index: int | None,
    step: str,
    inputs: IO[bytes] | None,
    record: Path | None,
    timeout: float,
) -> int:
    """Show the contract clause and the requirement behind a check, and how the reference derives a value.

    CHECK_OR_OPERATOR is a check id as `tally run` prints it, or an operator. With --backend the exit status is 1 if the
    backend's answer differs from the reference's.
    """
    from conformance.cli.explaining import Wish, explain

    given = None if inputs is None else inputs.read()
    return explain(target, Wish(backend, path, index, step, given, record, timeout))
