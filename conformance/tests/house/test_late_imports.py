"""What a short command does not need is not imported."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["conformance.cli.explain", "conformance.trial.run", "conformance.trial.cases"])
@pytest.mark.parametrize("late", ["numpy", "sqlite3"])
def test_a_command_imports_numpy_and_sqlite_where_it_uses_them(module: str, late: str) -> None:
    program = f"import {module}, sys; sys.exit({late!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
