"""Context streams: sources of tokens, chunks for each rank, and the cursor that is saved with the model."""

from impl.library.stream import ContextStream, Model, Restored, firing_counts, restore_checkpoint, save_checkpoint
from impl.library.token_chunk import Targets, TokenChunk, next_token_targets
from impl.library.token_sources import (
    InteractiveTokens,
    InterleavedTokens,
    IteratorTokens,
    ListedTokens,
    ShuffledTokens,
    TokenFile,
    huggingface_documents,
    prefetched,
)
from impl.reference.stream.context_stream import StreamCursor, warnings_of
from impl.reference.stream.token_sources import TokenSource

__all__ = [
    "ContextStream",
    "InteractiveTokens",
    "InterleavedTokens",
    "IteratorTokens",
    "ListedTokens",
    "Model",
    "Restored",
    "ShuffledTokens",
    "StreamCursor",
    "Targets",
    "TokenChunk",
    "TokenFile",
    "TokenSource",
    "firing_counts",
    "huggingface_documents",
    "next_token_targets",
    "prefetched",
    "restore_checkpoint",
    "save_checkpoint",
    "warnings_of",
]
