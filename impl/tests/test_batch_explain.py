"""What tally.explain says about a collected row."""

from typing import Any

from impl.reference.batch.collect_rows import GraphRow
from impl.reference.batch.explain import explain_collect_rows
from impl.reference.batch.request import Config, GraphSeed
from impl.reference.operators import EXPLANATIONS
from impl.tests.test_batch_collect_rows import BOOKSTORE


def explained(path: str, index: int | None, **config: Any) -> list[str]:
    arguments = {
        "rows": [GraphRow(**row) for row in BOOKSTORE],
        "seeds": [GraphSeed(3), GraphSeed(0)],
        "config": Config(sequence_length=9, cutoff="children", **config),
    }
    return explain_collect_rows(arguments, path, index)


def test_the_operator_is_explained() -> None:
    assert EXPLANATIONS["Batch.CollectRows"] is explain_collect_rows


def test_a_parent_is_derived_from_the_keys_that_lead_to_it() -> None:
    assert explained("row_ids[1]", 2) == [
        "seed row 0, no time, cutoff children",
        "limits: S = 9, H = none, rows = none, w = none",
        "rows before: [0, 1], with 2 cells",
        "key 1 of id 0 (row 0) refers to row 2",
        "row 2 gets id 2, 1 hops",
    ]


def test_a_child_is_derived_from_the_rows_it_refers_to() -> None:
    assert explained("hops[1]", 4, child_width=2)[3:] == [
        "row 4 is a child of id 1 (row 1)",
        "row 4 gets id 4, 2 hops",
    ]


def test_the_seed_and_the_end_of_the_walk_say_so() -> None:
    assert explained("row_ids[0]", 0)[-1] == "row 3 is the seed row: id 0, 0 hops"
    assert explained("row_ids[0]", 1, max_hops=0)[-1] == "the walk ends with 1 rows and 1 cells"


def test_other_places_are_not_derived() -> None:
    for path, index in (("row_ids", 0), ("row_ids[2]", 0), ("row_ids[0]", None), ("rows[0]", 0)):
        assert "only elements" in explained(path, index)[0]
