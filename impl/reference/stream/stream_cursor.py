"""Where a stream stands: all that is needed to go on as if nothing had happened."""

from dataclasses import asdict, dataclass, fields
from typing import Final

from impl.types import uint32, uint64

MAX_UINT64: Final = 2**64 - 1
MAX_UINT32: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class StreamCursor:
    """Hold the place of one rank between two calls (seed 003 §Coupling; rulings SA01, SA02, SA12, SA13, SA18).

    `dataset_index` is where the next round begins, `chunk_id` the last one served, `last_chunk_start` and
    `last_chunk_len` say which tokens `content_hash` is of.
    """

    dataset_index: uint64
    chunk_id: uint64
    pulse_id: uint64
    content_hash: uint64
    last_chunk_start: uint64
    last_chunk_len: uint64
    rank: uint32
    world_size: uint32
    rng_state: bytes | None = None
    total_tokens: uint64 | None = None


OPTIONAL: Final = frozenset({"rng_state", "total_tokens"})
SMALL: Final = frozenset({"rank", "world_size"})


def cursor_item(cursor: StreamCursor) -> dict[str, object]:
    """Return the cursor as a map, without what it does not have."""
    return {name: content for name, content in asdict(cursor).items() if content is not None}


def read_cursor(item: object) -> StreamCursor | None:
    """Return the cursor that a map holds, None for anything that is none."""
    if not isinstance(item, dict):
        return None
    names = {field.name for field in fields(StreamCursor)}
    if not names - OPTIONAL <= item.keys() <= names:
        return None
    if not all(_is_typed(name, content) for name, content in item.items()):
        return None
    return StreamCursor(**item)


def _is_typed(name: str, content: object) -> bool:
    if name == "rng_state":
        return isinstance(content, bytes)
    most = MAX_UINT32 if name in SMALL else MAX_UINT64
    return type(content) is int and 0 <= content <= most
