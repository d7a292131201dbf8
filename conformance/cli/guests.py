"""The commands that the bundled suite adds to `tally`: its `[commands]` names their modules.

There is one, `tally batch`. It needs this table because its code is in `impl`, which `conformance` must not import.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Final

import click

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_PLACES: Final = (_PACKAGE.parent, _PACKAGE / "_data")  # a checkout wins over packaged data, as for the suite itself


@lru_cache(1)
def guests() -> Mapping[str, tuple[str, str]]:
    """The module of each command and what it does; the suites of users add none, so that no folder adds a command."""
    import tomllib  # 10 ms

    for place in _PLACES:
        if (place / "spec" / "contracts.lock").is_file():
            listed = tomllib.loads((place / "tally.toml").read_text("utf-8")).get("commands", {})
            return {name: (told.partition(": ")[0], told.partition(": ")[2]) for name, told in listed.items()}
    return {}


def guest(name: str) -> click.Command:
    """The command of a name, imported now."""
    command: click.Command = import_module(guests()[name][0]).command
    return command
