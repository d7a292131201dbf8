"""What stands in the inputs of a step for a value that is not known before the trace runs.

`{"from": "step.output"}` is what an earlier step answered, `{"root": "name"}` a directory, and `{"damaged": {"from":
"step.output"}, "format": F, "edit": "FIELD KIND"}` an answered byte string of a declared format with one field damaged
and everything that seals it made right again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.contract.file_format import FileFormat
from conformance.vectors.damage import damaged_bytes
from conformance.vectors.room_path import StepRefused

_DAMAGED: Final = {"damaged", "format", "edit"}


def reference(text: str, form: str = "", edit: str = "") -> dict[str, Any]:
    """The wire form of a reference to what an earlier step answered."""
    return {"damaged": {"from": text}, "format": form, "edit": edit} if form else {"from": text}


def is_placeholder(value: Any) -> bool:
    """Whether a wire value stands for an answer or a directory."""
    return isinstance(value, Mapping) and value.keys() in ({"from"}, {"root"}, _DAMAGED)


def with_damage(value: Mapping[str, Any], formats: Mapping[str, FileFormat]) -> Any:
    """A wire map, or, where it stands for damaged bytes whose reference is resolved, these bytes.

    Raises KeyError where the answered bytes have nothing that can be damaged so.
    """
    if value.keys() != _DAMAGED or not isinstance(value["damaged"], str) or value["format"] not in formats:
        return value
    try:
        return damaged_bytes(bytes.fromhex(value["damaged"]), formats[value["format"]], value["edit"]).hex()
    except StepRefused as refused:
        raise KeyError(str(refused)) from None
