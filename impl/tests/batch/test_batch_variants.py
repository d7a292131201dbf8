"""Children in a seeded order, one R for every batch, rows split by hash: asked for, and never the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.batch.shop import DECLARATION, Size, write_shop
from impl.failure import ContractFailure
from impl.library.batch import BatchBuilder, Database, open_database, split_rows
from impl.reference import backend as reference
from impl.reference.batch import child_order
from impl.vectorized.batch.arrays import tensor_of
from impl.vectorized.batch.collect import FOREVER, Limits, Walker
from impl.vectorized.batch.crowd import Crowd
from impl.vectorized.batch.flat import flatten, hashes, mixed, seeded_children


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Database:
    file: Path = tmp_path_factory.mktemp("shop") / "shop.db"
    write_shop(file, Size(customers=6, orders=400, items=500))
    return open_database(file, DECLARATION)


def test_the_hash_is_splitmix64() -> None:
    # The first outputs for the seed 1234567, as the generator's author publishes them.
    states = (np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) + np.uint64(1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mixed(states).tolist() == published
    assert [child_order.mixed(state) for state in states.tolist()] == published
    assert child_order.mixed(0) == 0xE220A8397B1DCDAF
    assert len(set(hashes(5, np.arange(1000)).tolist())) == 1000


def test_seeded_children_are_the_same_children_in_another_order(shop: Database) -> None:
    plain = flatten(shop).keys
    first, again, other = (seeded_children(plain, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.children.items, again.children.items)
    assert not np.array_equal(first.children.items, other.children.items)
    for row in range(len(plain.cells)):
        part = slice(plain.children.starts[row], plain.children.starts[row + 1])
        assert sorted(first.children.items[part].tolist()) == plain.children.items[part].tolist()


@pytest.mark.parametrize("width", [None, 1, 3])
def test_both_walks_agree_on_seeded_children(shop: Database, width: int | None) -> None:
    keys = seeded_children(flatten(shop).keys, 7)
    limits = Limits(60, None, 30, width)
    seeds = np.arange(len(keys.cells))[::37]
    crowd = Crowd(keys, seeds, np.full(len(seeds), FOREVER), limits).rows()
    walker = Walker(keys)
    assert [rows.tolist() for rows in crowd] == [list(walker.walk(int(seed), FOREVER, limits)) for seed in seeds]


def test_every_child_of_a_parent_is_chosen_by_some_seed(shop: Database) -> None:
    plain = flatten(shop).keys
    starts = plain.children.starts
    parent = int(np.argmax(np.diff(starts) > 20))
    children = plain.children.items[starts[parent] : starts[parent + 1]]
    chosen = [int(seeded_children(plain, seed).children.items[starts[parent]]) for seed in range(40)]
    assert set(chosen) <= set(children.tolist())
    assert len(set(chosen)) > 15


def test_fixed_rows_make_static_shapes(shop: Database) -> None:
    plain = BatchBuilder(shop, "orders", "total", sequence_length=64, max_rows=12)
    fixed = BatchBuilder(shop, "orders", "total", sequence_length=64, max_rows=12, fixed_rows=20)
    few = BatchBuilder(shop, "orders", "total", sequence_length=64, fixed_rows=5)
    for rows in ([0], [1, 2], [399, 5, 7]):
        one, other = plain.batch(rows), fixed.batch(rows)
        most = one.fk_adj.shape[1]
        assert other.fk_adj.shape == (len(rows), 20, 20)
        assert np.array_equal(other.fk_adj[:, :most, :most], one.fk_adj)
        assert int(other.fk_adj.sum()) == int(one.fk_adj.sum())
        assert np.array_equal(one.out_perm, other.out_perm)
        assert few.batch(rows).fk_adj.shape == (len(rows), 5, 5)
        assert int(few.batch(rows).seq_row_ids.max()) < 5


def test_the_defaults_are_the_rule_of_the_source(shop: Database) -> None:
    plain = BatchBuilder(shop, "orders", "total", sequence_length=64, child_width=2).batch([3])
    seeded = BatchBuilder(shop, "orders", "total", sequence_length=64, child_width=2, children_seed=3).batch([3])
    assert plain.fk_adj.shape[1] == int(plain.seq_row_ids.max()) + 1
    assert not np.array_equal(plain.numeric_values, seeded.numeric_values)


def test_rows_are_split_by_their_hash(shop: Database) -> None:
    train, validation, test = split_rows(shop, "orders")
    assert sorted(np.concatenate([train, validation, test]).tolist()) == list(range(400))
    assert 280 < len(train) < 360
    assert min(len(validation), len(test)) > 15
    assert split_rows(shop, "orders", seed=1)[0].tolist() != train.tolist()
    customer = shop.tables[2].columns[1]
    assert customer.name == "customer"
    halves = split_rows(shop, "orders", (1, 1), by="customer")
    assert not set(customer.values[halves[0]].tolist()) & set(customer.values[halves[1]].tolist())
    assert all(len(half) for half in halves)


def test_a_batch_of_split_rows_and_variants_is_that_of_the_contract(shop: Database, tmp_path: Path) -> None:
    # Ruling BA35: a split only chooses seeds; what changes the tensors is in the contract.
    write_shop(tmp_path / "shop.db", Size(customers=6, orders=400, items=500))
    loaded = reference.call(
        "Batch.LoadDatabase", {"root": str(tmp_path), "path": "shop.db", "declaration": DECLARATION}
    )
    rows = split_rows(shop, "orders")[1][:3].tolist()
    limits: dict[str, Any] = {
        "sequence_length": 60, "max_hops": 3, "child_width": 2, "children_seed": 5, "fixed_rows": 9,
    }  # fmt: skip
    expected = reference.call(
        "Batch.Build",
        {
            "database": loaded["database"],
            "task": {"table": "orders", "column": "total"},
            "seeds": [{"row": row} for row in rows],
            "config": {**limits, "cutoff": "children"},
        },
    )
    batch = BatchBuilder(shop, "orders", "total", **limits).batch(rows)
    assert len(expected) == 16
    for field, tensor in expected.items():
        assert tensor_of(getattr(batch, field)) == tensor, field


@pytest.mark.parametrize(("rows", "code"), [(0, "CONTRACT_VIOLATION"), (65_537, "LIMIT_EXCEEDED")])
def test_a_number_of_fixed_rows_is_refused_as_by_the_contract(shop: Database, rows: int, code: str) -> None:
    BatchBuilder(shop, "orders", "total", sequence_length=64, fixed_rows=65_536)
    with pytest.raises(ContractFailure) as refused:
        BatchBuilder(shop, "orders", "total", sequence_length=64, fixed_rows=rows)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("table", "fields", "code"),
    [
        ("order", {}, "UNKNOWN_TABLE"),
        ("orders", {"by": "costumer"}, "UNKNOWN_TABLE"),
        ("orders", {"by": "total"}, "CONTRACT_VIOLATION"),
        ("orders", {"shares": ()}, "CONTRACT_VIOLATION"),
        ("orders", {"shares": (1, 0)}, "CONTRACT_VIOLATION"),
        ("orders", {"seed": -1}, "CONTRACT_VIOLATION"),
    ],
)
def test_a_wrong_split_is_refused(shop: Database, table: str, fields: dict[str, object], code: str) -> None:
    with pytest.raises(ContractFailure) as refused:
        split_rows(shop, table, **fields)  # type: ignore[arg-type]
    assert refused.value.code == code
