"""`tally init`: a new suite with one operator, whose contract, reference, law and mutants work at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from conformance.cli.console import Complaint, say, writing

_FOLDER: Final = Path(__file__).with_name("skeletons") / "suite"
_ENDING: Final = ".txt"


def suite_files(name: str) -> Mapping[str, str]:
    """The text of every file of a new suite, by its path."""
    found = {}
    for file in sorted(_FOLDER.rglob(f"*{_ENDING}")):
        path = file.relative_to(_FOLDER).as_posix().removesuffix(_ENDING)
        found[path] = file.read_text(encoding="utf-8").replace("@NAME@", name)
    return found


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def command(folder: Path) -> int:
    """Write a new suite into DIR: contracts, a reference in Python, a law, mutants, and the vectors.

    Existing files are never overwritten. Inside DIR, `tally lint`, `tally vectors check` and `tally run` succeed at
    once. Exit status: 0 written, 2 a file is in the way or cannot be written.

    \b
    Examples:
      tally init contracts
      tally init . && tally run
    """
    from conformance.contract.library import load_library
    from conformance.contract.suite_file import read_suite
    from conformance.vectors.build import build
    from conformance.vectors.jsontext import write_whole

    files = suite_files(re.sub(r"[^\w.-]", "-", folder.resolve().name) or "suite")
    if in_the_way := [name for name in files if (folder / name).exists()]:
        hint = "nothing was written; name a new folder"
        raise Complaint(str(folder / in_the_way[0]), "T005", "this file exists already", hint)
    for name, text in files.items():
        with writing(str(folder), "name a new folder"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, text)
        say(f"wrote {folder / name}")
    built, touched = build(load_library(read_suite(folder)))
    assert not built.problems, built.problems
    for name in touched:
        say(f"wrote {folder / name}")
    say(f"\nnext, in {folder}: `tally run`, and `tally mutants --write` for what the mutants break; see docs/suites.md")
    return 0
