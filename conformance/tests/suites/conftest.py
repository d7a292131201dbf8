"""A suite of one's own in the current folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def own(new_suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutants_in_this_process: None) -> Path:
    """A copy of a new suite, which is the current folder."""
    folder = tmp_path / "bounds"
    shutil.copytree(new_suite, folder)
    monkeypatch.chdir(folder)
    # A few random calls are enough to see that a command works.
    monkeypatch.setattr("conformance.trial.fuzz.operator.DEFAULT_EXAMPLES", 5)
    return folder
