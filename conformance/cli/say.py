"""How a command prints: through one function, so that no foreign text reaches a terminal as it is."""

from __future__ import annotations

import click

from conformance.report.printable import printable


def say(text: str, err: bool = False, nl: bool = True) -> None:
    """Print lines on stdout, or on stderr, with everything escaped that could steer a terminal."""
    click.echo(printable(text), err=err, nl=nl)
