"""`tally lint`: the contracts held to the rules of the house."""

from __future__ import annotations

import click

FORMATS = ("text", "json", "sarif")


@click.command("lint")
@click.option("--coverage", is_flag=True, help="Print the headings of the seeds that no requirement carries.")
@click.option("--seeded", is_flag=True, help="Seed faults into the contracts and print how many each rule catches.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="text", show_default=True)
def command(coverage: bool, seeded: bool, format_: str) -> int:
    """Hold the contracts, their requirements and their vectors to the rules in spec/README.md.

    Exit status: 0 nothing found, 1 a finding, a heading without a requirement or a missed fault, 2 a contract that
    cannot be read.
    """
    from conformance.cli import linting

    if coverage:
        return linting.show_coverage()
    if seeded:
        return linting.show_seeded()
    return linting.show_findings(format_)
