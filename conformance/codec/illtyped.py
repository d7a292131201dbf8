"""What a backend said is not of the declared type, or not in the one form that its type has."""

from __future__ import annotations

import json
import re
import reprlib
from typing import Any, Final

Path = tuple[str | int, ...]
_LIMIT: Final = 80  # characters
_PLAIN: Final = re.compile(r"[\w./#-]{1,80}\Z", re.ASCII)


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
    """A path as users read it: `trace_record.cursor_after.epoch`, `block_order[3]`, `headers["a key\\n"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.match(step):
            text += f".{step}" if text else step
        else:  # a backend's own key may hold anything, control characters too
            text = f"{text or 'result'}[{json.dumps(step[:_LIMIT])}]"
    return text or "result"


def shorten(value: Any, limit: int = _LIMIT) -> str:
    """The repr of a value in about `limit` characters, made without building a long one, however deep the value is."""
    if isinstance(value, str | bytes) and len(value) > limit:
        return f"{value[:limit]!r}... ({len(value)} long)"
    text = _BRIEF.repr(value)
    if isinstance(value, list) and len(value) > limit:
        return f"{text[:limit]}... ({len(value)} long)"
    return text if len(text) <= limit else text[:limit] + "..."


class _Brief(reprlib.Repr):
    """A repr that looks at no more of a value than it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict = 4, 8
        self.maxlist = self.maxtuple = self.maxstring = self.maxother = self.maxlong = 4 * _LIMIT

    def repr_bytes(self, value: bytes, level: int) -> str:
        """The beginning of a byte string."""
        return repr(value[:_LIMIT])


_BRIEF: Final = _Brief()
