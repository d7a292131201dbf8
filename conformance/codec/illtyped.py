"""What a backend said is not of the declared type, or not in the one form that its type has."""

from __future__ import annotations

from typing import Any

Path = tuple[str | int, ...]


class IllTyped(Exception):
    """A value at `path` is not the canonical wire form of its declared type."""

    def __init__(self, expected: str, found: Any, path: Path = ()) -> None:
        self.expected, self.found, self.path = expected, found, path
        super().__init__(expected)

    def inside(self, step: str | int) -> IllTyped:
        """The same complaint, seen from one level further out."""
        return IllTyped(self.expected, self.found, (step, *self.path))

    def __str__(self) -> str:
        return f"{show_path(self.path)}: expected {self.expected}, found {shorten(self.found)}"


def show_path(path: Path) -> str:
    """A path as users read it: `trace_record.cursor_after.epoch`, `block_order[3]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text or "result"


def shorten(value: Any, limit: int = 80) -> str:
    """The repr of a value, cut to `limit` characters without building a long one."""
    if isinstance(value, str | bytes | list) and len(value) > limit:
        return f"{value[:limit]!r}... ({len(value)} long)"
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "..."
