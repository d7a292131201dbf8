"""The walk from a seed row: a cutoff to the microsecond, and a row that refers to itself."""

from typing import Any

from impl.tests.batch.batch_database import CHILDREN, agreed, graph


def collected(rows: list[dict[str, Any]], **seed: int) -> list[int]:
    params = {"rows": rows, "seeds": [{"row": 0, **seed}], "config": CHILDREN}
    return list(agreed("Batch.CollectRows", params)["row_ids"][0])


def test_a_child_one_microsecond_late_is_seen_to_be_late() -> None:
    # No binary32, and no binary64 number of seconds, tells these times apart.
    now = 9_007_199_254_740_993
    assert collected(graph([], [0], [0], [0], times=[0, now + 1, now, now - 1]), time=now) == [0, 2, 3]


def test_a_row_that_refers_to_itself_comes_once() -> None:
    assert collected(graph([0], [0])) == [0, 1]
