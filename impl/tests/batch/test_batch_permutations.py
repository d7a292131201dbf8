"""The orders of positions and rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from impl.reference import backend
from impl.tests.batch.batch_database import flat, tensor


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
