"""Fixtures of several test modules: a process of the JavaScript backend, a committed run, patches."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from impl.tests.checkpoint.checkpoint_run import committed
from impl.tests.javascript.javascript_process import Backend


@pytest.fixture(scope="session")
def javascript(tool: Callable[[str], str]) -> Iterator[Backend]:
    """One process for the whole run, over JSON; it must still end well after everything that it was asked."""
    tool("node")
    backend = Backend("json")
    yield backend
    assert backend.finish() == 0


@pytest.fixture
def patch() -> pytest.MonkeyPatch:
    """Patches that a test takes back itself, in the middle."""
    return pytest.MonkeyPatch()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A committed run."""
    committed(tmp_path / "run")
    return tmp_path / "run"
