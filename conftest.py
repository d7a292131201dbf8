"""What every test may ask for: a tool outside Python, or a clear word that it is not here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """The path of an external tool; without it the test says "not run: NAME not found", or fails under CI."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            reason = f"not run: {name} not found"
            if os.environ.get("TALLY_REQUIRE_TOOLS") == "1":
                pytest.fail(reason)
            pytest.skip(reason)
        return path

    return find
