"""The three verdicts on a run, and the exit status that each one is (DESIGN 7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

CONFORMANT: Final = "CONFORMANT"
NOT_CONFORMANT: Final = "NOT CONFORMANT"
NO_JUDGEMENT: Final = "NO JUDGEMENT"
EXIT: Final = {CONFORMANT: 0, NOT_CONFORMANT: 1, NO_JUDGEMENT: 2}


def exit_status(verdicts: Iterable[str]) -> int:
    """The exit status of a run: the worst of its backends', and 2 where there was none."""
    return max((EXIT[verdict] for verdict in verdicts), default=EXIT[NO_JUDGEMENT])
