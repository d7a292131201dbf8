"""The walk from a seed row: order, hop budget, cutoff, width and limits."""

from typing import Any

import pytest

from impl.tests.batch_database import CHILDREN, collect, graph, refusal

# order1, customer23, book42, order7, order12, order5
BOOKSTORE = graph([1, 2], [], [], [1, -1], [1, -1], [-1, 2])


def test_parents_come_before_children_and_children_in_the_order_of_the_queue() -> None:
    assert collect(BOOKSTORE) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("hops", "expected"), [(0, [0]), (1, [0, 1, 2]), (2, [0, 1, 2, 3, 4, 5])])
def test_the_hop_budget_of_the_bookstore(hops: int, expected: list[int]) -> None:
    assert collect(BOOKSTORE, max_hops=hops) == expected


def test_a_chain_of_four_ends_after_two_hops() -> None:
    assert collect(graph([1], [2], [3], []), max_hops=2) == [0, 1, 2]


def test_the_hops_of_a_row_are_those_of_its_first_popped_entry() -> None:
    # 0 -> 1 -> 2 -> 3 and 4 -> 0, 4 -> 3: row 3 is popped over three parents before row 4 is popped as a child.
    rows = graph([1], [2], [3], [], [0, 3])
    assert collect(rows) == [0, 1, 2, 3, 4]
    # With two hops row 3 is out of the reach of the parents; the child at one hop brings it in.
    assert collect(rows, max_hops=2) == [0, 1, 2, 4, 3]


def test_a_child_that_waits_does_not_lose_a_parent_found_later() -> None:
    # Row 1 is a child of 0; its parent 3 comes before the next child 2.
    assert collect(graph([], [0, 3], [0], [])) == [0, 1, 3, 2]


def test_parents_come_in_the_order_of_their_columns_and_not_of_their_rows() -> None:
    assert collect(graph([2, 1], [], [])) == [0, 2, 1]


def test_a_child_with_two_keys_to_the_same_row_counts_once() -> None:
    assert collect(graph([], [0, 0], [0]), child_width=2) == [0, 1, 2]


@pytest.mark.parametrize(("width", "expected"), [(0, [0]), (1, [0, 1]), (2, [0, 1, 2]), (9, [0, 1, 2, 3])])
def test_the_first_children_by_row_are_kept(width: int, expected: list[int]) -> None:
    assert collect(graph([], [0], [0], [0]), child_width=width) == expected


def test_the_width_counts_children_without_an_id_that_pass_the_cutoff() -> None:
    rows = graph([1], [], [1], [1], [1], times=[0, None, 5, 3, 4])
    assert collect(rows, time=4, child_width=1) == [0, 1, 3]


@pytest.mark.parametrize(("time", "expected"), [(6, [0, 1]), (7, [0, 1, 2]), (8, [0, 1, 2, 3])])
def test_a_child_at_the_time_itself_is_kept_and_one_microsecond_later_is_not(time: int, expected: list[int]) -> None:
    assert collect(graph([], [0], [0], [0], times=[0, None, 7, 8]), time=time) == expected


def test_a_child_one_microsecond_late_is_seen_to_be_late() -> None:
    # No binary32, and no binary64 number of seconds, tells these times apart.
    now = 9_007_199_254_740_993
    assert collect(graph([], [0], [0], [0], times=[0, now + 1, now, now - 1]), time=now) == [0, 2, 3]


def test_a_future_parent_is_kept_by_children_and_dropped_by_strict() -> None:
    rows = graph([1, 2], [], [], times=[5, 6, 5])
    assert collect(rows, time=5) == [0, 1, 2]
    assert collect(rows, time=5, cutoff="strict") == [0, 2]


def test_without_a_time_nothing_is_cut_off() -> None:
    assert collect(graph([], [0], times=[0, 2**62]), cutoff="strict") == [0, 1]


def test_the_walk_ends_when_the_cells_fill_the_sequence() -> None:
    rows = graph([1], [2], [3], [], cells=4)
    assert [len(collect(rows, sequence_length=s)) for s in (1, 4, 5, 8, 9, 99)] == [1, 1, 2, 2, 3, 4]


def test_rows_without_cells_get_ids_until_the_sequence_is_full() -> None:
    rows = [{"parents": [1], "cells": 0}, {"parents": [2], "cells": 2}, {"parents": [], "cells": 0}]
    assert collect(rows, sequence_length=2) == [0, 1]
    assert collect(rows, sequence_length=3) == [0, 1, 2]


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_the_row_budget_stops_before_one_row_more(rows: int) -> None:
    assert len(collect(graph([1], [2], [3], []), max_rows=rows)) == rows


def test_a_row_that_refers_to_itself_comes_once() -> None:
    assert collect(graph([0], [0])) == [0, 1]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"config": {**CHILDREN, "sequence_length": 0}}, "CONTRACT_VIOLATION"),
        ({"config": {**CHILDREN, "sequence_length": 65_537}}, "LIMIT_EXCEEDED"),
        ({"config": {**CHILDREN, "max_rows": 0}}, "CONTRACT_VIOLATION"),
        ({"rows": graph([1])}, "DANGLING_KEY"),
        ({"rows": graph([-2])}, "DANGLING_KEY"),
        ({"seeds": [{"row": 0}, {"row": 6}]}, "ROW_NOT_FOUND"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], code: str) -> None:
    params = {"rows": BOOKSTORE, "seeds": [{"row": 0}], "config": CHILDREN}
    assert refusal("Batch.CollectRows", {**params, **changes}) == code


def test_more_rows_than_a_uint16_can_number_are_refused() -> None:
    chain = graph(*([row + 1] for row in range(65_536)), [], cells=0)
    assert len(collect(chain, max_rows=65_536)) == 65_536
    params = {"rows": chain, "seeds": [{"row": 0}], "config": CHILDREN}
    assert refusal("Batch.CollectRows", params) == "LIMIT_EXCEEDED"
