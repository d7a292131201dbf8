"""What a stream gives the model."""

from dataclasses import dataclass

from impl.types import uint32, uint64


@dataclass(frozen=True, slots=True)
class TokenChunk:
    """Hold consecutive tokens; `document_boundary` is for the Conductor, never for the model (S01, S06, S07)."""

    tokens: list[uint32]
    chunk_id: uint64
    document_boundary: bool
