"""Schema versions: MAJOR.MINOR.PATCH, compared as numbers."""

import re
from dataclasses import dataclass
from typing import Final

# Nineteen digits always fit in 64 bits.
NUMBER: Final = "(0|[1-9][0-9]{0,18})"
FORM: Final = re.compile(rf"{NUMBER}\.{NUMBER}\.{NUMBER}")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Hold the three numbers of a version; the order is numerical (ruling CA14)."""

    major: int
    minor: int
    patch: int


def parse_version(text: str) -> Version | None:
    """Return the version of a text without leading zeros, None for any other text (ruling CA14)."""
    match = FORM.fullmatch(text)
    if match is None:
        return None
    return Version(int(match[1]), int(match[2]), int(match[3]))
