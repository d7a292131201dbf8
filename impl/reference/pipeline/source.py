"""Where the files of a split come from, and what is remembered about it."""

from dataclasses import dataclass
from typing import Protocol

from impl.reference.pipeline.loaded_file import LoadedFile


@dataclass(slots=True)
class Counters:
    """Count what happened to the files of one split since the consumer was opened."""

    files_loaded: int = 0
    files_finished: int = 0
    files_quarantined: int = 0


class Source(Protocol):
    """Give the files of one split, one after the other."""

    counters: Counters

    def ready(self) -> bool:
        """Tell whether `take` would give a file; that file may be kept in memory, and changes nothing in the order."""

    def take(self) -> LoadedFile | None:
        """Give the next file, None where there is none yet."""

    def finish(self, file: LoadedFile) -> None:
        """Let go of a file whose batches were all handed out."""

    def tidy(self) -> None:
        """Try again what could not be done about earlier files."""

    def reset(self) -> bool:
        """Start over; tell whether the file in hand is to be let go."""

    def backlog(self) -> int:
        """Count the files that stand there."""

    def held(self, in_hand: LoadedFile | None) -> int:
        """Count the files in memory, the one in hand included."""

    def undeleted(self) -> int:
        """Count the files that were handed out and could not be deleted."""
