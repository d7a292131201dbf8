"""The whole batch and its cells, on databases small enough to read."""

from typing import Any

import pytest

from impl.tests.batch.batch_database import agreed, bookstore, column, database, nested, table, tensor

TASK = {"table": "orders", "column": "price"}
CONFIG = {"sequence_length": 16, "cutoff": "children"}


def build(held: Any, task: Any = None, seeds: Any = None, **config: Any) -> dict[str, Any]:
    """What both backends build."""
    result: dict[str, Any] = agreed(
        "Batch.Build",
        {"database": held, "task": task or TASK, "seeds": seeds or [{"row": 0}], "config": {**CONFIG, **config}},
    )
    return result


def first(result: dict[str, Any], name: str) -> list[Any]:
    """A tensor's first sequence."""
    line: list[Any] = nested(result[name])[0]
    return line


def single(held_column: dict[str, Any], **config: Any) -> dict[str, Any]:
    """The batch of one table of one column."""
    return build(database(table("t", [held_column])), {"table": "t", "column": held_column["name"]}, **config)


def test_the_bookstore_from_order_1() -> None:
    batch = build(bookstore())
    # Tables by name: books (columns 0, 1), customers (2, 3), orders (4 to 7).
    assert first(batch, "column_ids") == [4, 5, 6, 7, 2, 3, 0, 1, 4, 5, 6, 7, 4, 5, 6, 7]
    assert first(batch, "seq_row_ids") == [0] * 4 + [1, 1, 2, 2] + [3] * 4 + [4] * 4
    assert first(batch, "semantic_types") == [0, 0, 0, 1, 0, 5, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1]
    assert first(batch, "is_null") == [False] * 11 + [True] + [False] * 4
    assert first(batch, "numeric_values") == [0, 0, 0, 1.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -4.0]
    assert first(batch, "is_target") == [i == 3 for i in range(16)]
    assert not any(first(batch, "is_padding"))
    edges = [(r1, r2) for r1 in range(5) for r2 in range(5) if nested(batch["fk_adj"])[0][r1][r2]]
    assert edges == [(0, 1), (0, 2), (3, 1), (4, 1)]
    assert first(batch, "text_embed_ids") == [0, 0, 0, 0, 0, 0, 0, 1] + [0] * 8
    assert nested(batch["text_batch_embeddings"]) == [[0.5, -1.0], [2.0, 0.25]]


def test_shapes_and_dtypes_are_those_of_the_seed() -> None:
    batch = build(bookstore(), seeds=[{"row": 0}, {"row": 1}, {"row": 3}], max_rows=2)
    cells, length, width = 3, 16, 2
    assert [(name, value.dtype, value.shape) for name, value in batch.items()] == [
        ("semantic_types", "int8", (cells, length)),
        ("column_ids", "int32", (cells, length)),
        ("seq_row_ids", "uint16", (cells, length)),
        ("is_null", "bool", (cells, length)),
        ("numeric_values", "float32", (cells, length)),
        ("timestamp_values", "float32", (cells, length, 15)),
        ("bool_values", "bool", (cells, length)),
        ("categorical_embed_ids", "uint32", (cells, length)),
        ("text_embed_ids", "uint32", (cells, length)),
        ("is_target", "bool", (cells, length)),
        ("is_padding", "bool", (cells, length)),
        ("fk_adj", "bool", (cells, 2, 2)),
        ("col_perm", "uint16", (cells, length)),
        ("out_perm", "uint16", (cells, length)),
        ("in_perm", "uint16", (cells, length)),
        ("text_batch_embeddings", "float16", (2, width)),
    ]


def test_the_size_figures_of_the_seed() -> None:
    # 200 rows in one sequence, 32 sequences, 1,024 positions.
    rows = 200
    chain = table("t", [column("next", "identifier", range(rows))], [("next", "t", [*range(1, rows), None])])
    batch = build(database(chain), {"table": "t", "column": "next"}, [{"row": 0}] * 32, sequence_length=1024)
    assert len(batch["fk_adj"].data) == 1_280_000
    assert sum(len(batch[name].data) for name in ("col_perm", "out_perm", "in_perm")) == 196_608


def test_padding_is_zero_everywhere_and_a_suffix() -> None:
    batch = build(bookstore(), max_hops=0, sequence_length=6)
    assert first(batch, "is_padding") == [False] * 4 + [True] * 2
    for name in ("semantic_types", "column_ids", "seq_row_ids", "is_null", "numeric_values", "bool_values",
                 "categorical_embed_ids", "text_embed_ids", "is_target"):  # fmt: skip
        assert first(batch, name)[4:] == [0, 0]
    assert first(batch, "timestamp_values")[4:] == [[0.0] * 15] * 2
    for name in ("col_perm", "out_perm", "in_perm"):
        assert first(batch, name)[4:] == [4, 5]


def test_a_row_cut_in_its_middle_keeps_its_id() -> None:
    batch = build(bookstore(), sequence_length=5)
    assert first(batch, "seq_row_ids") == [0, 0, 0, 0, 1]
    assert batch["fk_adj"].shape == (1, 2, 2)


def test_ignored_columns_make_no_cells_but_are_counted_and_their_keys_hold() -> None:
    items = table("items", [column("key", "ignored", [0, 0]), column("n", "numerical", [1.0, 2.0])],
                  [("key", "items", [1, None])])  # fmt: skip
    batch = build(database(items), {"table": "items", "column": "n"}, sequence_length=3)
    assert first(batch, "column_ids") == [1, 1, 0]
    assert first(batch, "seq_row_ids") == [0, 1, 0]
    assert nested(batch["fk_adj"])[0] == [[False, True], [False, False]]


def test_a_row_of_ignored_columns_only_has_an_id_and_no_cell() -> None:
    links = table("links", [column("x", "ignored", [0])], [("x", "nodes", [0])])
    nodes = table("nodes", [column("n", "numerical", [3.0])])
    batch = build(database(nodes, links), {"table": "nodes", "column": "n"}, sequence_length=2)
    assert first(batch, "is_padding") == [False, True]
    assert nested(batch["fk_adj"])[0] == [[False, False], [True, False]]


def test_tables_are_numbered_by_their_names_in_utf8_whatever_their_order() -> None:
    # In UTF-16 the last two would change places.
    names = ["B", "a", "é", "ｚ", "\U0001f600"]
    for order in (names, names[::-1]):
        held = database(*(table(name, [column("x", "identifier", [0])]) for name in order))
        for place, name in enumerate(names):
            batch = build(held, {"table": name, "column": "x"}, sequence_length=1)
            assert first(batch, "column_ids") == [place]


def test_a_key_to_the_row_itself_is_on_the_diagonal_and_two_keys_to_one_row_are_one_bit() -> None:
    held = table(
        "t",
        [column("a", "identifier", [0, 0]), column("b", "identifier", [0, 0])],
        [("a", "t", [0, 0]), ("b", "t", [None, 0])],
    )
    batch = build(database(held), {"table": "t", "column": "a"})
    assert nested(batch["fk_adj"])[0] == [[True, False], [True, False]]


def test_r_is_the_largest_number_of_rows_in_the_batch() -> None:
    held = table("t", [column("a", "identifier", [0, 0, 0])], [("a", "t", [1, None, None])])
    batch = build(database(held), {"table": "t", "column": "a"}, [{"row": 2}, {"row": 0}])
    assert batch["fk_adj"].shape == (2, 2, 2)
    assert nested(batch["fk_adj"]) == [[[False] * 2] * 2, [[False, True], [False, False]]]


SLOTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (column("x", "numerical", [2.5], mean=0.5, deviation=4.0), {"numeric_values": 0.5}),
    (column("x", "numerical", [2.5], mean=0.5, deviation=0.0), {"numeric_values": 0.0}),
    (column("x", "boolean", [True]), {"bool_values": True}),
    (column("x", "categorical", [2], cat_emb_start=7, categories=["a", "b", "c"]), {"categorical_embed_ids": 9}),
    (column("x", "identifier", [None]), {"is_null": False}),
    (column("x", "numerical", [3.5], is_null=[True]), {"is_null": True, "numeric_values": 0.0, "is_target": True}),
]


@pytest.mark.parametrize(
    ("held", "expected"), SLOTS, ids=["z-score", "no-deviation", "truth", "category", "never-null", "null-target"]
)
def test_a_value_stands_in_the_slot_of_its_type(held: dict[str, Any], expected: dict[str, Any]) -> None:
    batch = single(held, sequence_length=1)
    assert {name: first(batch, name) for name in expected} == {name: [value] for name, value in expected.items()}


def test_a_z_score_is_rounded_once_after_double_arithmetic() -> None:
    # In binary32 throughout, 16777217 - 1 would be 16777215 or 16777216, divided by 3 another number.
    batch = single(column("x", "numerical", [16777217.0], mean=1.0, deviation=3.0), sequence_length=1)
    assert batch["numeric_values"].data.hex() == tensor("float32", [16777216.0 / 3.0]).data.hex()


def test_every_sequence_has_one_target_on_no_padding() -> None:
    batch = build(bookstore(), seeds=[{"row": row} for row in range(4)])
    for targets, padding in zip(nested(batch["is_target"]), nested(batch["is_padding"]), strict=True):
        assert [i for i, flag in enumerate(targets) if flag] == [3]
        assert not padding[3]


def test_seeds_alone_and_together_give_the_same_sequences() -> None:
    held = bookstore()
    together = build(held, seeds=[{"row": 0}, {"row": 1}])
    for place in range(2):
        alone = build(held, seeds=[{"row": place}])
        for name in ("column_ids", "seq_row_ids", "is_null", "numeric_values", "is_target", "col_perm", "out_perm"):
            assert nested(together[name])[place] == first(alone, name)


def test_texts_are_numbered_by_first_appearance_over_the_batch() -> None:
    shape = (2, 4)
    table_of_ten = tensor("float16", range(10), (10, 1))
    params = {
        "text_embed_ids": tensor("uint32", [9, 4, 9, 8, 4, 7, 2, 3], shape),
        "semantic_types": tensor("int8", [5, 5, 5, 5, 5, 5, 1, 5], shape),
        "is_null": tensor("bool", [0, 0, 0, 1, 0, 0, 0, 0], shape),
        "is_padding": tensor("bool", [0, 0, 0, 0, 0, 0, 0, 1], shape),
        "text_embeddings": table_of_ten,
    }
    result = agreed("Batch.RemapText", params)
    assert nested(result["text_embed_ids"]) == [[0, 1, 0, 0], [1, 2, 0, 0]]
    assert nested(result["text_batch_embeddings"]) == [[9.0], [4.0], [7.0]]


TEXTS = {
    "text_embed_ids": tensor("uint32", [0], (1, 1)),
    "semantic_types": tensor("int8", [5], (1, 1)),
    "is_null": tensor("bool", [0], (1, 1)),
    "is_padding": tensor("bool", [0], (1, 1)),
    "text_embeddings": tensor("float16", [0], (1, 1)),
}
WRONG_TEXTS = [
    ("text_embed_ids", tensor("uint32", [1], (1, 1))),
    ("text_embed_ids", tensor("uint32", [0], (1,))),
    ("is_null", tensor("bool", [0, 0], (1, 2))),
    ("text_embeddings", tensor("float16", [0], (1,))),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG_TEXTS)
def test_texts_that_do_not_fit_are_refused(name: str, wrong: Any) -> None:
    assert agreed("Batch.RemapText", {**TEXTS, name: wrong})["failure_code"] == "CONTRACT_VIOLATION"


def test_the_masks_of_two_rows_and_a_padding() -> None:
    params = {
        "column_ids": tensor("int32", [0, 1, 0, 0], (1, 4)),
        "seq_row_ids": tensor("uint16", [0, 0, 1, 0], (1, 4)),
        "is_padding": tensor("bool", [0, 0, 0, 1], (1, 4)),
        "fk_adj": tensor("bool", [0, 1, 0, 0], (1, 2, 2)),
    }
    masks = agreed("Batch.AttentionMasks", params)
    ones = {name: [[int(flag) for flag in line] for line in nested(mask)[0]] for name, mask in masks.items()}
    assert ones == {
        "column_mask": [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]],
        "outbound_mask": [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
        "inbound_mask": [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]],
    }


SEED_OF = {"row": 0, "task": {"table": "orders", "column": "id"}}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"task": {"table": "order", "column": "price"}}, "UNKNOWN_TABLE"),
        ({"task": {"table": "orders", "column": "name"}}, "UNKNOWN_TABLE"),
        ({"seeds": [{"row": 0}, SEED_OF]}, "MIXED_TASKS"),
        ({"seeds": [SEED_OF], "config": {**CONFIG, "sequence_length": 0}}, "MIXED_TASKS"),
        ({"seeds": []}, "CONTRACT_VIOLATION"),
        ({"config": {**CONFIG, "sequence_length": 0}}, "CONTRACT_VIOLATION"),
        ({"config": {**CONFIG, "max_rows": 0}, "seeds": [{"row": 9}]}, "CONTRACT_VIOLATION"),
        ({"config": {**CONFIG, "sequence_length": 65_537}, "seeds": [{"row": 9}]}, "LIMIT_EXCEEDED"),
        ({"seeds": [{"row": 4}], "config": {**CONFIG, "sequence_length": 1}}, "ROW_NOT_FOUND"),
        ({"config": {**CONFIG, "sequence_length": 3}}, "TARGET_TRUNCATED"),
    ],
)
def test_what_is_refused_and_which_fault_comes_first(changes: dict[str, Any], code: str) -> None:
    params = {"database": bookstore(), "task": TASK, "seeds": [{"row": 0}], "config": CONFIG, **changes}
    assert agreed("Batch.Build", params) == {"failure_code": code, "failure_operator": "Batch.Build"}
