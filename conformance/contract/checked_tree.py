"""What the expression engine's checked syntax tree says of a compiled expression.

The tree is a protobuf message, `cel.expr.CheckedExpr`. Only its reference map is read: the names that the checker
resolved, with all of their dots, where a search in the text would also find parts of strings and of longer names. The
tree has no end positions and its macros are expanded, so `syntax.py` finds the spans of text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

# Field numbers of the messages: https://github.com/google/cel-spec/blob/master/proto/cel/expr/checked.proto
_ANY_VALUE: Final = 2
_REFERENCE_MAP: Final = 2
_ENTRY_VALUE: Final = 2
_NAME, _OVERLOADS = 1, 3
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


def variables_of(compiled: Any) -> frozenset[str]:
    """The variables of a compiled expression by their dotted names, those that macros bind among them."""
    found = set[str]()
    for checked in _parts(compiled.serialize(), _ANY_VALUE):
        for entry in _parts(checked, _REFERENCE_MAP):
            for reference in _parts(entry, _ENTRY_VALUE):
                if not list(_parts(reference, _OVERLOADS)):  # a function has overloads
                    found.update(name.decode() for name in _parts(reference, _NAME))
    return frozenset(found)


def _parts(message: bytes, wanted: int) -> Iterator[bytes]:
    """The contents of every length-delimited field of a protobuf message that has the wanted number."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            _, at = _varint(message, at)
        elif kind == _BYTES:
            size, at = _varint(message, at)
            if key >> 3 == wanted:
                yield message[at : at + size]
            at += size
        else:
            at += {_FIXED64: 8, _FIXED32: 4}[kind]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The number at an offset, and the offset behind it."""
    number = shift = 0
    while message[at] & 0x80:
        number |= (message[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return number | message[at] << shift, at + 1
