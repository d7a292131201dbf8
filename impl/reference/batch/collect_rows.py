"""The walk from a seed row over foreign keys, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.child_order import by_hash
from impl.reference.batch.database import Database, StoredTable, database_fault, stored_tables
from impl.reference.batch.request import MAX_ROWS, Config, GraphSeed, config_fault
from impl.types import int64, uint32, uint64

BUILD_GRAPH: Final = "Batch.BuildGraph"
NULL: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRow:
    """Hold one row: the RowIdx each of its foreign keys refers to, -1 for NULL; its time; its number of cells."""

    parents: list[int64]
    time: int64 | None = None
    cells: uint32


@dataclass(frozen=True, slots=True)
class Graph:
    """Hold the rows of a database by RowIdx."""

    rows: list[GraphRow]


def build_graph(*, database: Database) -> Graph:
    """Return every row by RowIdx with its keys, its time in microseconds UTC and its number of cells.

    Raises UNKNOWN_TABLE, CONTRACT_VIOLATION, NON_FINITE or DANGLING_KEY for a faulty database (seed 004 §4; rulings
    BA02, BA08).
    """
    fault = database_fault(database)
    if fault is not None:
        raise default_failure(fault, BUILD_GRAPH)
    return Graph(rows=graph_rows(stored_tables(database)))


def graph_rows(tables: list[StoredTable]) -> list[GraphRow]:
    """Return the rows of all tables by RowIdx."""
    rows: list[GraphRow] = []
    for table in tables:
        cells = len(table.cell_columns())
        for row in range(table.row_count):
            keys = [parents[row] for parents in table.parents]
            rows.append(
                GraphRow(
                    parents=[NULL if key is None else key for key in keys],
                    time=table.times[row],
                    cells=cells,
                )
            )
    return rows


COLLECT_ROWS: Final = "Batch.CollectRows"


@dataclass(frozen=True, slots=True)
class CollectedRows:
    """Hold for each sequence the RowIdx of its rows, by their dense ids, and the hops of each from the seed."""

    row_ids: list[list[uint64]]
    hops: list[list[uint32]]


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold a row that waits in the frontier."""

    row: int
    hops: int
    via_parent: bool


def collect_rows(*, rows: list[GraphRow], seeds: list[GraphSeed], config: Config) -> CollectedRows:
    """Return the rows that each seed reaches, in the order of their ids; the seed row has id 0.

    Raises CONTRACT_VIOLATION for a sequence length, a max_rows or a fixed_rows of 0, LIMIT_EXCEEDED for a sequence
    length, a fixed_rows or a number of rows above 65,536, DANGLING_KEY for a parent that does not exist, ROW_NOT_FOUND
    for a seed that does not (seed 004 intro, §1, §6; rulings BA01 to BA12, BA28, BA36, BA37).
    """
    fault = config_fault(config) or graph_fault(rows)
    if fault is not None:
        raise default_failure(fault, COLLECT_ROWS)
    if any(seed.row >= len(rows) for seed in seeds):
        raise default_failure("ROW_NOT_FOUND", COLLECT_ROWS)
    children = ordered_children(rows, config)
    walks = [walk(rows, children, seed, config) for seed in seeds]
    if any(len(hops) > MAX_ROWS for hops in walks):
        raise default_failure("LIMIT_EXCEEDED", COLLECT_ROWS)
    return CollectedRows(
        row_ids=[list(hops) for hops in walks],
        hops=[list(hops.values()) for hops in walks],
    )


def graph_fault(rows: list[GraphRow]) -> str | None:
    """Return DANGLING_KEY where a parent does not exist."""
    if any(not NULL <= parent < len(rows) for row in rows for parent in row.parents):
        return "DANGLING_KEY"
    return None


def children_of(rows: list[GraphRow]) -> list[list[int]]:
    """Return for each row the rows that refer to it, each once, by ascending RowIdx (ruling BA02)."""
    children: list[list[int]] = [[] for _ in rows]
    for child, row in enumerate(rows):
        for parent in set(row.parents) - {NULL}:
            children[parent].append(child)
    return children


def ordered_children(rows: list[GraphRow], config: Config) -> list[list[int]]:
    """Return for each row its children in the order in which they are taken: by RowIdx, or by hash (ruling BA36)."""
    children = children_of(rows)
    if config.children_seed is None:
        return children
    seed = config.children_seed
    return [by_hash(found, parent, len(rows), seed) for parent, found in enumerate(children)]


def walk(rows: list[GraphRow], children: list[list[int]], seed: GraphSeed, config: Config) -> Mapping[int, int]:
    """Return the hops of each collected row, in the order of the ids (rulings BA01, BA04, BA05, BA10, BA12, BA37)."""
    ids: dict[int, int] = {}
    cells = 0
    frontier = [Entry(seed.row, 0, via_parent=False)]
    while frontier:
        if cells >= config.sequence_length:
            break
        entry = pop(frontier)
        if entry.row in ids:
            continue
        if len(ids) == config.max_rows:
            break
        if len(ids) == config.fixed_rows:
            break
        ids[entry.row] = entry.hops
        cells += rows[entry.row].cells
        hops = entry.hops + 1
        if config.max_hops is not None and hops > config.max_hops:
            continue
        for parent in parents_within(rows, entry.row, seed, config):
            frontier.append(Entry(parent, hops, via_parent=True))
        for child in children_within(rows, children[entry.row], ids, seed, config):
            frontier.append(Entry(child, hops, via_parent=False))
    return ids


def pop(frontier: list[Entry]) -> Entry:
    """Take the earliest entry that came over a parent, else the front of the queue (ruling BA01)."""
    for place, entry in enumerate(frontier):
        if entry.via_parent:
            return frontier.pop(place)
    return frontier.pop(0)


def parents_within(rows: list[GraphRow], row: int, seed: GraphSeed, config: Config) -> list[int]:
    """Return the parents of a row by foreign key; only `strict` looks at their time (ruling BA06)."""
    parents = [parent for parent in rows[row].parents if parent != NULL]
    if config.cutoff == "strict":
        return [parent for parent in parents if is_before_cutoff(rows[parent], seed)]
    return parents


def children_within(
    rows: list[GraphRow], children: list[int], ids: Mapping[int, int], seed: GraphSeed, config: Config
) -> list[int]:
    """Return the first children, in their order, that have no id yet and pass the cutoff (ruling BA03)."""
    kept = [child for child in children if child not in ids and is_before_cutoff(rows[child], seed)]
    return kept[: config.child_width]


def is_before_cutoff(row: GraphRow, seed: GraphSeed) -> bool:
    """Return whether a row is seen at the seed's time: a time up to it, or none at all (rulings BA07, BA08)."""
    if seed.time is None or row.time is None:
        return True
    return row.time <= seed.time
