"""What a caller says about a source, and what of it is refused before anything is opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from impl.reference.stream.token_file import DType
from impl.reference.stream.token_source import OnEnd
from impl.types import bytes16, uint32, uint64


@dataclass(frozen=True, slots=True)
class PartDeclaration:
    """Declare a source that may stand within another one."""

    kind: Literal["file", "tokens"]
    path: str | None = None
    dtype: DType | None = None
    tokens: list[uint32] | None = None
    boundaries: list[uint64] | None = None
    on_end: OnEnd | None = None


@dataclass(frozen=True, slots=True)
class SourceDeclaration:
    """Declare a source; `on_end` is `wrap` where it is absent (ruling SA04)."""

    kind: Literal["file", "tokens", "interleaved", "interactive", "shuffled"]
    seed: bytes16 | None = None
    path: str | None = None
    dtype: DType | None = None
    tokens: list[uint32] | None = None
    boundaries: list[uint64] | None = None
    on_end: OnEnd | None = None
    parts: list[PartDeclaration] | None = None
    pattern: list[uint32] | None = None


AnyDeclaration: TypeAlias = SourceDeclaration | PartDeclaration


def is_complete(source: SourceDeclaration) -> bool:
    """Tell whether a source has what its kind needs, and every part of it too."""
    parts = source.parts or []
    match source.kind:
        case "interleaved":
            if not parts or not source.pattern or max(source.pattern) >= len(parts):
                return False
        case "shuffled":
            if len(parts) != 1 or source.seed is None:
                return False
        case "interactive":
            # Nobody can say again what was said, and its boundaries come with it.
            return source.on_end == "stop" and not source.boundaries
        case _:
            return _has_data(source)
    return all(_has_data(part) for part in parts)


def _has_data(source: AnyDeclaration) -> bool:
    if source.kind == "file":
        return source.path is not None and _is_sorted(source.boundaries or [])
    return source.tokens is not None and _is_sorted(source.boundaries or [])


def _is_sorted(boundaries: Sequence[int]) -> bool:
    return all(earlier <= later for earlier, later in pairwise(boundaries))
