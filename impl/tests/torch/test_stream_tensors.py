"""Documents of a stream as tensors of torch: they are served like lists, and judged when they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from impl.failure import ContractFailure
from impl.library.stream import ContextStream
from impl.library.token_sources import IteratorTokens
from impl.tests.stream.test_stream_arrays import require_same_as_lists


def as_tensor(document: list[int]) -> Any:
    return torch.tensor(document, dtype=torch.int64)


def as_scalars(document: list[int]) -> Any:
    return list(as_tensor(document))


@pytest.mark.parametrize("made", [as_tensor, as_scalars])
@pytest.mark.parametrize("ahead", [False, True])
def test_documents_are_tensors(made: Callable[[list[int]], Any], ahead: bool, tmp_path: Path) -> None:
    require_same_as_lists(made, ahead, tmp_path)


@pytest.mark.parametrize(
    ("dtype", "items"), [("int64", [1, -1]), ("float32", [1.0]), ("bool", [True]), ("bfloat16", [1])]
)
def test_a_wrong_tensor_is_refused_when_it_comes(dtype: str, items: list[Any]) -> None:
    document: Any = torch.tensor(items, dtype=getattr(torch, dtype))
    stream = ContextStream(IteratorTokens(lambda: [document]))
    with pytest.raises(ContractFailure, match=r"documents\[0\]\[[01]\] must be an integer from 0 to 4294967295: got"):
        stream.next_chunk(1)
