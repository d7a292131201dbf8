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
from impl.vectorized.batch.flat import hashes, mixed


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
