"""What is written in the inputs of a step for a value that is not known before the trace runs.

`{"from": "step.output"}` is what an earlier step answered, `{"root": name}` a folder, and `{"damaged": {"from":
"step.output"}, "format": F, "edit": "FIELD KIND"}` an answered byte string of a declared format with one field damaged
and everything that seals it made right again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def is_reference(value: Any) -> bool:
    """Whether an earlier step's answer is meant."""
    return isinstance(value, Mapping) and value.keys() == {"from"} and isinstance(value["from"], str)


def is_root(value: Any) -> bool:
    """Whether a folder is meant that the harness makes."""
    return isinstance(value, Mapping) and value.keys() == {"root"} and isinstance(value["root"], str)


def is_damaged(value: Any) -> bool:
    """Whether damaged bytes of an earlier step's answer are meant."""
    return isinstance(value, Mapping) and value.keys() == {"damaged", "format", "edit"}


def is_placeholder(value: Any) -> bool:
    """Whether any of the three is meant."""
    return is_reference(value) or is_root(value) or is_damaged(value)


def reference(text: str, form: str = "", edit: str = "") -> dict[str, Any]:
    """The wire form of a reference to what an earlier step answered, damaged where a format is named."""
    return {"damaged": {"from": text}, "format": form, "edit": edit} if form else {"from": text}


def anywhere(value: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether a wire value, or any part of it, is a wanted one."""
    if wanted(value):
        return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(anywhere(part, wanted) for part in parts)
