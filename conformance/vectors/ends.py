"""Values with something at their ends that a careless carrier takes for no part of them.

They are made from the value of a leaf: line ends that `chomp` takes off, blanks of every kind, NULs, the marks that
begin or end a text for some programs, quotes around it, and a first or last byte that no text has. Every value is in
wire form.
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
_QUOTES: Final = ('"', "'")
_BYTES: Final[Mapping[str, str]] = {"high": "80", "all-ones": "ff"}


def ends(spot: Spot) -> Iterator[Named]:
    """The value of a leaf with each odd end, and each odd beginning."""
    match spot.type:
        case Scalar("string") if isinstance(spot.value, str):
            yield from _texts(spot.value)
        case Scalar("bytes") if isinstance(spot.value, str):
            for name, text in _texts(""):
                yield name, _around(spot.value, name, text.encode().hex())
            for name, byte in _BYTES.items():
                yield f"{name}-behind", spot.value + byte
                yield f"{name}-before", byte + spot.value


def _texts(value: str) -> Iterator[Named]:
    for name, text in {**_BEHIND, **_WIDE}.items():
        yield f"{name}-behind", value + text
    for name, text in {**_BEFORE, **_WIDE}.items():
        yield f"{name}-before", text + value
    for name, quote in zip(("quoted", "in-apostrophes"), _QUOTES, strict=True):
        yield name, f"{quote}{value}{quote}"


def _around(value: str, name: str, added: str) -> str:
    """Hex digits with others behind them, before them or, for a pair of quotes, on both sides."""
    if name.endswith("-behind"):
        return value + added
    if name.endswith("-before"):
        return added + value
    half = len(added) // 2
    return added[:half] + value + added[half:]
