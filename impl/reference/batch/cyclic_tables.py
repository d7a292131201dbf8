"""The contract's tables of sines and cosines, which no libm may compute."""

import json
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
# In a checkout the tables stand in spec/, in an installed copy beside the harness.
PLACES: Final = (
    ROOT / "spec" / "batch" / "tables" / "cyclic.json",
    ROOT / "conformance" / "_data" / "spec" / "batch" / "tables" / "cyclic.json",
)


@dataclass(frozen=True, slots=True)
class CyclicTable:
    """Hold sin and cos of 2 pi k / period for k = 0 to period - 1, correctly rounded to binary32."""

    field: str
    sin: tuple[float, ...]
    cos: tuple[float, ...]


@cache
def cyclic_tables() -> tuple[CyclicTable, ...]:
    """Return the seven tables in the order of the timestamp's pairs (seed 004 §2)."""
    file = next(place for place in PLACES if place.is_file())
    tables = json.loads(file.read_text("utf-8"))["tables"]
    return tuple(CyclicTable(table["field"], _floats(table["sin"]), _floats(table["cos"])) for table in tables)


def _floats(words: list[str]) -> tuple[float, ...]:
    return tuple(struct.unpack(">f", bytes.fromhex(word))[0] for word in words)
