"""The laws of the seeded helpers go red for helpers that are wrong in one way."""

from __future__ import annotations

from conformance.tests.spoilt_backend import Memory, Native, Sin, Wrong, breaks, changed, each_of

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


BLOCKS: list[Sin] = [
    ("block-order-bijection", "one block twice", Wrong(answer=first_block_twice, operator=PERMUTE), "second time"),
    (
        "block-order-bijection",
        "no seed",
        Wrong(lambda inputs, memory: changed(inputs, epoch_seed=bytes(16)), operator=PERMUTE),
        "in the same order",
    ),
    (
        "block-order-bijection",
        "a memory",
        Wrong(answer=order_of_another_seed_the_second_time, operator=PERMUTE),
        "two block orders",
    ),
    (
        "block-bijection",
        "the full block's modulus in the tail",
        Wrong(lambda i, memory: changed(i, cardinality=(i["block_id"] + 1) * i["block_size"]), operator=MAP),
        "is outside",
    ),
    (
        "block-bijection",
        "the first position left out",
        Wrong(lambda i, m: changed(i, local_pos=max(i["local_pos"], min(1, i["block_size"] - 1))), operator=MAP),
        "second time",
    ),
    ("block-bijection", "no affine map", Wrong(first_two_positions_swapped, operator=MAP), "the index moves by"),
]


@each_of(BLOCKS)
def test_a_wrong_backend_breaks_the_law(law: str, wrong: Wrong, said: str) -> None:
    assert breaks(law, wrong, said)
