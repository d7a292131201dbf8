"""What several test modules of impl ask for: one process of the JavaScript backend over each wire."""

from collections.abc import Callable, Iterator

import pytest

from impl.tests.javascript_process import Backend


@pytest.fixture(scope="session")
def javascript(tool: Callable[[str], str]) -> Iterator[Backend]:
    """One process for the whole run, over JSON; it must still end well after everything that it was asked."""
    tool("node")
    backend = Backend("json")
    yield backend
    assert backend.finish() == 0
