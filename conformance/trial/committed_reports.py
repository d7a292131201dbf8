"""The reports that a suite commits about itself: their names, and how one is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from conformance.contract.yaml.source import BadFile

MATRIX_FILE: Final = "kill-matrix.json"
FLOOR_FILE: Final = "floor.json"
DISTORTIONS_FILE: Final = "distortions.json"
T = TypeVar("T")


class UnreadableReport(BadFile):
    """A committed report is missing or not of its format; says which file and the next step."""


def read_report(file: Path, format_: int, meaning: Callable[[Any], T], command: str) -> T:
    """What `meaning` makes of a committed report; `command` writes a new one. Raises UnreadableReport."""
    try:
        record = json.loads(file.read_text("utf-8"))
        if record["format"] != format_:
            raise ValueError(f"format {record['format']!r}")
        return meaning(record)
    except (OSError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        said = f"it is damaged, or no report of format {format_} ({error!r:.200})"
        raise UnreadableReport(str(file), said, f"run `{command}`") from None
