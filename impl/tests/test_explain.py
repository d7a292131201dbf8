"""Explanations end in the value that the operator returns."""

from typing import Any

import pytest

from impl.backend import Calls
from impl.reference import backend
from impl.reference.batch.collect_rows import GraphRow
from impl.reference.batch.explain import explain_collect_rows
from impl.reference.batch.request import Config, GraphSeed
from impl.reference.operators import EXPLANATIONS
from impl.tests.batch.batch_calls import NEXT_BATCH, batch_params
from impl.tests.batch.batch_database import graph
from impl.wire.json_form import NativeForm

PERMUTE = "UML_OS.Data.SeededBlockPermute_v1"
MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
SEED = bytes(range(16))
# order1, customer23, book42, order7, order12, order5
BOOKSTORE = graph([1, 2], [], [], [1, -1], [1, -1], [-1, 2])


def explain(method: str, params: dict[str, Any], path: str, index: int | None) -> list[str]:
    return Calls(backend, NativeForm()).explain(method, params, path, index)


@pytest.mark.parametrize("stage", ["train", "eval"])
@pytest.mark.parametrize(("world_size", "rank", "position"), [(1, 0, 0), (2, 1, 4), (2, 0, 8)])
def test_the_last_line_of_a_batch_element_is_its_index(stage: str, world_size: int, rank: int, position: int) -> None:
    params = batch_params(stage=stage, world_size=world_size, rank=rank, index=position)
    for index, expected in enumerate(backend.call(NEXT_BATCH, params)["batch_sample_indices"]):
        lines = explain(NEXT_BATCH, params, "batch_sample_indices", index)
        assert lines[-1].endswith(f"= {expected}")


def test_the_derivation_shows_block_multiplier_and_offset() -> None:
    lines = "\n".join(explain(NEXT_BATCH, batch_params(n=1000, batch_size=48, block=64), "batch_sample_indices[3]", 3))
    for fact in ("virtual position = 0 + 0 * 48 + 3 = 3", "block at that place = 8", "a = 13", "c = k1 mod m = 10"):
        assert fact in lines


def test_an_element_that_does_not_exist_is_said_so() -> None:
    assert "ends at 10" in explain(NEXT_BATCH, batch_params(index=8), "batch_sample_indices", 3)[-1]
    assert "ends before" in explain(NEXT_BATCH, batch_params(), "batch_sample_indices", 4)[-1]
    assert "only elements" in explain(NEXT_BATCH, batch_params(), "cursor_next.epoch", None)[-1]


def test_a_refused_call_names_its_code() -> None:
    assert explain(NEXT_BATCH, batch_params(stage="x"), "batch_sample_indices", 0) == [
        "the call is refused: INVALID_STAGE_TYPE"
    ]
    assert "refused" in explain(PERMUTE, {"num_blocks": 0, "epoch_seed": SEED}, "block_order", 0)[-1]


@pytest.mark.parametrize("local_pos", range(3))
@pytest.mark.parametrize("cardinality", [4, 5, 6])
def test_the_last_line_of_a_map_is_the_index_or_the_refusal(local_pos: int, cardinality: int) -> None:
    params = {"block_id": 1, "local_pos": local_pos, "block_size": 3, "epoch_seed": SEED, "cardinality": cardinality}
    last = explain(MAP, params, "original_index", None)[-1]
    if local_pos < cardinality - 3:
        assert last.endswith(f"= {backend.call(MAP, params)['original_index']}")
    else:
        assert "refused" in last


def walked(path: str, index: int | None, **config: Any) -> list[str]:
    assert EXPLANATIONS["Batch.CollectRows"] is explain_collect_rows
    arguments = {
        "rows": [GraphRow(**row) for row in BOOKSTORE],
        "seeds": [GraphSeed(3), GraphSeed(0)],
        "config": Config(sequence_length=9, cutoff="children", **config),
    }
    return explain_collect_rows(arguments, path, index)


def test_a_parent_is_derived_from_the_keys_that_lead_to_it() -> None:
    assert walked("row_ids[1]", 2) == [
        "seed row 0, no time, cutoff children",
        "limits: S = 9, H = none, rows = none, w = none",
        "rows before: [0, 1], with 2 cells",
        "key 1 of id 0 (row 0) refers to row 2",
        "row 2 gets id 2, 1 hops",
    ]


def test_a_child_is_derived_from_the_rows_it_refers_to() -> None:
    assert walked("hops[1]", 4, child_width=2)[3:] == ["row 4 is a child of id 1 (row 1)", "row 4 gets id 4, 2 hops"]


def test_children_in_a_seeded_order_are_derived_in_it() -> None:
    # By hash the children of row 1, the customer, are 4, 0, 3; by RowIdx row 0 would be the one that is kept.
    lines = walked("row_ids[0]", 2, children_seed=4, fixed_rows=5, child_width=1)
    assert lines[1] == "limits: S = 9, H = none, rows = none, w = 1, children_seed = 4, fixed_rows = 5"
    assert lines[3:] == ["row 4 is a child of id 1 (row 1)", "row 4 gets id 2, 2 hops"]


def test_the_seed_and_the_end_of_the_walk_say_so() -> None:
    assert walked("row_ids[0]", 0)[-1] == "row 3 is the seed row: id 0, 0 hops"
    assert walked("row_ids[0]", 1, max_hops=0)[-1] == "the walk ends with 1 rows and 1 cells"


def test_other_places_are_not_derived() -> None:
    for path, index in (("row_ids", 0), ("row_ids[2]", 0), ("row_ids[0]", None), ("rows[0]", 0)):
        assert "only elements" in walked(path, index)[0]
