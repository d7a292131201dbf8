"""The laws of the seeded helpers go red for helpers that are wrong in one way."""

from __future__ import annotations

from conformance.tests.law_breakers.spoilt import Memory, Native, Sin, answers, asks, changed

PERMUTE = "UML_OS.Data.SeededBlockPermute_v1"
MAP = "UML_OS.Data.SeededIntraBlockMap_v1"


def first_block_twice(inputs: Native, result: Native, memory: Memory) -> Native:
    order = result["block_order"]
    return {"block_order": [*order[:-1], order[0]]}


def order_of_another_seed_the_second_time(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    return {"block_order": result["block_order"][:: -1 if memory["calls"] > 8 else 1]}


def first_two_positions_swapped(inputs: Native, memory: Memory) -> Native:
    length = min(inputs["block_size"], inputs["cardinality"] - inputs["block_id"] * inputs["block_size"])
    swapped = {0: 1, 1: 0}.get(inputs["local_pos"], inputs["local_pos"])
    return changed(inputs, local_pos=swapped) if length > 2 else inputs


SINS: list[Sin] = [
    answers("block-order-bijection", "one block twice", PERMUTE, first_block_twice, "second time"),
    asks(
        "block-order-bijection",
        "no seed",
        PERMUTE,
        lambda inputs, memory: changed(inputs, epoch_seed=bytes(16)),
        "in the same order",
    ),
    answers("block-order-bijection", "a memory", PERMUTE, order_of_another_seed_the_second_time, "two block orders"),
    asks(
        "block-bijection",
        "the full block's modulus in the tail",
        MAP,
        lambda i, memory: changed(i, cardinality=(i["block_id"] + 1) * i["block_size"]),
        "is outside",
    ),
    asks(
        "block-bijection",
        "the first position left out",
        MAP,
        lambda i, m: changed(i, local_pos=max(i["local_pos"], min(1, i["block_size"] - 1))),
        "second time",
    ),
    asks("block-bijection", "no affine map", MAP, first_two_positions_swapped, "the index moves by"),
]
