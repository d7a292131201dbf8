"""Damage and repair: one field of a declared format is changed, then everything that seals it is made right again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from conformance.contract.file_format import FileFormat
from conformance.vectors.formed import FormedFiles
from conformance.vectors.formed_archive import Unsorted
from conformance.vectors.placeholder import is_damaged
from conformance.vectors.reseal import reseal
from conformance.vectors.room_path import StepRefused

EXTRA: Final = "zzz"  # the key of a member that no format knows


def damage(root: Path, path: str, form: FileFormat, edit: str) -> None:
    """Damage one field of the files of a format at `path`, `FIELD KIND`; raises StepRefused where it is not there."""
    text, _, kind = edit.partition(" ")
    at = tuple(text.split("."))
    files = FormedFiles(form, root, path)
    try:
        if kind == "absent":
            files.remove(at)
        else:
            files.replace(at, _CHANGES[kind](files.value(at)))
    except (LookupError, TypeError, ValueError, AttributeError):
        # Not there, or of another type: an earlier edit may have been here.
        raise StepRefused(f"{path!r}: the format {form.name} has nothing at {text!r} that can be {kind}") from None
    reseal(files, at)
    try:
        files.write(at)
    except (LookupError, TypeError, ValueError) as error:
        raise StepRefused(f"{path!r}: {edit} leaves no file that can be written: {error}") from None


def damaged_bytes(data: bytes, form: FileFormat, edit: str) -> bytes:
    """A byte string of a format of one file, damaged like such a file; raises StepRefused."""
    with TemporaryDirectory(prefix="tally-damage-") as folder:
        held = Path(folder) / "value"
        held.write_bytes(data)
        damage(Path(folder), held.name, form, edit)
        return held.read_bytes()


def with_damage(value: Mapping[str, Any], formats: Mapping[str, FileFormat]) -> Any:
    """A wire map, or, where it stands for damaged bytes whose reference is resolved, these bytes.

    Raises KeyError where the answered bytes have nothing that can be damaged so.
    """
    if not is_damaged(value) or not isinstance(value["damaged"], str) or value["format"] not in formats:
        return value
    try:
        return damaged_bytes(bytes.fromhex(value["damaged"]), formats[value["format"]], value["edit"]).hex()
    except StepRefused as refused:
        raise KeyError(str(refused)) from None


def _extra(whole: Any) -> Any:
    return [*whole, *whole[-1:]] if isinstance(whole, list) else {**whole, EXTRA: 0}


def another(value: Any) -> Any:
    """Another value of the same type: the last bit, the next number, one letter or one element less or more."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1 if value < 2**64 - 1 else value - 1
        case float():
            return value + 1.0
        case str():
            return f"{value}x"
        case bytes():
            return value[:-1] + bytes([value[-1] ^ 1]) if value else b"\0"
        case list():
            return value[:-1] if value else [0]
        case dict():
            return {**value, EXTRA: 0}
    return 0


_CHANGES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "changed": another,
    "cased": str.swapcase,
    "null": lambda value: None,
    "float": float,  # a whole number as a float
    "bool": bool,
    "number": int,  # a bool as 0 or 1
    "extra": _extra,  # a key that no format knows, or the last element twice
    "unsorted": Unsorted,  # the keys of a map in the wrong order
    "reversed": lambda value: list(reversed(value)),
}
