"""Orders of a sequence's positions that bring together what attends to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.collect_rows import NULL, GraphRow, graph_fault
from impl.reference.batch.request import MAX_SEQUENCE_LENGTH, sequences_fault
from impl.reference.batch.tensors import matrices_of, rows_of, tensor_of
from impl.types import Tensor, uint32, uint64

BUILD_ADJACENCY: Final = "Batch.BuildAdjacency"

Edges = set[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Hold fk_adj, bool [B, R, R]."""

    fk_adj: Tensor


def build_adjacency(*, rows: list[GraphRow], row_ids: list[list[uint64]]) -> Adjacency:
    """Return fk_adj[b, r1, r2], true where row r1 of sequence b has a foreign key to its row r2.

    R is the largest number of rows in a sequence. Raises DANGLING_KEY for a parent that does not exist, ROW_NOT_FOUND
    for a row that does not, CONTRACT_VIOLATION for a row that comes twice in a sequence, LIMIT_EXCEEDED for more than
    65,536 rows (seed 004 §4; rulings BA11, BA13, BA28).
    """
    fault = graph_fault(rows) or sequences_fault(len(rows), row_ids)
    if fault is not None:
        raise default_failure(fault, BUILD_ADJACENCY)
    return Adjacency(fk_adj=adjacency_tensor([edges_of(rows, ids) for ids in row_ids], largest(row_ids)))


def largest(row_ids: list[list[int]]) -> int:
    """Return R, the largest number of rows in a sequence (ruling BA13)."""
    return max((len(ids) for ids in row_ids), default=0)


def edges_of(rows: list[GraphRow], ids: list[int]) -> Edges:
    """Return the pairs (r1, r2) of a sequence's rows where r1 has a foreign key to r2 (requirements B20, B21)."""
    dense = {row: seq_row_id for seq_row_id, row in enumerate(ids)}
    edges: Edges = set()
    for row in ids:
        for parent in rows[row].parents:
            if parent != NULL and parent in dense:
                edges.add((dense[row], dense[parent]))
    return edges


def adjacency_tensor(edges: list[Edges], size: int) -> Tensor:
    """Return the matrices of all sequences, each padded with false to R by R (requirement B22)."""
    flags: list[bool] = []
    for sequence in edges:
        flags += [(r1, r2) in sequence for r1 in range(size) for r2 in range(size)]
    return tensor_of("bool", (len(edges), size, size), flags)


def symmetrise(rows: Iterable[int], edges: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    """Return the distinct neighbours of each row in the symmetrised graph without its diagonal (rulings BA24, BA26)."""
    neighbours: dict[int, set[int]] = {row: set() for row in rows}
    for r1, r2 in edges:
        if r1 != r2 and r1 in neighbours and r2 in neighbours:
            neighbours[r1].add(r2)
            neighbours[r2].add(r1)
    return neighbours


def reverse_cuthill_mckee(neighbours: Mapping[int, set[int]]) -> list[int]:
    """Return the rows in reverse Cuthill-McKee order.

    Each component starts at its row of least degree, then least id; neighbours follow by (degree, id); a row is marked
    when it is enqueued; the whole list is reversed (ruling BA25).
    """

    def by_degree(row: int) -> tuple[int, int]:
        return len(neighbours[row]), row

    order: list[int] = []
    marked: set[int] = set()
    for start in sorted(neighbours, key=by_degree):
        if start in marked:
            continue
        queue = [start]
        marked.add(start)
        while queue:
            row = queue.pop(0)
            order.append(row)
            for neighbour in sorted(neighbours[row], key=by_degree):
                if neighbour not in marked:
                    marked.add(neighbour)
                    queue.append(neighbour)
    return order[::-1]


PERMUTATIONS: Final = "Batch.Permutations"


@dataclass(frozen=True, slots=True)
class PositionOrders:
    """Hold the three permutations, uint16 [B, S], and the order of the rows that the last two come from.

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
        raise default_failure(fault, PERMUTATIONS)
    columns, rows, padding = rows_of(column_ids), rows_of(seq_row_ids), rows_of(is_padding)
    size = fk_adj.shape[1]
    if any(has_row_beyond(size, *sequence) for sequence in zip(rows, padding, strict=True)):
        raise default_failure("CONTRACT_VIOLATION", PERMUTATIONS)
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
