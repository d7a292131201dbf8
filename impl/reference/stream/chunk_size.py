"""What the CMS frequencies say about a chunk size."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

Warning: TypeAlias = Literal["CHUNK_BELOW_MAX_FREQUENCY", "CHUNK_NOT_MULTIPLE"]


def is_schedule(cms_frequencies: Sequence[int]) -> bool:
    """Tell whether there is a level, and every level fires after some number of tokens."""
    return len(cms_frequencies) > 0 and min(cms_frequencies) > 0


def is_too_small(chunk_size: int, cms_frequencies: Sequence[int]) -> bool:
    """Tell whether not even level 0 fires within a chunk (requirement S10; ruling SA20)."""
    return chunk_size == 0 or chunk_size < cms_frequencies[0]


def warnings_of(chunk_size: int, cms_frequencies: Sequence[int]) -> list[Warning]:
    """Return what is legal and changes how the levels fire (requirements S11, S12)."""
    slowest = max(cms_frequencies)
    warnings: list[Warning] = []
    if chunk_size < slowest:
        warnings.append("CHUNK_BELOW_MAX_FREQUENCY")
    if chunk_size % slowest:
        warnings.append("CHUNK_NOT_MULTIPLE")
    return warnings
