"""Write the constraints of the nox session `lowest`: every runtime dependency at the lowest version it declares.

`python .ci/lowest.py FILE`: constraints.txt with the lower bounds of pyproject.toml in place of its versions. The
dependencies of the dependencies stay as pinned there, so that the session installs the same versions every day.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
EXTRAS = ("duckdb",)  # for users; `dev` is for this repository, and `torch` has one version only


def normalized(name: str) -> str:
    """A project's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*extras: str) -> dict[str, str]:
    """The version bounds of every dependency in pyproject.toml, by its normalized name."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    rows = [*project["dependencies"], *(row for extra in extras for row in project["optional-dependencies"][extra])]
    parts = (re.fullmatch(r"([A-Za-z0-9._-]+)\s*([^;]*)", row) for row in rows)
    return {normalized(part[1]): part[2].strip() for part in parts if part}


def pinned() -> dict[str, str]:
    """The exact version of every project in constraints.txt, by its normalized name."""
    lines = (HERE / "constraints.txt").read_text("utf-8").splitlines()
    rows = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {normalized(name): version for name, version in rows}


def lowest() -> dict[str, str]:
    """The lower bound of every runtime dependency."""
    found = {name: re.search(r"(?:>=|==)\s*([0-9.]+)", bounds) for name, bounds in declared(*EXTRAS).items()}
    return {name: bound[1] for name, bound in found.items() if bound}


def lines() -> Iterator[str]:
    """The constraints of the session, one project in each line."""
    return (f"{name}=={version}" for name, version in sorted({**pinned(), **lowest()}.items()))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("\n".join(lines()) + "\n", "utf-8")
