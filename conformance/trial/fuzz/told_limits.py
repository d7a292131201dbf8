"""Texts on both sides of a limit in the description of an input: `at most 200 bytes`, `at most 64 characters`.

Letters of one, two and four bytes show whether a backend counts bytes, letters or UTF-16 units.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.contract.types import Scalar, Struct

_TOLD: Final = re.compile(r"\bat most ([0-9]{1,3}(?:,[0-9]{3})*|[0-9]+) (bytes|characters)\b", re.IGNORECASE)
_LETTERS: Final = ("a", "\u00e9", "\U0001f600")
_LARGEST: Final = 1 << 16


def told_limits(doc: str) -> Iterator[tuple[int, str]]:
    """Every limit in a description, with its unit."""
    for number, unit in _TOLD.findall(doc):
        if (most := int(number.replace(",", ""))) <= _LARGEST:
            yield most, unit.lower()


def at_limits(type_: Struct, inputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The inputs of a call with each text that has a told limit as long as it allows, and one and twice as long."""
    for member in type_.fields:
        if member.type != Scalar("string") or not isinstance(inputs.get(member.name), str):
            continue
        for most, unit in told_limits(member.doc):
            for letter in _LETTERS:
                width = len(letter.encode()) if unit == "bytes" else 1
                # The first of the longer ones is right for who counts letters or UTF-16 units in place of bytes.
                for count in dict.fromkeys((most // width, most // width + 1, most // 2 + 1, most)):
                    short = most - count * width if count == most // width else 0
                    yield {**inputs, member.name: letter * count + "a" * short}
                yield {**inputs, member.name: letter * (most + 1)}
