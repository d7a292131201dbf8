"""The laws of the batch family go red for steps that are wrong in one way."""

from __future__ import annotations

import copy

import numpy as np

from conformance.tests.law_breakers.spoilt import Memory, Native, Sin, answers, asks, changed

COLLECT, ADJACENCY, PERMUTATIONS = "Batch.CollectRows", "Batch.BuildAdjacency", "Batch.Permutations"
REMAP, BUILD, LOAD = "Batch.RemapText", "Batch.Build", "Batch.LoadDatabase"


def second_walk_of_the_first_seed(inputs: Native, memory: Memory) -> Native:
    return changed(inputs, seeds=[inputs["seeds"][0]] * len(inputs["seeds"]))


def last_row_a_hop_further(inputs: Native, result: Native, memory: Memory) -> Native:
    return changed(result, hops=[[*held[:-1], held[-1] + (len(held) > 1)] for held in result["hops"]])


def strict_like_children(inputs: Native, memory: Memory) -> Native:
    return changed(inputs, config=changed(inputs["config"], cutoff="children"))


def first_position_twice(inputs: Native, result: Native, memory: Memory) -> Native:
    perm = result["in_perm"].copy()
    perm[:, -1] = perm[:, 0]
    return changed(result, in_perm=perm)


def padding_first(inputs: Native, result: Native, memory: Memory) -> Native:
    return changed(result, out_perm=result["out_perm"][:, ::-1])


def columns_as_they_stand(inputs: Native, result: Native, memory: Memory) -> Native:
    shape = result["col_perm"].shape
    return changed(result, col_perm=np.broadcast_to(np.arange(shape[1], dtype=np.uint16), shape).copy())


def ends_before_the_middle(inputs: Native, result: Native, memory: Memory) -> Native:
    perm = result["out_perm"]
    return changed(result, out_perm=np.concatenate([perm[:, ::2], perm[:, 1::2]], axis=1))


def rows_rounded_up(inputs: Native, result: Native, memory: Memory) -> Native:
    adjacency = result["fk_adj"]
    spare = -adjacency.shape[1] % 16
    return changed(result, fk_adj=np.pad(adjacency, ((0, 0), (0, spare), (0, spare))))


def no_hops(inputs: Native, memory: Memory) -> Native:
    return changed(inputs, config=changed(inputs["config"], max_hops=0))


def last_sequence_without_keys(inputs: Native, result: Native, memory: Memory) -> Native:
    adjacency = result["fk_adj"].copy()
    adjacency[1:] = False
    return changed(result, fk_adj=adjacency)


def rows_counted_in_the_database(inputs: Native, result: Native, memory: Memory) -> Native:
    count = sum(table["row_count"] for table in inputs["database"]["tables"])
    return changed(result, seq_row_ids=result["seq_row_ids"] + np.uint16(count))


def nothing_null(inputs: Native, memory: Memory) -> Native:
    shown = copy.deepcopy(inputs)
    for table in shown["database"]["tables"]:
        for column in table["columns"]:
            if column["semantic_type"] in ("numerical", "boolean"):
                column["is_null"][:] = False
    return shown


def embeddings_backwards(inputs: Native, result: Native, memory: Memory) -> Native:
    return changed(result, text_batch_embeddings=result["text_batch_embeddings"][::-1])


def width_of_seeded_children(inputs: Native, memory: Memory) -> Native:
    config = inputs["config"]
    return changed(inputs, config=changed(config, child_width=1)) if "children_seed" in config else inputs


def fixed_rows_as_a_limit_alone(inputs: Native, memory: Memory) -> Native:
    config = dict(inputs["config"])
    rows = config.pop("fixed_rows", None)
    limits = {} if rows is None else {"max_rows": min(rows, config.get("max_rows", rows))}
    return changed(inputs, config={**config, **limits})


def keys_lost_where_rows_are_fixed(inputs: Native, result: Native, memory: Memory) -> Native:
    adjacency = result["fk_adj"]
    return changed(result, fk_adj=np.zeros_like(adjacency) if "fixed_rows" in inputs["config"] else adjacency)


def rows_counted_by_calls(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    tables = [{**table, "row_count": memory["calls"]} for table in result["database"]["tables"]]
    return {"database": {**result["database"], "tables": tables}}


def keys_that_dangle_kept(inputs: Native, memory: Memory) -> Native:
    kept = {table: dict.fromkeys(keys, "null") for table, keys in inputs["dangling"].items()}
    return changed(inputs, dangling=kept)


SINS: list[Sin] = [
    asks("walk-from-row-to-row", "one seed for all", COLLECT, second_walk_of_the_first_seed, "asked together"),
    answers("walk-from-row-to-row", "a hop too far", COLLECT, last_row_a_hop_further, "one hop less"),
    asks("walk-from-row-to-row", "no strict cutoff", COLLECT, strict_like_children, "after the cutoff"),
    asks("seed-of-children-orders-alone", "one child each", COLLECT, width_of_seeded_children, "in any order"),
    answers("orders-with-padding-last", "a position twice", PERMUTATIONS, first_position_twice, "second time"),
    answers("orders-with-padding-last", "padding first", PERMUTATIONS, padding_first, "is not last"),
    answers("blocks-by-column", "no order", PERMUTATIONS, columns_as_they_stand, "no block diagonal"),
    answers("bandwidth-not-worse", "evens, then odds", PERMUTATIONS, ends_before_the_middle, "bandwidth"),
    answers("sizes-of-the-seed", "R rounded up", ADJACENCY, rows_rounded_up, "fk_adj in bytes"),
    asks("batch-of-its-steps", "no hops", BUILD, no_hops, "against that of its step"),
    answers("sequences-on-their-own", "keys of the first alone", BUILD, last_sequence_without_keys, "fk_adj"),
    asks("static-shapes", "no shape", BUILD, fixed_rows_as_a_limit_alone, "fk_adj of"),
    answers("static-shapes", "no keys", BUILD, keys_lost_where_rows_are_fixed, "fk_adj of"),
    answers("no-global-numbers", "rows of the database", BUILD, rows_counted_in_the_database, "seq_row_ids"),
    asks("hidden-truth", "NULL ignored", BUILD, nothing_null, "after the NULL"),
    answers("database-of-any-form", "counts calls", LOAD, rows_counted_by_calls, "the same tables in file 1"),
    asks("dropped-rows-were-never-there", "nothing dropped", LOAD, keys_that_dangle_kept, "with the policies"),
    answers("texts-of-the-table", "backwards", REMAP, embeddings_backwards, "the gathered rows"),
]
