"""What a consumer warns of: each kind is logged once and remembered."""

import logging
from typing import Final, Literal

Kind = Literal["BATCH_SIZE_MISMATCH", "NUM_BATCHES_MISMATCH", "NAME_IGNORED", "DELETE_FAILED", "QUARANTINE_FAILED"]

log: Final = logging.getLogger("tallystick.pipeline.consumer")


class Warnings:
    """Log the first warning of each kind."""

    def __init__(self) -> None:
        self._said: set[Kind] = set()

    def say(self, kind: Kind, sentence: str) -> None:
        """Warn, unless it was said before."""
        if kind not in self._said:
            self._said.add(kind)
            log.warning("%s", sentence)

    def said(self) -> list[Kind]:
        """Return the kinds that were said, by name."""
        return sorted(self._said)
