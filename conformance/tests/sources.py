"""The modules of this checkout, for tests of the house: each is read and parsed once a process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from conformance.tests.processes import ROOT


@cache
def modules(*folders: str, skeletons: bool = False) -> list[Path]:
    """Every module below these folders that is no test; the texts for a user's own files are asked for."""
    left = {"tests"} if skeletons else {"tests", "skeletons"}
    found = (file for folder in folders for file in sorted((ROOT / folder).rglob("*.py")))
    return [file for file in found if not left & set(file.relative_to(ROOT).parts)]


def shown(file: Path) -> str:
    """The path of a file within the checkout."""
    return file.relative_to(ROOT).as_posix()


@cache
def text_of(file: Path) -> str:
    """What is written in a module."""
    return file.read_text("utf-8")


@cache
def tree(file: Path) -> ast.Module:
    """A module, parsed."""
    return ast.parse(text_of(file))
