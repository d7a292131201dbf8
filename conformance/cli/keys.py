"""`tally keys`: a pair of keys to sign certificates with."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.console import CommandError, say, writing


@click.group("keys")
def command() -> None:
    """Make keys to sign certificates with.

    \b
    Examples:
      tally keys new me
      tally keys new keys/release
    """


@command.command("new", short_help="write a private and a public key")
@click.argument("prefix", type=click.Path(path_type=Path))
@click.option(
    "--test",
    is_flag=True,
    help="Write the test key. It is always the same, and everybody has it: for rehearsals, never to be trusted.",
)
def new(prefix: Path, test: bool) -> int:
    """Write a private key to PREFIX.key, which only you can read, and the public key to PREFIX.pub.

    No file is ever overwritten. Give PREFIX.pub to those who verify; keep PREFIX.key to yourself.

    \b
    Examples:
      tally keys new me
      tally keys new keys/release
    """
    from conformance.report.certificate.keys import new_pair

    if prefix.name in ("", ".."):
        raise click.UsageError(f"{str(prefix)!r} is a folder; add the beginning of the names of two files to it")
    with writing(str(prefix), "name a prefix in a folder that you can write to"):
        try:
            public = new_pair(prefix, test)
        except FileExistsError as error:
            hint = "name another prefix; a key is never overwritten"
            raise CommandError(str(error.filename), "T005", "the file is in the way", hint) from None
    say(f"wrote {prefix}.key (private) and {prefix}.pub")
    say(f"key {public.id}{', THE TEST KEY: everybody has it' if test else ''}")
    return 0
