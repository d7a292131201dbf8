"""The files with which a CI service, or pre-commit, tests a suite: by provider, for the top of the repository."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from conformance import __version__
from conformance.cli.console import Complaint
from conformance.contract.finder import is_own

_FOLDER: Final = Path(__file__).with_name("skeletons") / "ci"
PROVIDERS: Final[Mapping[str, str]] = {  # where each looks for its file
    "github": ".github/workflows/tally.yml",
    "gitlab": ".gitlab-ci.yml",
    "pre-commit": ".pre-commit-config.yaml",
}
_SAFE: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_. +-]*(/[A-Za-z0-9_.][A-Za-z0-9_. +-]*)*\Z")


def repository_of(suite: Path) -> Path:
    """The top of the repository that a suite is in: the first folder above it with a `.git`; else the suite itself.

    The search ends at the user's home and at a folder of somebody else.
    """
    suite = suite.resolve()
    home = os.environ.get("HOME", "")
    for folder in (suite, *suite.parents):
        if os.path.lexists(folder / ".git"):
            return folder
        if str(folder.parent) == home or not is_own(folder.parent):
            break
    return suite


def ci_files(provider: str, repository: Path, suite: Path) -> dict[Path, str]:
    """The text of every file of a provider, by its path; raises Complaint where the suite's path is not safe there."""
    place = suite.resolve().relative_to(repository).as_posix()
    if not _SAFE.match(place):
        hint = "rename the folder: letters, digits, `_`, `.`, `+`, `-` and blanks are safe in a shell and in YAML"
        raise Complaint(repr(str(suite)), "T003", "the path of the suite cannot be written into a CI file", hint)
    words = {
        "SUITE": place,
        "VERSION": __version__,
        "PATTERN": "" if place == "." else f"^{re.escape(place)}/",
    }
    file = repository / PROVIDERS[provider]
    text = (_FOLDER / f"{file.name.lstrip('.') if provider != 'github' else 'github.yml'}.txt").read_text("utf-8")
    return {file: re.sub("@([A-Z]+)@", lambda match: words[match[1]], text)}
