"""How often each CMS level fires within a chunk."""

from dataclasses import dataclass
from typing import Final, Literal

from impl.failure import default_failure
from impl.reference.stream.chunk_size import is_schedule
from impl.types import uint64

OPERATOR: Final = "Stream.FiringCounts"
MAX_CLOCK: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class FiringCounts:
    """Hold one count for each level, in the order of the frequencies."""

    counts: list[uint64]


def firing_counts(
    *,
    clock: uint64,
    chunk_size: uint64,
    cms_frequencies: list[uint64],
    variant: Literal["token_clock", "step"] | None = None,
) -> FiringCounts:
    """Count the firings of each level in a chunk (requirements S13, S14; ruling SA20).

    token_clock: `clock` is the number of tokens since open, and level C fires after every C-th. step: `clock` is the
    step, and a level counts 1 iff the step is a multiple of C or the chunk has C tokens or more. No level or a level 0
    is CONTRACT_VIOLATION, an empty chunk CHUNK_TOO_SMALL, a clock beyond 64 bits COUNTER_OVERFLOW.
    """
    if not is_schedule(cms_frequencies):
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    if chunk_size == 0:
        raise default_failure("CHUNK_TOO_SMALL", OPERATOR)
    if variant == "step":
        return FiringCounts([1 if clock % c == 0 or chunk_size >= c else 0 for c in cms_frequencies])
    if clock + chunk_size > MAX_CLOCK:
        raise default_failure("COUNTER_OVERFLOW", OPERATOR)
    return FiringCounts([(clock + chunk_size) // c - clock // c for c in cms_frequencies])
