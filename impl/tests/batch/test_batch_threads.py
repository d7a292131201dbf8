"""The same batch from one thread and from many at once, in every backend of this language (requirement B36)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from impl.backend import Backend
from impl.reference import backend as reference
from impl.tests.batch.batch_database import CHILDREN, bookstore
from impl.types import Tensor
from impl.vectorized import backend as vectorized

THREADS = 8
TASK = {"database": bookstore(), "task": {"table": "orders", "column": "price"}, "seeds": [{"row": 0}, {"row": 3}]}


def answered(backend: Backend, width: int) -> dict[str, bytes]:
    """The bytes of every tensor of a batch."""
    batch = backend.call("Batch.Build", {**TASK, "config": {**CHILDREN, "child_width": width}})
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
