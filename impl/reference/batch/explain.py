"""Why a row has the id that it has, in lines for a human reader."""

from collections.abc import Mapping, Sequence
from typing import Any

from impl.reference.batch.collect_rows import NULL, GraphRow, children_within, is_before_cutoff, ordered_children, walk
from impl.reference.batch.request import Config, GraphSeed

FIELDS = ("row_ids", "hops")


def explain_collect_rows(arguments: Mapping[str, Any], path: str, index: int | None) -> list[str]:
    """Derive one element of row_ids[b] or hops[b]: which earlier rows lead to it, and why it was not earlier."""
    rows: list[GraphRow] = arguments["rows"]
    config: Config = arguments["config"]
    name, _, place = path.rstrip("]").partition("[")
    seeds: list[GraphSeed] = arguments["seeds"]
    if name not in FIELDS or index is None or not place.isdigit() or int(place) >= len(seeds):
        return [f"{path}: only elements of row_ids[b] and hops[b] are derived"]
    seed = seeds[int(place)]
    found = walk(rows, ordered_children(rows, config), seed, config)
    order = list(found)
    lines = [
        f"seed row {seed.row}, {'no time' if seed.time is None else f'time {seed.time}'}, cutoff {config.cutoff}",
        f"limits: S = {config.sequence_length}, H = {shown(config.max_hops)}, "
        f"rows = {shown(config.max_rows)}, w = {shown(config.child_width)}{variants(config)}",
        f"rows before: {order[:index]}, with {sum(rows[row].cells for row in order[:index])} cells",
    ]
    if index >= len(order):
        return [*lines, f"the walk ends with {len(order)} rows and {sum(rows[row].cells for row in order)} cells"]
    row = order[index]
    if index == 0:
        return [*lines, f"row {row} is the seed row: id 0, 0 hops"]
    return [*lines, *links(rows, order[:index], row, seed, config), f"row {row} gets id {index}, {found[row]} hops"]


def links(rows: list[GraphRow], before: Sequence[int], row: int, seed: GraphSeed, config: Config) -> list[str]:
    """Return a line for each earlier row that has the row in its neighbourhood."""
    children = ordered_children(rows, config)
    lines: list[str] = []
    for earlier_id, earlier in enumerate(before):
        for key, parent in enumerate(rows[earlier].parents):
            if parent == row != NULL:
                kept = config.cutoff == "children" or is_before_cutoff(rows[row], seed)
                verdict = "" if kept else ": after the cutoff"
                lines.append(f"key {key} of id {earlier_id} (row {earlier}) refers to row {row}{verdict}")
        if row in children[earlier]:
            ids = dict.fromkeys(before[: earlier_id + 1], 0)
            kept = row in children_within(rows, children[earlier], ids, seed, config)
            lines.append(f"row {row} is a child of id {earlier_id} (row {earlier}){'' if kept else ': not kept'}")
    return lines


def variants(config: Config) -> str:
    """Return what is given of the variants, nothing where the source's rule holds."""
    given = {"children_seed": config.children_seed, "fixed_rows": config.fixed_rows}
    return "".join(f", {name} = {value}" for name, value in given.items() if value is not None)


def shown(limit: int | None) -> str:
    """Return a limit as text."""
    return "none" if limit is None else str(limit)
