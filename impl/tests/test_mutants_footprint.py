"""Which functions a mutant says that it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.mutants.footprint import functions_of

SOURCE = """\
from functools import cache

LIMIT = 8


class Box:
    size = 1

    @property
    def half(self) -> int:
        return self.size // 2


def outer(x: int = LIMIT) -> int:
    def inner() -> int:
        return x + 1

    return inner()
"""


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    (tmp_path / "box.py").write_text(SOURCE)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("self.size // 2", ["box.py:9"]),
        ("return x + 1", ["box.py:14"]),
        ("return x + 1\n\n    return inner()", ["box.py:14"]),
        ("LIMIT = 8", None),
        ("size = 1", None),
        ("x: int = LIMIT", None),
        ("@property", None),
        ("not there", None),
    ],
)
def test_a_patch_changes_the_outermost_function_whose_body_holds_it_or_more(
    reference: Path, text: str, function: list[str] | None
) -> None:
    assert functions_of({"box.py": [text]}, reference) == function
