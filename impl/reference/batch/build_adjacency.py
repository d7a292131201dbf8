"""Which of a sequence's rows refers to which."""

from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.build_graph import NULL, GraphRow
from impl.reference.batch.collect_rows import graph_fault
from impl.reference.batch.request import sequences_fault
from impl.reference.batch.tensors import tensor_of
from impl.types import Tensor, uint64

OPERATOR: Final = "Batch.BuildAdjacency"

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
        raise default_failure(fault, OPERATOR)
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
