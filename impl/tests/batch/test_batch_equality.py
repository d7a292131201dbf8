"""The vectorized batch operators answer what the reference answers, bit for bit, on databases that fuzzing draws.

`tally run` asks each operator alone, with its own draws; here the answer of one step is the input of the next.
"""

from random import Random
from typing import Any

import numpy as np
import pytest

from checks.generators.batch import cell_graph, walk, whole
from impl.tests.batch.batch_database import agreed, flat, nested, tensor
from impl.types import Tensor
from impl.vectorized.batch import crowd
from impl.vectorized.batch.arrays import tensor_of


def with_tensors(drawn: Any) -> Any:
    """A drawn input, its arrays as tensors."""
    match drawn:
        case np.ndarray():
            return tensor_of(drawn)
        case dict():
            return {name: with_tensors(item) for name, item in drawn.items()}
        case list():
            return [with_tensors(item) for item in drawn]
    return drawn


def widened(fk_adj: Tensor, rows: int) -> Tensor:
    """The matrices with so many rows and columns, false beyond their own."""
    matrices = [[[*line, *[False] * (rows - len(line))] for line in matrix] for matrix in nested(fk_adj)]
    full = [matrix + [[False] * rows] * (rows - len(matrix)) for matrix in matrices]
    return tensor("bool", [flag for matrix in full for line in matrix for flag in line], (len(full), rows, rows))


@pytest.mark.parametrize("number", range(60))
def test_every_step_and_the_whole_agree_on_any_database(number: int) -> None:
    params = with_tensors(whole(Random(number)))
    held, config = params["database"], params["config"]
    batch = agreed("Batch.Build", params)
    rows = agreed("Batch.BuildGraph", {"database": held})["rows"]
    tables = sorted(held["tables"], key=lambda one: one["name"].encode())
    before = [one["row_count"] for one in tables[: [one["name"] for one in tables].index(params["task"]["table"])]]
    seeds = [{**seed, "row": sum(before) + seed["row"]} for seed in params["seeds"]]
    ids = agreed("Batch.CollectRows", {"rows": rows, "seeds": seeds, "config": config})["row_ids"]
    length = config["sequence_length"]
    cells = agreed("Batch.LinearizeCells", {"database": held, "row_ids": ids, "sequence_length": length})
    adjacency = agreed("Batch.BuildAdjacency", {"rows": rows, "row_ids": ids})["fk_adj"]
    shape = {**{name: cells[name] for name in ("column_ids", "seq_row_ids", "is_padding")}, "fk_adj": adjacency}
    orders = agreed("Batch.Permutations", shape)
    agreed("Batch.AttentionMasks", shape)
    texts = {name: cells[name] for name in ("text_embed_ids", "semantic_types", "is_null", "is_padding")}
    text = agreed("Batch.RemapText", {**texts, "text_embeddings": held["text_embeddings"]})
    whole_adjacency = widened(adjacency, config["fixed_rows"]) if "fixed_rows" in config else adjacency
    steps = {**cells, **orders, **text, "fk_adj": whole_adjacency}
    del steps["row_order"]
    targets = batch.pop("is_target")
    assert batch == steps
    assert sum(flat(targets)) == len(seeds)


@pytest.mark.parametrize("number", range(40))
def test_orders_agree_on_any_graph(number: int) -> None:
    params = with_tensors(cell_graph(Random(number)))
    agreed("Batch.Permutations", params)
    agreed("Batch.AttentionMasks", params)


# The blocks of the fast walk are longer than any drawn graph; with the last settings they are one to three children
# long, and a walk goes on row by row after some depth or rounds.
@pytest.mark.parametrize(
    ("least", "deepest", "rounds"), [(16, 64, 64), (1, 64, 1000), (2, 64, 1000), (3, 1, 1000), (1, 2, 3)]
)
def test_walks_agree_on_any_graph(monkeypatch: pytest.MonkeyPatch, least: int, deepest: int, rounds: int) -> None:
    for name, value in (("LEAST", least), ("SHARE", 10**9), ("DEEPEST", deepest), ("ROUNDS", rounds)):
        monkeypatch.setattr(crowd, name, value)
    for number in (*range(40), 394, 638):  # in the last two a list of children is taken in several parts
        params = walk(Random(number))
        ids = agreed("Batch.CollectRows", params)["row_ids"]
        agreed("Batch.BuildAdjacency", {"rows": params["rows"], "row_ids": ids})
