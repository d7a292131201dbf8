"""The vectorized batch operators answer what the reference answers, bit for bit."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from impl.tests.batch.batch_database import agreed, column, flat, graph, nested, table, tensor
from impl.types import Tensor
from impl.vectorized.batch import crowd

KINDS = ("identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored")
NAMES = ("a", "B", "é", "select", "ｚ", "\U0001f600")
INT64 = st.integers(-(2**63), 2**63 - 1)
SOME_TIMES = st.integers(0, 6) | INT64
FINITE = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1e-45, 5e-324, 2.0**24 + 1])
Params = dict[str, Any]


@st.composite
def columns(draw: st.DrawFn, name: str, rows: int, texts: int) -> dict[str, Any]:
    kinds = KINDS if texts else tuple(kind for kind in KINDS if kind != "text")
    kind = draw(st.sampled_from(kinds))
    flags = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    more: dict[str, Any] = {"is_null": flags}
    values: st.SearchStrategy[Any] = INT64
    match kind:
        case "numerical":
            values = FINITE
            more |= {"mean": draw(FINITE), "deviation": draw(st.sampled_from([0.0, 0.1, 1.0, 3.5e4]))}
        case "timestamp":
            values = SOME_TIMES
            more |= {"mean": draw(st.sampled_from([0.0, 1.6e15])), "deviation": draw(st.sampled_from([0.0, 7e13]))}
        case "boolean":
            values = st.booleans()
        case "categorical":
            categories = draw(st.integers(1, 4))
            values = st.integers(0, categories - 1)
            more |= {"cat_emb_start": draw(st.integers(0, 9)), "categories": [str(i) for i in range(categories)]}
        case "text":
            values = st.integers(0, texts - 1)
        case "ignored":
            values = st.integers(0, 255)
    return column(name, kind, draw(st.lists(values, min_size=rows, max_size=rows)), **more)


@st.composite
def databases(draw: st.DrawFn) -> dict[str, Any]:
    """Any sound database: empty tables, cycles, self keys, NULL keys, several keys on one column."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    sizes = {name: draw(st.integers(0, 6)) for name in names}
    texts = draw(st.integers(0, 4))
    tables = []
    for name in names:
        rows = sizes[name]
        held = [draw(columns(str(place), rows, texts)) for place in range(draw(st.integers(0, 4)))]
        keys = []
        for _ in range(draw(st.integers(0, 3)) if held else 0):
            other = draw(st.sampled_from(names))
            referred = st.integers(0, sizes[other] - 1) if sizes[other] else st.none()
            keys.append(
                (
                    draw(st.sampled_from(held))["name"],
                    other,
                    draw(st.lists(st.none() | referred, min_size=rows, max_size=rows)),
                )
            )
        dated = [one["name"] for one in held if one["semantic_type"] == "timestamp"]
        timed = bool(dated) and draw(st.integers(0, 1)) == 1
        more = {"time_column": draw(st.sampled_from(dated))} if timed else {}
        tables.append(table(name, held, keys, rows=rows, **more))
    halves = st.integers(0, 0xFFFF).map(lambda bits: bits.to_bytes(2, "little"))
    data = b"".join(draw(st.lists(halves, min_size=2 * texts, max_size=2 * texts)))
    return {"tables": tables, "text_embeddings": Tensor("float16", (texts, 2), data)}


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    config: dict[str, Any] = {
        "sequence_length": draw(st.integers(1, 40) | st.sampled_from([0, 65_537])),
        "cutoff": draw(st.sampled_from(["children", "strict"])),
    }
    for name, most in (("max_hops", 4), ("max_rows", 6), ("child_width", 3)):
        if draw(st.booleans()):
            config[name] = draw(st.integers(0 if name != "max_rows" else draw(st.integers(0, 1)), most))
    if draw(st.booleans()):
        config["children_seed"] = draw(st.integers(0, 2**64 - 1))
    if draw(st.booleans()):
        config["fixed_rows"] = draw(st.integers(1, 7) | st.sampled_from([0, 65_537]))
    return config


def widened(fk_adj: Tensor, rows: int) -> Tensor:
    """The matrices with so many rows and columns, false beyond their own."""
    matrices = [[[*line, *[False] * (rows - len(line))] for line in matrix] for matrix in nested(fk_adj)]
    full = [matrix + [[False] * rows] * (rows - len(matrix)) for matrix in matrices]
    return tensor("bool", [flag for matrix in full for line in matrix for flag in line], (len(full), rows, rows))


@st.composite
def builds(draw: st.DrawFn) -> Params:
    held = draw(databases())
    anchors = [one for one in held["tables"] if one["columns"] and one["row_count"]]
    anchor = draw(st.sampled_from(anchors or held["tables"]))
    names = [one["name"] for one in anchor["columns"]] or ["none"]
    task = {"table": anchor["name"], "column": draw(st.sampled_from(names))}
    seeds = []
    for _ in range(draw(st.integers(1, 3))):
        seed: dict[str, Any] = {"row": draw(st.integers(0, max(anchor["row_count"] - 1, 0)))}
        if draw(st.booleans()):
            seed["time"] = draw(SOME_TIMES)
        if draw(st.booleans()):
            seed["task"] = task
        seeds.append(seed)
    return {"database": held, "task": task, "seeds": seeds, "config": draw(configs())}


@settings(max_examples=40, deadline=None)
@given(builds())
def test_every_step_and_the_whole_agree_on_any_database(params: Params) -> None:
    held, config = params["database"], params["config"]
    rows = agreed("Batch.BuildGraph", {"database": held})["rows"]
    whole = agreed("Batch.Build", params)
    tables = sorted(held["tables"], key=lambda one: one["name"].encode())
    before = [one["row_count"] for one in tables[: [one["name"] for one in tables].index(params["task"]["table"])]]
    seeds = [{**{k: v for k, v in seed.items() if k != "task"}, "row": sum(before) + seed["row"]}
             for seed in params["seeds"]]  # fmt: skip
    walk = agreed("Batch.CollectRows", {"rows": rows, "seeds": seeds, "config": config})
    if "row_ids" not in walk:
        return
    ids = walk["row_ids"]
    cells = agreed(
        "Batch.LinearizeCells", {"database": held, "row_ids": ids, "sequence_length": config["sequence_length"]}
    )
    adjacency = agreed("Batch.BuildAdjacency", {"rows": rows, "row_ids": ids})["fk_adj"]
    shape = {**{name: cells[name] for name in ("column_ids", "seq_row_ids", "is_padding")}, "fk_adj": adjacency}
    orders = agreed("Batch.Permutations", shape)
    agreed("Batch.AttentionMasks", shape)
    text = agreed(
        "Batch.RemapText",
        {
            **{name: cells[name] for name in ("text_embed_ids", "semantic_types", "is_null", "is_padding")},
            "text_embeddings": held["text_embeddings"],
        },
    )
    if "is_target" in whole:
        whole_adjacency = widened(adjacency, config["fixed_rows"]) if "fixed_rows" in config else adjacency
        steps = {**cells, **orders, **text, "fk_adj": whole_adjacency}
        del steps["row_order"]
        assert {name: value for name, value in whole.items() if name != "is_target"} == steps
        assert sum(flat(whole["is_target"])) == len(seeds)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_orders_agree_on_any_graph(data: st.DataObject) -> None:
    sequences, size, length = (data.draw(st.integers(low, high)) for low, high in ((1, 3), (1, 9), (0, 14)))
    cells = sequences * length
    edges = sequences * size**2

    def drawn(dtype: str, items: st.SearchStrategy[Any], count: int, shape: tuple[int, ...]) -> Tensor:
        return tensor(dtype, data.draw(st.lists(items, min_size=count, max_size=count)), shape)

    params = {
        "column_ids": drawn("int32", st.integers(-3, 3) | st.just(2**31 - 1), cells, (sequences, length)),
        "seq_row_ids": drawn("uint16", st.integers(0, size - 1), cells, (sequences, length)),
        "is_padding": drawn("bool", st.booleans(), cells, (sequences, length)),
        "fk_adj": drawn("bool", st.sampled_from([False, False, False, True]), edges, (sequences, size, size)),
    }
    agreed("Batch.Permutations", params)
    agreed("Batch.AttentionMasks", params)


def drawn_graph(data: st.DataObject) -> list[dict[str, Any]]:
    count = data.draw(st.integers(1, 14))
    rows = []
    for _ in range(count):
        row: dict[str, Any] = {
            "parents": data.draw(st.lists(st.integers(-1, count - 1), max_size=3)),
            "cells": data.draw(st.integers(0, 3)),
        }
        if data.draw(st.booleans()):
            row["time"] = data.draw(SOME_TIMES)
        rows.append(row)
    return rows


# The blocks of the fast walk are longer than any drawn graph; with the last settings they are one to three children
# long, and a walk goes on row by row after some depth or rounds.
@pytest.mark.parametrize(
    ("least", "deepest", "rounds"), [(16, 64, 64), (1, 64, 1000), (2, 64, 1000), (3, 1, 1000), (1, 2, 3)]
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_walks_agree_on_any_graph(
    monkeypatch: pytest.MonkeyPatch, least: int, deepest: int, rounds: int, data: st.DataObject
) -> None:
    for name, value in (("LEAST", least), ("SHARE", 10**9), ("DEEPEST", deepest), ("ROUNDS", rounds)):
        monkeypatch.setattr(crowd, name, value)
    rows = drawn_graph(data)
    seeds: list[dict[str, Any]] = [{"row": data.draw(st.integers(0, len(rows) - 1))} for _ in range(2)]
    seeds[1]["time"] = data.draw(SOME_TIMES)
    walk = agreed("Batch.CollectRows", {"rows": rows, "seeds": seeds, "config": data.draw(configs())})
    if "row_ids" in walk:
        agreed("Batch.BuildAdjacency", {"rows": rows, "row_ids": walk["row_ids"]})


def test_a_parent_with_very_many_children_gives_them_in_order() -> None:
    rows = graph([], *([0] for _ in range(300)), times=[None, *((i * 7) % 11 for i in range(300))])
    changes: list[dict[str, int]] = [{}, {"child_width": 70}, {"max_rows": 200}]
    for config in changes:
        for seed in ({"row": 0}, {"row": 0, "time": 5}, {"row": 299, "time": 3}):
            params = {"rows": rows, "seeds": [seed], "config": {"sequence_length": 999, "cutoff": "children", **config}}
            assert len(agreed("Batch.CollectRows", params)["row_ids"][0]) > 60
