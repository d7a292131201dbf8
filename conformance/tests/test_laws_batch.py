"""The laws of the batch family go red for steps that are wrong in one way."""

from __future__ import annotations

import copy

import numpy as np

from conformance.tests.spoilt_backend import Memory, Native, Sin, Wrong, breaks, changed, each_of

COLLECT, ADJACENCY, PERMUTATIONS = "Batch.CollectRows", "Batch.BuildAdjacency", "Batch.Permutations"
REMAP, BUILD = "Batch.RemapText", "Batch.Build"


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


SINS: list[Sin] = [
    (
        "walk-from-row-to-row",
        "one seed for all",
        Wrong(second_walk_of_the_first_seed, operator=COLLECT),
        "asked together",
    ),
    ("walk-from-row-to-row", "a hop too far", Wrong(answer=last_row_a_hop_further, operator=COLLECT), "one hop less"),
    ("walk-from-row-to-row", "no strict cutoff", Wrong(strict_like_children, operator=COLLECT), "after the cutoff"),
    (
        "orders-with-padding-last",
        "a position twice",
        Wrong(answer=first_position_twice, operator=PERMUTATIONS),
        "second time",
    ),
    (
        "orders-with-padding-last",
        "padding first",
        Wrong(answer=padding_first, operator=PERMUTATIONS),
        "does not stand last",
    ),
    ("blocks-by-column", "no order", Wrong(answer=columns_as_they_stand, operator=PERMUTATIONS), "no block diagonal"),
    (
        "bandwidth-not-worse",
        "evens, then odds",
        Wrong(answer=ends_before_the_middle, operator=PERMUTATIONS),
        "bandwidth",
    ),
    ("sizes-of-the-seed", "R rounded up", Wrong(answer=rows_rounded_up, operator=ADJACENCY), "fk_adj in bytes"),
    ("batch-of-its-steps", "no hops", Wrong(no_hops, operator=BUILD), "against that of its step"),
    (
        "sequences-on-their-own",
        "keys of the first alone",
        Wrong(answer=last_sequence_without_keys, operator=BUILD),
        "fk_adj",
    ),
    (
        "no-global-numbers",
        "rows of the database",
        Wrong(answer=rows_counted_in_the_database, operator=BUILD),
        "seq_row_ids",
    ),
    ("hidden-truth", "NULL ignored", Wrong(nothing_null, operator=BUILD), "behind the NULL"),
    ("texts-of-the-table", "backwards", Wrong(answer=embeddings_backwards, operator=REMAP), "the gathered rows"),
]


@each_of(SINS)
def test_a_wrong_backend_breaks_the_law(law: str, wrong: Wrong, said: str) -> None:
    assert breaks(law, wrong, said)
