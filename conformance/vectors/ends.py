"""Texts and bytes with something at an end that careless programs remove.

Each is the value of a leaf with one addition: a line end that `chomp` removes, a blank of any kind, a NUL, a mark that
begins or ends a text for some programs, quotes on both sides, or a byte that no text has. All are in wire form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.contract.types import Scalar
from conformance.vectors.leaf import Spot

ENDS: Final = "ends"
Named = tuple[str, Any]

_BEHIND: Final[Mapping[str, str]] = {
    "line": "\n",
    "return": "\r",
    "line-of-two": "\r\n",
    "two-lines": "\n\n",
    "tab": "\t",
    "blank": " ",
    "nul": "\0",
    "two-nuls": "\0\0",
    "end-of-file": "\x1a",
    "padding": "=",
    "slash": "/",
    "dot": ".",
}
_BEFORE: Final[Mapping[str, str]] = {"line": "\n", "tab": "\t", "blank": " ", "nul": "\0", "zero": "0", "plus": "+"}
_WIDE: Final[Mapping[str, str]] = {  # blanks, and what shows nothing, beyond ASCII
    "hard-blank": "\u00a0",
    "wide-blank": "\u3000",
    "no-width": "\u200b",
    "next-line": "\u0085",
    "line-mark": "\u2028",
    "byte-order-mark": "\ufeff",
}
_BYTES: Final[Mapping[str, str]] = {"high": "80", "all-ones": "ff"}  # in hex digits
# By name: what is put before the value and what behind it.
_AROUND: Final[Mapping[str, tuple[str, str]]] = {
    **{f"{name}-behind": ("", text) for name, text in {**_BEHIND, **_WIDE}.items()},
    **{f"{name}-before": (text, "") for name, text in {**_BEFORE, **_WIDE}.items()},
    "quoted": ('"', '"'),
    "in-apostrophes": ("'", "'"),
}


def ends(spot: Spot) -> Iterator[Named]:
    """The value of a leaf with each odd end, and each odd beginning; nothing for other leaves than texts and bytes."""
    match spot.type:
        case Scalar("string") if isinstance(spot.value, str):
            for name, (before, behind) in _AROUND.items():
                yield name, before + spot.value + behind
        case Scalar("bytes") if isinstance(spot.value, str):
            for name, (before, behind) in _AROUND.items():
                yield name, before.encode().hex() + spot.value + behind.encode().hex()
            for name, byte in _BYTES.items():
                yield f"{name}-behind", spot.value + byte
                yield f"{name}-before", byte + spot.value
