"""Changes one field of a file of a declared format, then computes every checksum above that field again."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from conformance.codec.cbor import encode_canonical
from conformance.contract.family import FileFormat
from conformance.vectors.files.formed import FormedFiles, Steps, Unsorted, member
from conformance.vectors.files.temp_roots import StepRefused
from conformance.vectors.leaf import is_damaged


def reseal(files: FormedFiles, damaged: Steps) -> None:
    """Make every hash, size, checksum and signature right again, except the damaged place itself."""
    for seal in files.form.seals:
        for at, element in list(files.matches(tuple(seal.at.split(".")))):
            if at == damaged:
                continue
            try:
                value = value_of(seal.to, files, element)
            except (LookupError, TypeError, ValueError):
                continue  # what it covers is gone or of another type
            files.replace(at, value)


def value_of(word: Any, files: FormedFiles, element: Any = None) -> Any:
    """The value of a word; raises LookupError where a place of it is not there."""
    if isinstance(word, str) and word.startswith("$"):
        steps = word[1:].split(".")
        if steps[0] != "@":
            return files.value(tuple(steps))
        for step in steps[1:]:
            element = member(element, step)
        return element
    value = partial(value_of, files=files, element=element)
    match word:
        case list():
            return [value(one) for one in word]
        case {"hash": item}:  # of the canonical CBOR of an item
            return _sha256(value(item))
        case {"digest": path}:  # of the file at a path
            return hashlib.sha256(files.content(value(path))).digest()
        case {"file": name}:  # the digest of a file of the format
            if name not in files.items:
                raise LookupError(name)
            return hashlib.sha256(files.content(files.paths[name].removeprefix(f"{files.path}/"))).digest()
        case {"size": path}:  # of the file at a path, in bytes
            return len(files.content(value(path)))
        case {"without": item, "key": key}:  # a map without one key
            return {name: one for name, one in dict(value(item)).items() if name != key}
        case {"each": items, "is": item}:  # one item for every element of a list
            below = word.get("below", "")
            wanted = [one for one in value(items) if not below or str(member(one, "path")).startswith(below)]
            return [value_of(item, files, one) for one in wanted]
        case {"merkle": items}:
            return _merkle(value(items), word)
        case {"signed": item}:  # Ed25519 over the canonical CBOR of an item, by the format's test key
            return _signed(encode_canonical(value(item)), files.form.key)
    return word


def _merkle(level: list[Any], word: Mapping[str, Any]) -> bytes:
    """The root of a binary hash tree; the last node of an odd level counts twice."""
    if not level:
        return _sha256([word["empty"], []])
    while len(level) > 1:
        level = [*level, *level[-1:]] if len(level) % 2 else level
        level = [_sha256([word["node"], level[at : at + 2]]) for at in range(0, len(level), 2)]
    root: bytes = level[0]
    return root


def _signed(payload: bytes, key: bytes) -> bytes:
    # Imported where it is needed: it costs every run 40 ms, and few suites sign.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(key).sign(payload)


def _sha256(item: Any) -> bytes:
    return hashlib.sha256(encode_canonical(item)).digest()


# Values that a field may not have: each replaces the field, or is added where the file has no such field.
PLANTED: Final[Mapping[str, Any]] = {"planted-zero": 0, "planted-null": None, "planted-text": "1"}
EXTRA: Final = "zzz"  # the key of a member that no format knows


def damage(root: Path, path: str, form: FileFormat, edit: str) -> None:
    """Damage one field of the files of a format at `path`, `FIELD KIND`; raises StepRefused where it is not there."""
    text, _, kind = edit.partition(" ")
    at = tuple(text.split("."))
    files = FormedFiles(form, root, path)
    try:
        if kind == "absent":
            files.remove(at)
        elif kind in PLANTED:
            files.plant(at, PLANTED[kind])
        else:
            files.replace(at, _CHANGES[kind](files.value(at)))
    except (LookupError, TypeError, ValueError, AttributeError):
        # Not there, or of another type: an earlier edit may have been here.
        raise StepRefused(f"{path!r}: the format {form.name} has nothing at {text!r} that can be {kind}") from None
    reseal(files, at)
    try:
        files.write(at)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise StepRefused(f"{path!r}: {edit} leaves no file that can be written: {error}") from None


def damaged_bytes(data: bytes, form: FileFormat, edit: str) -> bytes:
    """A byte string in a format of one file, damaged like a file of that format; raises StepRefused."""
    with TemporaryDirectory(prefix="tally-damage-") as folder:
        file = Path(folder) / "value"
        file.write_bytes(data)
        damage(Path(folder), file.name, form, edit)
        return file.read_bytes()


def with_damage(value: Mapping[str, Any], formats: Mapping[str, FileFormat]) -> Any:
    """The bytes that a wire map of damaged bytes represents, its reference resolved; any other wire map unchanged.

    Raises KeyError if the answered bytes do not have the field that is to be damaged.
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


def emptied_value(value: Any) -> Any:
    """The empty value of the same type: zero, false, no letter, no byte, no element, no key."""
    return type(value)()


def _reshaped(change: Callable[[list[int]], list[int]]) -> Callable[[Any], Any]:
    """The change of a list of axes that keeps the product; TypeError for another value, or if nothing changes."""

    def changed(value: Any) -> Any:
        if not isinstance(value, list) or not value or any(type(one) is not int for one in value):
            raise TypeError("no list of axes")
        if (found := change(value)) == value:
            raise TypeError("the axes stay as they are")
        return found

    return changed


def _split(axes: list[int]) -> list[int]:
    part = next((k for k in range(2, axes[-1]) if axes[-1] % k == 0), 1)
    return [*axes[:-1], part, axes[-1] // part]


def retyped(value: Any) -> str:
    """The name of another element type of the same width; TypeError if there is none."""
    for pattern, others in _ALIKE.items():
        if isinstance(value, str) and (found := re.fullmatch(pattern, value)) is not None:
            other = next(one for one in others if one != found["kind"])
            return f"{value[: found.start('kind')]}{other}{value[found.end('kind') :]}"
    raise TypeError("no name of a type that has another of its width")


_ALIKE: Final = {  # patterns of type names: what may replace the `kind`, which is not the width
    r"(?:[<>|=])?(?P<kind>[iuf])[248]": ("i", "u", "f"),
    r"(?:[<>|=])?(?P<kind>[iu])1": ("i", "u"),
    r"(?P<kind>int|uint|float)(?:16|32|64)": ("int", "uint", "float"),
    r"(?P<kind>int|uint)8": ("int", "uint"),
}
RESHAPES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "unit-axis-last": _reshaped(lambda axes: [*axes, 1]),
    "unit-axis-inside": _reshaped(lambda axes: [*axes[:1], 1, *axes[1:]]),
    "axes-swapped": _reshaped(lambda axes: [*axes[:-2], *axes[:-3:-1]]),
    "axes-merged": _reshaped(lambda axes: [*axes[:-2], math.prod(axes[-2:])]),
    "axis-split": _reshaped(_split),
}
_CHANGES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "changed": another,
    "cased": str.swapcase,
    "null": lambda value: None,
    "empty": emptied_value,  # present but empty: a program that tests for truth takes it for absent
    "float": float,  # a whole number as a float
    "bool": bool,
    "number": int,  # a bool as 0 or 1
    "extra": _extra,  # a key that no format knows, or the last element twice
    "unsorted": Unsorted,  # the keys of a map in the wrong order
    "reversed": lambda value: list(reversed(value)),
    **RESHAPES,
    "retyped": retyped,
}
