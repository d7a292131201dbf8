"""Where a run stands in a dataset."""

from dataclasses import dataclass

from impl.types import uint64


@dataclass(frozen=True, slots=True)
class Cursor:
    """Name the epoch and the next global virtual position in it (seed 000 §I.A)."""

    epoch: uint64
    global_index: uint64
