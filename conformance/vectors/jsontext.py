"""JSON for people to review and for bytes to compare: sorted keys, what fits a line on one line, wrapped at 120."""

from __future__ import annotations

import json
from typing import Any, Final

WIDTH: Final = 120


def json_text(value: Any) -> str:
    """The text of a JSON value with a line end; arrays of scalars are filled, everything else is one entry a line."""
    return "".join(_lines(value, 0)) + "\n"


def _lines(value: Any, depth: int, taken: int = 0) -> list[str]:
    flat = _flat(value)
    if len(flat) + depth + taken <= WIDTH and "\n" not in flat:
        return [flat]
    if isinstance(value, dict) and value:
        entries = []
        for key in sorted(value):
            name = f"{_flat(key)}: "
            entries.append(name + "".join(_lines(value[key], depth + 1, len(name) + 1)))
        return ["{\n", _joined(entries, depth + 1), "\n", " " * depth, "}"]
    if isinstance(value, list) and value:
        if any(isinstance(item, dict | list) for item in value):
            inner = _joined(["".join(_lines(item, depth + 1, 1)) for item in value], depth + 1)
        else:
            inner = _filled([_flat(item) for item in value], depth + 1)
        return ["[\n", inner, "\n", " " * depth, "]"]
    return [flat]


def _flat(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(", ", ": "))


def _joined(entries: list[str], depth: int) -> str:
    return ",\n".join(" " * depth + entry for entry in entries)


def _filled(items: list[str], depth: int) -> str:
    lines, line = [], ""
    for k, item in enumerate(items):
        piece = item + ("," if k < len(items) - 1 else "")
        if line and depth + len(line) + 1 + len(piece) > WIDTH:
            lines.append(line)
            line = piece
        else:
            line = f"{line} {piece}" if line else piece
    lines.append(line)
    return "\n".join(" " * depth + one for one in lines)
