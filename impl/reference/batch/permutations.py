"""Orders of a sequence's positions that bring together what attends to each other."""

from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.build_adjacency import Edges
from impl.reference.batch.cuthill_mckee import reverse_cuthill_mckee, symmetrise
from impl.reference.batch.request import MAX_SEQUENCE_LENGTH
from impl.reference.batch.tensors import matrices_of, rows_of, tensor_of
from impl.types import Tensor, uint32

OPERATOR: Final = "Batch.Permutations"


@dataclass(frozen=True, slots=True)
class PositionOrders:
    """Hold the three permutations, uint16 [B, S], and the order of the rows behind the last two.

    A permutation is a gather: position i of the permuted sequence holds position perm[i] (ruling BA27).
    """

    col_perm: Tensor
    out_perm: Tensor
    in_perm: Tensor
    row_order: list[list[uint32]]


@dataclass(frozen=True, slots=True)
class Orders:
    """Hold the orders of one sequence."""

    col: list[int]
    out: list[int]
    into: list[int]
    rows: list[int]


def permutations(*, column_ids: Tensor, seq_row_ids: Tensor, is_padding: Tensor, fk_adj: Tensor) -> PositionOrders:
    """Return the orders of each sequence's positions by column and by row.

    Raises CONTRACT_VIOLATION where the shapes [B, S] and [B, R, R] do not fit together or a position that is not
    padding has a row from R on, LIMIT_EXCEEDED for S or R above 65,536 (seed 004 §4; rulings BA23 to BA28).
    """
    fault = shapes_fault([column_ids, seq_row_ids, is_padding], fk_adj)
    if fault is not None:
        raise default_failure(fault, OPERATOR)
    columns, rows, padding = rows_of(column_ids), rows_of(seq_row_ids), rows_of(is_padding)
    size = fk_adj.shape[1]
    if any(has_row_beyond(size, *sequence) for sequence in zip(rows, padding, strict=True)):
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    edges = [edges_in(matrix) for matrix in matrices_of(fk_adj)]
    return order_tensors([orders(*s) for s in zip(columns, rows, padding, edges, strict=True)], column_ids.shape[1])


def shapes_fault(cells: list[Tensor], fk_adj: Tensor) -> str | None:
    """Return the code that refuses the shapes, None where they are accepted."""
    shape = cells[0].shape
    if len(shape) != 2 or any(tensor.shape != shape for tensor in cells):
        return "CONTRACT_VIOLATION"
    if len(fk_adj.shape) != 3 or fk_adj.shape[0] != shape[0] or fk_adj.shape[1] != fk_adj.shape[2]:
        return "CONTRACT_VIOLATION"
    if shape[1] > MAX_SEQUENCE_LENGTH or fk_adj.shape[1] > MAX_SEQUENCE_LENGTH:
        return "LIMIT_EXCEEDED"
    return None


def has_row_beyond(size: int, rows: list[int], padding: list[bool]) -> bool:
    """Return whether a position that is not padding has a row outside fk_adj."""
    return any(row >= size and not padded for row, padded in zip(rows, padding, strict=True))


def edges_in(matrix: list[list[bool]]) -> Edges:
    """Return the true places of a matrix."""
    return {(r1, r2) for r1, line in enumerate(matrix) for r2, flag in enumerate(line) if flag}


def orders(column_ids: list[int], seq_row_ids: list[int], is_padding: list[bool], edges: Edges) -> Orders:
    """Return the orders of one sequence; outbound and inbound share the symmetrised graph (ruling BA24)."""
    owners = {row for row, padded in zip(seq_row_ids, is_padding, strict=True) if not padded}
    rows = reverse_cuthill_mckee(symmetrise(owners, edges))
    by_row = group_by_row(seq_row_ids, is_padding, rows)
    return Orders(col=group_by_column(column_ids, is_padding), out=by_row, into=by_row, rows=rows)


def group_by_column(column_ids: list[int], is_padding: list[bool]) -> list[int]:
    """Return the positions by column, then position, padding last (ruling BA23)."""
    return sorted(range(len(column_ids)), key=lambda i: (is_padding[i], column_ids[i], i))


def group_by_row(seq_row_ids: list[int], is_padding: list[bool], row_order: list[int]) -> list[int]:
    """Return the positions by the place of their row, then position, padding last (ruling BA27)."""
    rank = {row: place for place, row in enumerate(row_order)}
    last = len(row_order)
    return sorted(
        range(len(seq_row_ids)),
        key=lambda i: (last if is_padding[i] else rank[seq_row_ids[i]], i),
    )


def order_tensors(sequences: list[Orders], sequence_length: int) -> PositionOrders:
    """Return the permutations of all sequences as tensors."""
    shape = (len(sequences), sequence_length)
    return PositionOrders(
        col_perm=tensor_of("uint16", shape, [i for sequence in sequences for i in sequence.col]),
        out_perm=tensor_of("uint16", shape, [i for sequence in sequences for i in sequence.out]),
        in_perm=tensor_of("uint16", shape, [i for sequence in sequences for i in sequence.into]),
        row_order=[sequence.rows for sequence in sequences],
    )
