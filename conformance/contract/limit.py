"""Bounds of sizes, as guards word them: `size(bytes(run_id)) <= 4096`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from conformance.contract.expression import BadExpression, Environment
from conformance.contract.syntax import comparisons

BYTES, CHARACTERS, ITEMS = "bytes", "characters", "items"
_NUMBER: Final = re.compile(r"(\d+)u?\Z")
_LEAST: Final = 2  # below it a comparison asks whether anything is there


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """The largest size that a guard lets through: what is measured, as text, and how many there may be."""

    measure: str
    subject: str
    most: int

    def unit(self, environment: Environment) -> str:
        """What the measure counts, by the type of its subject."""
        try:
            name = environment.compile(self.subject, None).compiled.return_type().name()
        except BadExpression:
            return ""
        return {"STRING": CHARACTERS, "BYTES": BYTES}.get(name, ITEMS)


def size_limits(text: str) -> Iterator[SizeLimit]:
    """Every comparison of a guard, outside macros, that bounds a size from above by a number."""
    try:
        found = comparisons(text)
    except ValueError:  # a construct that this reader does not know; the engine has accepted the text
        return
    for one in found:
        left, sign, right = one.left, one.sign, one.right
        if sign in (">", ">="):
            left, sign, right = right, sign.replace(">", "<"), left
        number = _NUMBER.match(right)
        if sign not in ("<", "<=") or number is None or not (size := _measured(left)):
            continue
        most = int(number[1]) - (sign == "<")
        if most >= _LEAST:
            yield SizeLimit(f"size({size})", size, most)


def _measured(text: str) -> str:
    """What `size` is asked of in a text that is nothing else; empty where it is anything else."""
    text = text.removeprefix("uint(").removesuffix(")") if text.startswith("uint(") else text
    if not (text.startswith("size(") and text.endswith(")")):
        return ""
    inside, depth = text[len("size(") : -1], 0
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return ""
    return inside
