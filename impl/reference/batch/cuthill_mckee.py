"""The reverse Cuthill-McKee order of rows, with every tie decided."""

from collections.abc import Iterable, Mapping


def symmetrise(rows: Iterable[int], edges: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    """Return the distinct neighbours of each row in the symmetrised graph without its diagonal (rulings BA24, BA26)."""
    neighbours: dict[int, set[int]] = {row: set() for row in rows}
    for r1, r2 in edges:
        if r1 != r2 and r1 in neighbours and r2 in neighbours:
            neighbours[r1].add(r2)
            neighbours[r2].add(r1)
    return neighbours


def reverse_cuthill_mckee(neighbours: Mapping[int, set[int]]) -> list[int]:
    """Return the rows in reverse Cuthill-McKee order.

    Each component starts at its row of least degree, then least id; neighbours follow by (degree, id); a row is marked
    when it is enqueued; the whole list is reversed (ruling BA25).
    """

    def by_degree(row: int) -> tuple[int, int]:
        return len(neighbours[row]), row

    order: list[int] = []
    marked: set[int] = set()
    for start in sorted(neighbours, key=by_degree):
        if start in marked:
            continue
        queue = [start]
        marked.add(start)
        while queue:
            row = queue.pop(0)
            order.append(row)
            for neighbour in sorted(neighbours[row], key=by_degree):
                if neighbour not in marked:
                    marked.add(neighbour)
                    queue.append(neighbour)
    return order[::-1]
