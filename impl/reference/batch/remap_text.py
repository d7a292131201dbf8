"""The texts of a batch: each embedding once, under a dense id."""

from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.database import CODES
from impl.reference.batch.tensors import elements, tensor_of
from impl.types import Tensor

OPERATOR: Final = "Batch.RemapText"
BYTES_PER_NUMBER: Final = 2  # float16


@dataclass(frozen=True, slots=True)
class RemappedText:
    """Hold the batch-local ids, uint32 [B, S], and the embeddings they index, float16 [U, D_t]."""

    text_embed_ids: Tensor
    text_batch_embeddings: Tensor


def remap_text(
    *, text_embed_ids: Tensor, semantic_types: Tensor, is_null: Tensor, is_padding: Tensor, text_embeddings: Tensor
) -> RemappedText:
    """Return batch-local ids for the global text ids of a batch, and the rows of the text table they represent.

    Ids are dense, by first appearance over sequences and positions among the text cells that are neither null nor
    padding; every other position has 0. Raises CONTRACT_VIOLATION where the shapes do not fit together or an id is
    outside the table (seed 004 §6; rulings BA20, BA21, BA22).
    """
    cells = [text_embed_ids, semantic_types, is_null, is_padding]
    if any(tensor.shape != text_embed_ids.shape for tensor in cells) or len(text_embed_ids.shape) != 2:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    if len(text_embeddings.shape) != 2:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    positions = zip(*(elements(tensor) for tensor in cells), strict=True)
    texts = [global_id if is_text(code, null, padded) else None for global_id, code, null, padded in positions]
    if any(text is not None and text >= text_embeddings.shape[0] for text in texts):
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    local = local_ids(texts)
    return RemappedText(
        text_embed_ids=tensor_of("uint32", text_embed_ids.shape, [0 if t is None else local[t] for t in texts]),
        text_batch_embeddings=gather(text_embeddings, list(local)),
    )


def is_text(semantic_type: int, is_null: bool, is_padding: bool) -> bool:
    """Return whether a position refers to a text."""
    return semantic_type == CODES["text"] and not is_null and not is_padding


def local_ids(texts: list[int | None]) -> dict[int, int]:
    """Return the dense id of each global text, in the order of first appearance (ruling BA20)."""
    local: dict[int, int] = {}
    for text in texts:
        if text is not None and text not in local:
            local[text] = len(local)
    return local


def gather(table: Tensor, texts: list[int]) -> Tensor:
    """Return rows of a float16 table, byte for byte (requirement B31)."""
    width = table.shape[1]
    stride = width * BYTES_PER_NUMBER
    rows = [table.data[text * stride : (text + 1) * stride] for text in texts]
    return Tensor("float16", (len(texts), width), b"".join(rows))
