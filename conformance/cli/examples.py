"""`tally examples`: the example programs of this version, copied to a folder of the user."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

import click

from conformance.cli.console import CommandError, say, writing
from conformance.contract.suite_file import bundled_suite

_LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "*.pyc")


@click.command("examples")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def command(folder: Path) -> int:
    """Copy the example programs into DIR, which does not exist yet or is empty; all of them or none.

    \b
    Examples:
      tally examples tallystick-examples
      tally examples ~/tallystick-examples
    """
    source = bundled_suite().root / "examples"
    with writing(str(folder), "name a new folder in a folder that you can write to"):
        if folder.is_dir() and any(folder.iterdir()):
            hint = "nothing was written; name a new folder"
            raise CommandError(str(folder), "T005", "the folder is not empty", hint)
        target = folder.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
            made = Path(temporary) / "examples"
            shutil.copytree(source, made, ignore=_LEFT_OUT)
            made.rename(target)
    for page in sorted(folder.glob("*/README.md")):
        say(f"wrote {page.parent}")
    return 0
