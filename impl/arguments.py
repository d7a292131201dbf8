"""What people give to the library: plain values are made of it, or a sentence says why not."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from operator import index
from pathlib import Path
from typing import Any, Final

from impl.failure import ContractFailure, WrongType, WrongValue

MAX_UINT32: Final = 2**32 - 1
MAX_UINT64: Final = 2**64 - 1
_SHOWN: Final = 60


def counted(number: int, noun: str) -> str:
    """Return a number and a noun, in the plural if the number is not one."""
    return f"{number} {noun}{'s' * (number != 1)}"


def shown(value: object) -> str:
    """Return a value as a sentence shows it: short, and one line."""
    if isinstance(value, bytes | bytearray | memoryview):
        return counted(memoryview(value).nbytes, "byte")
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()  # type: ignore[attr-defined]  # np.int64(3) is shown as 3
    if isinstance(value, int) and abs(value) >= 2**80:
        return "a number of more than 24 digits"
    if isinstance(value, str | int | float | None):
        text = repr(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return _article(type(value).__name__)


def one_of(allowed: Collection[str]) -> str:
    """Return texts as a sentence lists them: 'a', 'b' or 'c'."""
    *most, last = map(repr, allowed)
    return f"{', '.join(most)} or {last}" if most else last


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


@dataclass(frozen=True, slots=True)
class Judge:
    """Judge the arguments of one operator; every method returns a plain value or raises WrongType or WrongValue.

    `record` holds the fields of the operator's failure record besides the code and the operator. `code` is the code of
    what no other code names.
    """

    operator: str
    code: str = "CONTRACT_VIOLATION"
    record: Mapping[str, object] = field(default_factory=dict)

    def failure(self, sentence: str, kind: type[ContractFailure] = WrongValue, code: str = "") -> ContractFailure:
        """Return a failure with the operator's record."""
        code = code or self.code
        return kind(code, {**self.record, "failure_code": code, "failure_operator": self.operator}, sentence)

    def integer(
        self, name: str, value: object, least: int = 0, most: int = MAX_UINT64, *, code: str = "", hint: str = ""
    ) -> int:
        """Return an int of Python's, NumPy's or any other type that is an index, from `least` to `most`."""
        if type(value) is int and least <= value <= most:
            return value
        what = f"{name} must be an integer from {least} to {most}: got {shown(value)}{hint and f'; {hint}'}"
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            raise self.failure(what, WrongType, code)
        try:
            number = index(value)  # type: ignore[arg-type]
        except TypeError:  # an array of several numbers has the method, too
            raise self.failure(what, WrongType, code) from None
        if not least <= number <= most:
            raise self.failure(what, WrongValue, code)
        return number

    def optional(self, name: str, value: object, least: int = 0, most: int = MAX_UINT64) -> int | None:
        """Return an integer, or None as it is."""
        return None if value is None else self.integer(name, value, least, most, hint="None does not limit it")

    def integers(self, name: str, values: object, least: int = 0, most: int = MAX_UINT64) -> list[int]:
        """Return the integers of any iterable as a list."""
        return [self.integer(f"{name}[{place}]", value, least, most) for place, value in self._items(name, values)]

    def truth(self, name: str, value: object) -> bool:
        """Return a bool of Python's or NumPy's."""
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise self.failure(f"{name} must be True or False: got {shown(value)}", WrongType)

    def octets(self, name: str, value: object, length: int | None = None, hint: str = "") -> bytes:
        """Return bytes of any object that holds bytes, of exactly `length` where one is given."""
        what = f"{name} must be {'bytes' if length is None else f'exactly {length} bytes'}: got {shown(value)}"
        what += hint and f"; {hint}"
        if not isinstance(value, bytes | bytearray | memoryview):
            raise self.failure(what, WrongType)
        content = bytes(value)
        if length is not None and len(content) != length:
            raise self.failure(what)
        return content

    def text(self, name: str, value: object, *, code: str = "", hint: str = "") -> str:
        """Return a text that has UTF-8 bytes."""
        if not isinstance(value, str):
            raise self.failure(f"{name} must be a str: got {shown(value)}{hint and f'; {hint}'}", WrongType, code)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.failure(f"{name} must be Unicode text: got {shown(value)}", WrongValue, code) from None
        return value

    def choice(self, name: str, value: object, allowed: Collection[str], *, code: str = "") -> str:
        """Return one of the texts that are allowed."""
        near = get_close_matches(value, list(allowed), 1) if isinstance(value, str) else []
        what = f"{name} must be {one_of(allowed)}: got {shown(value)}"
        what += f"; did you mean {near[0]!r}?" if near else ""
        if not isinstance(value, str):
            raise self.failure(what, WrongType, code)
        if value not in allowed:
            raise self.failure(what, WrongValue, code)
        return value

    def number(self, name: str, value: object, *, above: float, code: str = "") -> float:
        """Return a finite float above a bound; an integer stays one."""
        what = f"{name} must be a finite number above {above:g}: got {shown(value)}"
        if isinstance(value, bool) or not (hasattr(type(value), "__float__") or hasattr(type(value), "__index__")):
            raise self.failure(what, WrongType, code)
        try:
            found = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise self.failure(what, WrongValue, code) from None
        if not (math.isfinite(found) and found > above):
            raise self.failure(what, WrongValue, code)
        return found

    def path(self, name: str, value: object) -> Path:
        """Return the absolute path of a str or Path, which may be relative to the current folder; links stay links."""
        what = f"{name} must be a str or a Path: got {shown(value)}"
        if not isinstance(value, str | os.PathLike):
            raise self.failure(what, WrongType)
        path = os.fspath(value)
        if not isinstance(path, str):
            raise self.failure(what, WrongType)
        if not path or "\0" in path:
            raise self.failure(f"{name} must be a path without NUL that is not empty: got {shown(path)}")
        return Path(os.path.abspath(path))  # noqa: PTH100 (resolve() would follow links)

    def folder(self, name: str, value: object) -> str:
        """Return the absolute path of an existing folder."""
        path = self.path(name, value)
        try:
            found = path.is_dir()
        except (OSError, ValueError):
            found = False
        if not found:
            what = "there is something else" if os.path.lexists(path) else "there is none; make it first"
            raise self.failure(f"{name} must be an existing folder: got {str(value)!r}, where {what}")
        return str(path)

    def instance(self, name: str, value: object, kind: type[Any] | tuple[type[Any], ...], what: str) -> Any:
        """Return a value of a class; `what` says in words what is expected."""
        if not isinstance(value, kind):
            raise self.failure(f"{name} must be {what}: got {shown(value)}", WrongType)
        return value

    def mapping(self, name: str, value: object, what: str) -> dict[str, Any]:
        """Return a mapping with text keys as a dict; `what` says in words what is expected."""
        if not isinstance(value, Mapping):
            raise self.failure(f"{name} must be {what}: got {shown(value)}", WrongType)
        return {self.text(f"a key of {name}", key): item for key, item in value.items()}

    def _items(self, name: str, values: object) -> list[tuple[int, object]]:
        if isinstance(values, str | bytes) or not hasattr(type(values), "__iter__"):
            raise self.failure(f"{name} must be a list of integers: got {shown(values)}", WrongType)
        iterable: Any = values
        return list(enumerate(iterable))
