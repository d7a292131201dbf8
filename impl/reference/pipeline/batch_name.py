"""The names of batch files: what is visible, in which order, and what is still being written."""

import re
from dataclasses import dataclass
from typing import Final

SEQ_DIGITS: Final = 6
TEMPORARY: Final = ".tmp-"
_VISIBLE: Final = re.compile(r"([0-9]+)-([0-9]+)-([0-9]+)(\.[a-z]+)")
_SPLIT: Final = re.compile(r"(?:train|val)(?:_rank(?:0|[1-9][0-9]*))?")


@dataclass(frozen=True, slots=True)
class BatchName:
    """Hold what a visible name says: `{timestamp}-{seq}-{nb}{ext}`, timestamp in UTC milliseconds."""

    timestamp: int
    seq: int
    num_batches: int
    text: str

    @property
    def order(self) -> tuple[int, int, bytes]:
        """The place in the queue: numbers, not digits, and the bytes of the name on a tie (ruling QA05)."""
        return (self.timestamp, self.seq, self.text.encode())


def parse_batch_name(text: str, ending: str) -> BatchName | None:
    """Read a visible name of one codec's ending; None for every other name (ruling QA16)."""
    found = _VISIBLE.fullmatch(text)
    if found is None or found[4] != ending:
        return None
    return BatchName(timestamp=int(found[1]), seq=int(found[2]), num_batches=int(found[3]), text=text)


def final_name(timestamp: int, seq: int, num_batches: int, ending: str) -> str:
    """Return the visible name of a finished file."""
    return f"{timestamp}-{seq:0{SEQ_DIGITS}}-{num_batches}{ending}"


def temporary_name(timestamp: int, seq: int, ending: str) -> str:
    """Return the name under which a file is written before it is renamed."""
    return f"{TEMPORARY}{timestamp}-{seq:0{SEQ_DIGITS}}{ending}"


def is_temporary(text: str) -> bool:
    """Tell whether a name is one that only its provider looks at."""
    return text.startswith(TEMPORARY)


def is_split(text: str) -> bool:
    """Tell whether a text names a split: train or val, or one rank's own folder of either."""
    return _SPLIT.fullmatch(text) is not None
