"""`tally new-backend`: the skeleton of a backend that says hello and fails its first vector."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from conformance.cli.say import say

LANGUAGES: Final = ("python", "javascript")


@click.command("new-backend")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--language", type=click.Choice(LANGUAGES), required=True, help="The language of the skeleton.")
@click.option("--operator", default=None, help="The first operator or machine; the default is an easy operator.")
def command(folder: Path, language: str, operator: str | None) -> int:
    """Write the skeleton of a backend into FOLDER; existing files are never overwritten."""
    from conformance.cli.complaint import Complaint, writing
    from conformance.cli.skeleton import run_line, skeleton, smallest, workplace
    from conformance.cli.specification import contract_named, specification
    from conformance.vectors.whole_file import write_whole

    library = specification()
    contract = contract_named(library, operator) if operator else smallest(library)
    files = skeleton(language, folder.resolve().name, str(folder), contract, library)
    in_the_way = [name for name in files if (folder / name).exists()]
    if in_the_way:
        hint = "nothing was written; name a new folder"
        raise Complaint(str(folder / in_the_way[0]), "T005", "this file exists already", hint)
    for name, text in files.items():
        with writing(str(folder), "name a new folder"):
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, text)
        say(f"wrote {folder / name}")
    say(
        f"\nnext: {run_line(language, str(folder), contract)}\nthen: edit {folder / workplace(language)}; see README.md"
    )
    return 0
