"""The orders of positions and rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.reference import backend
from impl.tests.batch_database import flat, refusal, tensor


def adjacency(size: int, edges: Iterable[tuple[int, int]]) -> Any:
    flags = [False] * (size * size)
    for r1, r2 in edges:
        flags[r1 * size + r2] = True
    return tensor("bool", flags, (1, size, size))


def request(columns: Sequence[int], rows: Sequence[int], padding: Sequence[bool], fk_adj: Any) -> dict[str, Any]:
    shape = (1, len(columns))
    return {
        "column_ids": tensor("int32", columns, shape),
        "seq_row_ids": tensor("uint16", rows, shape),
        "is_padding": tensor("bool", padding, shape),
        "fk_adj": fk_adj,
    }


def row_order(size: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    params = request([0] * size, range(size), [False] * size, adjacency(size, edges))
    order: list[int] = backend.call("Batch.Permutations", params)["row_order"][0]
    return order


def bandwidth(order: Sequence[int], edges: Iterable[tuple[int, int]]) -> int:
    place = {row: i for i, row in enumerate(order)}
    return max((abs(place[a] - place[b]) for a, b in edges), default=0)


BOOKSTORE = [(0, 1), (0, 2), (3, 1), (4, 1), (5, 2)]


@pytest.mark.parametrize(
    ("size", "edges", "expected"),
    [
        (6, BOOKSTORE, [5, 2, 0, 4, 1, 3]),
        (4, [(0, 1), (1, 2), (2, 3), (3, 0)], [2, 3, 1, 0]),
        (5, [(0, 1), (1, 2), (2, 3), (3, 4)], [4, 3, 2, 1, 0]),
        (5, [(0, 1), (0, 2), (0, 3), (0, 4)], [4, 3, 2, 0, 1]),
        (6, [(0, 0), (1, 4), (2, 5)], [5, 2, 4, 1, 3, 0]),
        (1, [], [0]),
    ],
)
def test_the_pinned_orders_of_rows(size: int, edges: list[tuple[int, int]], expected: list[int]) -> None:
    assert row_order(size, edges) == expected
    assert row_order(size, [(b, a) for a, b in edges]) == expected


def test_the_bookstore_has_bandwidth_two() -> None:
    assert bandwidth(row_order(6, BOOKSTORE), BOOKSTORE) == 2


def test_two_keys_in_both_directions_are_one_neighbour() -> None:
    # Were 0 -> 1 and 1 -> 0 counted twice, row 3 would start instead of row 0.
    assert row_order(4, [(0, 1), (1, 0), (1, 2), (2, 3)]) == [3, 2, 1, 0]


def test_columns_are_grouped_by_id_then_position_with_padding_last() -> None:
    params = request([5, 2, 5, 0, 2, 0], [0] * 6, [False] * 5 + [True], adjacency(1, []))
    assert flat(backend.call("Batch.Permutations", params)["col_perm"]) == [3, 1, 4, 0, 2, 5]


def test_rows_are_grouped_in_their_order_with_padding_last() -> None:
    rows = [0, 0, 1, 2, 3, 3, 4, 4, 5, 5, 0, 0]
    params = request(range(12), rows, [False] * 10 + [True] * 2, adjacency(6, BOOKSTORE))
    result = backend.call("Batch.Permutations", params)
    assert flat(result["out_perm"]) == [8, 9, 3, 0, 1, 6, 7, 2, 4, 5, 10, 11]
    assert flat(result["in_perm"]) == flat(result["out_perm"])
    assert (result["out_perm"].dtype, result["out_perm"].shape) == ("uint16", (1, 12))


def test_only_rows_that_own_cells_are_neighbours() -> None:
    # Row 1 owns no cell: without it rows 0 and 2 have no neighbour, and row 3 none but 2.
    params = request([0] * 4, [0, 2, 3, 1], [False] * 3 + [True], adjacency(4, [(0, 1), (1, 2), (2, 3)]))
    assert backend.call("Batch.Permutations", params)["row_order"] == [[3, 2, 0]]


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(
    st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20)
)))  # fmt: skip
def test_an_order_of_rows_holds_each_row_once(graph: tuple[int, list[tuple[int, int]]]) -> None:
    size, edges = graph
    assert sorted(row_order(size, edges)) == list(range(size))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"column_ids": tensor("int32", [0, 0], (2,))}, "CONTRACT_VIOLATION"),
        ({"column_ids": tensor("int32", [0, 0], (2, 1))}, "CONTRACT_VIOLATION"),
        ({"is_padding": tensor("bool", [False], (1, 1))}, "CONTRACT_VIOLATION"),
        ({"fk_adj": tensor("bool", [False] * 4, (2, 2, 1))}, "CONTRACT_VIOLATION"),
        ({"fk_adj": tensor("bool", [False] * 2, (1, 2, 1))}, "CONTRACT_VIOLATION"),
        ({"fk_adj": tensor("bool", [False] * 2, (2, 1, 1))}, "CONTRACT_VIOLATION"),
        ({"seq_row_ids": tensor("uint16", [0, 2], (1, 2))}, "CONTRACT_VIOLATION"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(changes: dict[str, Any], code: str) -> None:
    params = request([0, 0], [0, 1], [False, False], adjacency(2, []))
    assert refusal("Batch.Permutations", {**params, **changes}) == code
    assert refusal("Batch.AttentionMasks", {**params, **changes}) == code


def test_a_sequence_longer_than_a_uint16_is_refused() -> None:
    size = 65_537
    params = request([0] * size, [0] * size, [False] * size, adjacency(1, []))
    assert refusal("Batch.Permutations", params) == "LIMIT_EXCEEDED"
