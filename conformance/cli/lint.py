"""`tally lint`: check the contracts against the lint rules."""

from __future__ import annotations

import click

FORMATS = ("text", "json", "sarif")


@click.command("lint")
@click.option("--coverage", is_flag=True, help="Print how the lines of every source are covered, and which are not.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="With --coverage: compare coverage.yaml with this file, the text of a source; repeatable.",
)
@click.option(
    "--update",
    is_flag=True,
    help="With --source: write line numbers and digests of passages whose words did not change.",
)
@click.option(
    "--seeded", is_flag=True, help="Put faults into copies of the contracts and print how many each rule catches."
)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print findings."
)
def command(coverage: bool, sources: tuple[str, ...], update: bool, seeded: bool, format_: str) -> int:
    """Check the contracts, their requirements and their vectors against the rules in spec/README.md.

    Exit status: 0 nothing found, 1 a finding, a line that is not covered, a source that changed or a missed fault, 2 a
    contract or source that cannot be read.
    """
    from conformance.cli import linting

    if coverage or sources or update:
        return linting.show_coverage(sources, update, format_)
    if seeded:
        return linting.show_seeded()
    return linting.show_findings(format_)
