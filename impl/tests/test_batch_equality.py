"""The vectorized batch operators answer what the reference answers, bit for bit."""

from collections.abc import Mapping
from math import prod
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from impl.tests.batch_database import agreed, column, database, flat, graph, table, tensor
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
    return config


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


@settings(max_examples=100, deadline=None)
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
        steps = {**cells, **orders, **text, "fk_adj": adjacency}
        del steps["row_order"]
        assert {name: value for name, value in whole.items() if name != "is_target"} == steps
        assert sum(flat(whole["is_target"])) == len(seeds)


def with_columns(*held: Mapping[str, Any]) -> dict[str, Any]:
    return {"columns": list(held)}


FAULTS: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    ("UNKNOWN_TABLE", {"time_column": "then"}, []),
    ("UNKNOWN_TABLE", {"foreign_keys": [{"column": "m", "table": "t", "rows": tensor("int64", [0, 0])}]}, []),
    ("UNKNOWN_TABLE", {"foreign_keys": [{"column": "n", "table": "u", "rows": tensor("int64", [0, 0])}]}, []),
    ("CONTRACT_VIOLATION", {"time_column": "n"}, []),
    ("CONTRACT_VIOLATION", {}, [table("t", [column("n", "numerical", [])])]),
    ("CONTRACT_VIOLATION", {"row_count": 3}, []),
    ("CONTRACT_VIOLATION", with_columns(column("x", "boolean", [0, 0]), column("x", "boolean", [0, 0])), []),
    ("CONTRACT_VIOLATION", {"foreign_keys": [{"column": "n", "table": "t", "rows": tensor("int64", [0])}]}, []),
    ("CONTRACT_VIOLATION", {"foreign_keys": [{"column": "n", "table": "t", "rows": tensor("int32", [0, 0])}]}, []),
    ("CONTRACT_VIOLATION", with_columns({**column("x", "boolean", [0, 0]), "semantic_type": "text"}), []),
    ("CONTRACT_VIOLATION", with_columns({**column("x", "boolean", [0, 0]), "is_null": tensor("bool", [0])}), []),
    ("CONTRACT_VIOLATION", with_columns(column("x", "categorical", [0, 0])), []),
    ("CONTRACT_VIOLATION", with_columns(column("x", "categorical", [0, 1], cat_emb_start=0, categories=["a"])), []),
    (
        "CONTRACT_VIOLATION",
        with_columns(column("x", "categorical", [0, 0], cat_emb_start=2**32 - 1, categories=["a", "b"])),
        [],
    ),
    ("CONTRACT_VIOLATION", with_columns(column("x", "text", [0, None])), []),
    ("CONTRACT_VIOLATION", with_columns(column("x", "numerical", [0.0, 0.0], deviation=-1.0)), []),
    ("NON_FINITE", with_columns(column("x", "numerical", [0.0, float("inf")])), []),
    ("NON_FINITE", with_columns(column("x", "numerical", [0.0, float("nan")], deviation=0.0)), []),
    ("NON_FINITE", with_columns(column("x", "numerical", [0.0, None], mean=float("nan"))), []),
    ("NON_FINITE", with_columns(column("x", "numerical", [0.0, None], deviation=float("inf"))), []),
    ("NON_FINITE", with_columns(column("x", "numerical", [1e300, None])), []),
    ("NON_FINITE", with_columns(column("x", "timestamp", [2**62, None], deviation=1e-30)), []),
    ("DANGLING_KEY", {"foreign_keys": [{"column": "n", "table": "t", "rows": tensor("int64", [0, 2])}]}, []),
    ("DANGLING_KEY", {"foreign_keys": [{"column": "n", "table": "t", "rows": tensor("int64", [0, -2])}]}, []),
    # Of two faults the earlier kind decides, whichever table has it.
    ("UNKNOWN_TABLE", {"row_count": 3}, [table("u", [column("n", "boolean", [])], time_column="no")]),
    (
        "CONTRACT_VIOLATION",
        with_columns(column("x", "numerical", [float("inf"), 0.0])),
        [table("u", [column("n", "text", [0])])],
    ),
    (
        "NON_FINITE",
        {"foreign_keys": [{"column": "n", "table": "t", "rows": tensor("int64", [0, 2])}]},
        [table("u", [column("n", "numerical", [float("nan")])])],
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[0])
def test_a_faulty_database_is_refused_with_the_code_of_its_first_kind_of_fault(fault: Any) -> None:
    code, changes, others = fault
    good = table("t", [column("n", "numerical", [1.0, None]), column("when", "timestamp", [1, None])])
    held = database({**good, **changes}, *others)
    for method, params in (
        ("Batch.BuildGraph", {}),
        ("Batch.LinearizeCells", {"row_ids": [[9]], "sequence_length": 0}),
        ("Batch.Build", {"task": {"table": "none", "column": "n"}, "seeds": [], "config": {"sequence_length": 0,
                                                                                           "cutoff": "strict"}}),
    ):  # fmt: skip
        assert agreed(method, {"database": held, **params}) == {"failure_code": code, "failure_operator": method}


def test_a_value_at_a_null_is_never_looked_at() -> None:
    held = database(
        table(
            "t",
            [
                column("n", "numerical", [float("nan")], is_null=[True]),
                column("c", "categorical", [99], is_null=[True], cat_emb_start=5, categories=["a"]),
                column("t", "text", [99], is_null=[True]),
            ],
        )
    )
    cells = agreed("Batch.LinearizeCells", {"database": held, "row_ids": [[0]], "sequence_length": 3})
    assert flat(cells["is_null"]) == [True] * 3
    assert not any(flat(cells["numeric_values"]) + flat(cells["categorical_embed_ids"]) + flat(cells["text_embed_ids"]))


@settings(max_examples=100, deadline=None)
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
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
            params = {
                "rows": rows,
                "seeds": [seed],
                "config": {"sequence_length": 999, "cutoff": "children", **config},
            }
            assert len(agreed("Batch.CollectRows", params)["row_ids"][0]) > 60


@pytest.mark.parametrize("shape", [(), (1,), (1, 2, 3)])
def test_tensors_of_another_rank_are_refused(shape: tuple[int, ...]) -> None:
    count = prod(shape)
    cells = {
        name: tensor(dtype, [0] * count, shape)
        for name, dtype in (("column_ids", "int32"), ("seq_row_ids", "uint16"), ("is_padding", "bool"))
    }
    texts = {
        name: tensor(dtype, [0] * count, shape)
        for name, dtype in (("text_embed_ids", "uint32"), ("semantic_types", "int8"), ("is_null", "bool"))
    }
    halves = tensor("float16", [0] * count, shape)
    for method, params in (
        ("Batch.Permutations", {**cells, "fk_adj": tensor("bool", [], (0, 0, 0))}),
        ("Batch.AttentionMasks", {**cells, "fk_adj": tensor("bool", [], (0, 0, 0))}),
        ("Batch.RemapText", {**texts, "is_padding": cells["is_padding"], "text_embeddings": halves}),
        ("Batch.BuildGraph", {"database": {"tables": [], "text_embeddings": halves}}),
    ):
        assert agreed(method, params)["failure_code"] == "CONTRACT_VIOLATION"


def test_nothing_at_all_is_answered_alike() -> None:
    empty = database()
    assert agreed("Batch.BuildGraph", {"database": empty}) == {"rows": []}
    cells = agreed("Batch.LinearizeCells", {"database": empty, "row_ids": [[], []], "sequence_length": 2})
    assert flat(cells["is_padding"]) == [True] * 4
    blank = {
        "column_ids": tensor("int32", [3, 1], (1, 2)),
        "seq_row_ids": tensor("uint16", [9, 9], (1, 2)),
        "is_padding": tensor("bool", [True, True], (1, 2)),
        "fk_adj": tensor("bool", [], (1, 0, 0)),
    }
    assert flat(agreed("Batch.Permutations", blank)["out_perm"]) == [0, 1]
    assert not any(flat(agreed("Batch.AttentionMasks", blank)["outbound_mask"]))
