"""Which position attends to which: the three masks at the level of cells."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.permutations import has_row_beyond, shapes_fault
from impl.reference.batch.tensors import matrices_of, rows_of, tensor_of
from impl.types import Tensor

OPERATOR: Final = "Batch.AttentionMasks"

Attends = Callable[[int, int], bool]


@dataclass(frozen=True, slots=True)
class Masks:
    """Hold the masks, bool [B, S, S]: mask[b, i, j] is true where position i attends to position j."""

    column_mask: Tensor
    outbound_mask: Tensor
    inbound_mask: Tensor


def attention_masks(*, column_ids: Tensor, seq_row_ids: Tensor, is_padding: Tensor, fk_adj: Tensor) -> Masks:
    """Return the column, outbound and inbound masks of each sequence; no padding attends or is attended to.

    Raises what Permutations raises (seed 004 §1, §3, §4; requirements B29, B30).
    """
    fault = shapes_fault([column_ids, seq_row_ids, is_padding], fk_adj)
    if fault is not None:
        raise default_failure(fault, OPERATOR)
    columns, rows, padding = rows_of(column_ids), rows_of(seq_row_ids), rows_of(is_padding)
    size = fk_adj.shape[1]
    if any(has_row_beyond(size, *sequence) for sequence in zip(rows, padding, strict=True)):
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    sequences = list(zip(columns, rows, padding, matrices_of(fk_adj), strict=True))
    length = column_ids.shape[1]
    return Masks(
        column_mask=mask_tensor([mask(p, same_column(c)) for c, _, p, _ in sequences], length),
        outbound_mask=mask_tensor([mask(p, outbound(r, adj)) for _, r, p, adj in sequences], length),
        inbound_mask=mask_tensor([mask(p, inbound(r, adj)) for _, r, p, adj in sequences], length),
    )


def same_column(column_ids: list[int]) -> Attends:
    """Return the rule of the column mask."""
    return lambda i, j: column_ids[i] == column_ids[j]


def outbound(rows: list[int], fk_adj: list[list[bool]]) -> Attends:
    """Return the rule of the outbound mask: the own row, and the rows it refers to."""
    return lambda i, j: rows[i] == rows[j] or fk_adj[rows[i]][rows[j]]


def inbound(rows: list[int], fk_adj: list[list[bool]]) -> Attends:
    """Return the rule of the inbound mask: the rows that refer to the own row."""
    return lambda i, j: fk_adj[rows[j]][rows[i]]


def mask(is_padding: list[bool], attends: Attends) -> list[bool]:
    """Return one sequence's mask in C order."""
    positions = range(len(is_padding))
    return [not is_padding[i] and not is_padding[j] and attends(i, j) for i in positions for j in positions]


def mask_tensor(masks: list[list[bool]], length: int) -> Tensor:
    """Return the masks of all sequences as a tensor."""
    return tensor_of("bool", (len(masks), length, length), [flag for flags in masks for flag in flags])
