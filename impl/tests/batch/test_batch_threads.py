"""The same batch from one thread and from many at once, in every backend of this language (requirement B36)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from impl.backend import Backend
from impl.reference import backend as reference
from impl.tests.batch.batch_database import CHILDREN, column, database, table
from impl.types import Tensor
from impl.vectorized import backend as vectorized

THREADS = 8
ROWS = 24


def request(width: int) -> dict[str, Any]:
    """A batch of four seeds whose rows refer to each other, each child width another one."""
    parents = [None, *(row // 2 for row in range(ROWS - 1))]
    held = database(
        table(
            "t",
            [column("up", "identifier", list(range(ROWS))), column("v", "numerical", [row / 3 for row in range(ROWS)])],
            [("up", "t", parents)],
            rows=ROWS,
        )
    )
    config = {**CHILDREN, "child_width": width}
    seeds = [{"row": row} for row in (0, 5, 11, 23)]
    return {"database": held, "task": {"table": "t", "column": "v"}, "seeds": seeds, "config": config}


def answered(backend: Backend, width: int) -> dict[str, bytes]:
    """The bytes of every tensor of a batch."""
    batch = backend.call("Batch.Build", request(width))
    return {name: bytes(value.data) if isinstance(value, Tensor) else value.tobytes() for name, value in batch.items()}


def together(actions: list[Callable[[], Any]]) -> list[Any]:
    """What the actions return, all begun at one moment."""
    begin = Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        begin.wait(30)
        return action()

    with ThreadPoolExecutor(len(actions)) as threads:
        return list(threads.map(run, actions))


@pytest.mark.parametrize("backend", [reference, vectorized], ids=["reference", "vectorized"])
def test_batches_built_at_once_are_those_built_alone(backend: Backend) -> None:
    alone = [answered(backend, width) for width in range(THREADS)]
    assert len({tuple(sorted(one.items())) for one in alone}) > 1
    for _ in range(3):
        assert together([lambda width=width: answered(backend, width) for width in range(THREADS)]) == alone  # type: ignore[misc]
