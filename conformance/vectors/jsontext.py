"""JSON for people to review and for bytes to compare: sorted keys, what fits a line on one line, wrapped at 120."""

from __future__ import annotations

import json
from typing import Any, Final

WIDTH: Final = 120


def json_text(value: Any) -> str:
    """The text of a JSON value with a line end: scalars fill lines; arrays and objects have lines of their own."""
    return "".join(_lines(value, 0)) + "\n"


def _lines(value: Any, depth: int, taken: int = 0) -> list[str]:
    flat = _flat(value)
    if len(flat) + depth + taken <= WIDTH and "\n" not in flat:
        return [flat]
    if isinstance(value, dict) and value:
        return ["{\n", _filled(_entries(value, depth), depth + 1), "\n", " " * depth, "}"]
    if isinstance(value, list) and value:
        inner = _filled([(_scalar(item), "".join(_lines(item, depth + 1, 1))) for item in value], depth + 1)
        return ["[\n", inner, "\n", " " * depth, "]"]
    return [flat]


def _flat(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(", ", ": "))


def _entries(value: dict[str, Any], depth: int) -> list[tuple[bool, str]]:
    names = [(key, f"{_flat(key)}: ") for key in sorted(value)]
    return [(_scalar(value[key]), name + "".join(_lines(value[key], depth + 1, len(name) + 1))) for key, name in names]


def _scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _filled(items: list[tuple[bool, str]], depth: int) -> str:
    """The items behind one another; those that are no scalars stand on lines of their own."""
    lines, line = [], ""
    for k, (scalar, item) in enumerate(items):
        piece = item + ("," if k < len(items) - 1 else "")
        if line and (not scalar or depth + len(line) + 1 + len(piece) > WIDTH):
            lines.append(line)
            line = ""
        line = f"{line} {piece}" if line else piece
        if not scalar:
            lines.append(line)
            line = ""
    lines += [line] if line else []
    return "\n".join(" " * depth + one for one in lines)
