"""`tally batch`: what a database file holds, as a declaration to edit."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from impl.failure import ContractFailure


class Refused(click.ClickException):
    """A file that could not be read: nothing is judged."""

    exit_code = 2


@click.group("batch")
def command() -> None:
    """Prepare database files for training batches.

    \b
    Examples:
      tally batch describe shop.db
      tally batch describe shop.db --output shop.yaml
    """


@command.command("describe", short_help="Print what a database file has, as YAML to edit.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), default=None, help="Write to this new file, not to stdout.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=600.0, show_default=True,
              help="How long reading may take.")  # fmt: skip
@click.option("--value-bytes", type=click.IntRange(1, 2**31 - 1), default=2**24, show_default=True,
              help="How long a value may be.")  # fmt: skip
def describe(file: Path, output: Path | None, seconds: float, value_bytes: int) -> None:
    """Print all tables, columns, keys, guesses and open questions of a SQLite or DuckDB file.

    The output is a declaration in YAML: edit it, and give it to tallystick.open_database with the file. Views and
    virtual tables are named, and left out. Where reading takes long, lines on stderr say how far it is.

    \b
    Examples:
      tally batch describe shop.db
      tally batch describe shop.db --output shop.yaml
    """
    from impl.library.batch import FileLimits, ProgressLines, describe_database
    from impl.library.declaration import declaration_text

    try:
        limits = FileLimits(value_bytes=value_bytes, seconds=seconds)
        text = declaration_text(describe_database(file, progress=ProgressLines(sys.stderr), limits=limits))
    except ContractFailure as failure:
        raise Refused(str(failure)) from None
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise Refused(f"{output}: {error.strerror}; name a new file") from None
