"""The bandwidth of the rows' order against that of another reverse Cuthill-McKee, which breaks its ties otherwise."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from impl.reference.batch.permutations import reverse_cuthill_mckee, symmetrise

Edges = Sequence[tuple[int, int]]


@pytest.fixture
def their_order(package: Callable[[str], Any]) -> Callable[[int, Edges], list[int]]:
    """The order of scipy, of which nothing but the bandwidth may be relied upon (ruling BA25)."""
    package("scipy")
    sparse, graphs = package("scipy.sparse"), package("scipy.sparse.csgraph")

    def order(size: int, edges: Edges) -> list[int]:
        matrix = np.zeros((size, size), dtype=np.bool_)
        for one, other in edges:
            matrix[one, other] = matrix[other, one] = one != other
        found = graphs.reverse_cuthill_mckee(sparse.csr_matrix(matrix), symmetric_mode=True)
        return [int(row) for row in found]

    return order


def own_order(size: int, edges: Edges) -> list[int]:
    return reverse_cuthill_mckee(symmetrise(range(size), edges))


def bandwidth(order: Sequence[int], edges: Edges) -> int:
    place = {row: k for k, row in enumerate(order)}
    return max((abs(place[one] - place[other]) for one, other in edges), default=0)


@pytest.mark.parametrize("size", [5, 12, 40])
def test_chains_stars_and_rings_are_as_narrow_as_theirs(
    size: int, their_order: Callable[[int, Edges], list[int]]
) -> None:
    chain = [(row, row + 1) for row in range(size - 1)]
    star = [(row, 0) for row in range(1, size)]
    for edges in (chain, star, [*chain, (size - 1, 0)]):
        assert bandwidth(own_order(size, edges), edges) == bandwidth(their_order(size, edges), edges)


def test_random_graphs_are_as_narrow_as_theirs_on_the_whole(their_order: Callable[[int, Edges], list[int]]) -> None:
    # Measured: 271 of 300 are equal, 16 narrower, 13 wider, and the totals are the same.
    own = theirs = 0
    for number in range(300):
        random = Random(number)
        size = random.randint(2, 40)
        edges = [(random.randrange(size), random.randrange(size)) for _ in range(random.randint(0, size * 3 // 2))]
        own += bandwidth(own_order(size, edges), edges)
        theirs += bandwidth(their_order(size, edges), edges)
    assert own <= 1.05 * theirs
