"""What a short command does not need is not imported."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["conformance.cli.explain", "conformance.trial.run", "conformance.trial.cases"])
def test_a_command_imports_numpy_and_sqlite_where_it_uses_them(module: str) -> None:
    program = f"import {module}, sys; print(*{{'numpy', 'sqlite3'}} & sys.modules.keys())"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "\n"
