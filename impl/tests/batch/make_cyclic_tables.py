"""Compute the tables of spec/batch/tables/cyclic.json with mpmath: `python impl/tests/batch/make_cyclic_tables.py`.

Every number is sin or cos of 2 pi k / period at 200 bits, rounded once to binary32, ties to even; exact zeros are +0.
Only this script needs mpmath. The suite confirms the file with rational arithmetic.
"""

import json
import struct
from importlib import import_module
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[3] / "spec" / "batch" / "tables" / "cyclic.json"
PERIODS = {"second": 60, "minute": 60, "hour": 24, "weekday": 7, "day_of_month": 31, "month": 12, "day_of_year": 366}
PER_LINE = 10


def table(field: str, period: int, mpmath: Any) -> dict[str, Any]:
    """Return the table of one field."""
    turns = [mpmath.mpf(2) * k / period for k in range(period)]
    return {
        "field": field,
        "period": period,
        "sin": [word(mpmath.sinpi(turn), mpmath) for turn in turns],
        "cos": [word(mpmath.cospi(turn), mpmath) for turn in turns],
    }


def word(exact: Any, mpmath: Any) -> str:
    """Return the eight hex digits of the nearest binary32 number."""
    if exact == 0:
        return "00000000"
    with mpmath.workprec(24):
        rounded = +exact
    return struct.pack(">f", float(rounded)).hex()


def main() -> None:
    """Write the file."""
    mpmath: Any = import_module("mpmath")
    mpmath.mp.prec = 200
    document = {
        "about": "sin and cos of 2 pi k / period, k from 0, correctly rounded to binary32: big-endian bits in hex",
        "tables": [table(field, period, mpmath) for field, period in PERIODS.items()],
    }
    text = json.dumps(document, indent=1)
    FILE.write_text(wrapped(text), "utf-8")


def wrapped(text: str) -> str:
    """Return the JSON text with ten words on a line."""
    lines: list[str] = []
    for line in text.splitlines():
        item = line.strip()
        last = lines[-1] if lines else ""
        both_words = item.startswith('"') and len(item.rstrip(",")) == 10 and last.lstrip().startswith('"')
        if both_words and last.endswith(",") and ":" not in last and last.count(",") < PER_LINE:
            lines[-1] = f"{last} {item}"
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
