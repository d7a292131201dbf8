"""NextBatch refuses in one order: for each neighbouring pair of faults, and for each fault alone."""

from typing import Any

import pytest

from impl.tests.batch_calls import DATASET_HASH, NEXT_BATCH, batch_params, call_batch, failure_of

MAX_UINT64 = 2**64 - 1

PAIRS: list[tuple[dict[str, Any], str]] = [
    ({"key": "q", "world_size": 0}, "INVALID_DATASET_KEY"),
    ({"n": 0, "world_size": 0}, "CARDINALITY_MISMATCH"),
    ({"world_size": 0, "batch_size": 0}, "CONTRACT_VIOLATION"),
    ({"rank": 2, "world_size": 2, "batch_size": 3}, "CONTRACT_VIOLATION"),
    ({"batch_size": 0, "n": 2**33, "block": 2**32 + 1}, "BATCH_SIZE_INCONSISTENT"),
    ({"n": 2**33, "block": 2**32 + 1, "stage": "x"}, "CONTRACT_VIOLATION"),
    ({"block": 0, "stage": "x"}, "BATCH_SIZE_INCONSISTENT"),
    ({"stage": "x", "drop_last": True, "batch_size": 11}, "INVALID_STAGE_TYPE"),
    ({"stage": "x", "accountant_subsampling_mode": "NONE"}, "INVALID_STAGE_TYPE"),
    (
        {"accountant_subsampling_mode": "NONE", "drop_last": True, "batch_size": 11},
        "CONTRACT_VIOLATION",
    ),
    ({"drop_last": True, "batch_size": 11, "index": 10}, "BATCH_SIZE_INCONSISTENT"),
    ({"index": 10, "epoch": MAX_UINT64}, "GLOBAL_POSITION_EXCEEDS_CARDINALITY"),
    ({"stage": "eval", "n": MAX_UINT64, "index": MAX_UINT64 - 1}, "COUNTER_OVERFLOW"),
]

ALONE: list[tuple[dict[str, Any], str]] = [
    ({"key": "q"}, "INVALID_DATASET_KEY"),
    ({"key": ""}, "INVALID_DATASET_KEY"),
    ({"n": 0}, "CARDINALITY_MISMATCH"),
    ({"dataset_registry": {}}, "CARDINALITY_MISMATCH"),
    ({"dataset_registry": {DATASET_HASH.hex(): 11}}, "CARDINALITY_MISMATCH"),
    ({"dataset_registry": {"d": 10}}, "CARDINALITY_MISMATCH"),
    ({"world_size": 0}, "CONTRACT_VIOLATION"),
    ({"rank": 1}, "CONTRACT_VIOLATION"),
    ({"batch_size": 0}, "BATCH_SIZE_INCONSISTENT"),
    ({"batch_size": 0, "world_size": 2}, "BATCH_SIZE_INCONSISTENT"),
    ({"batch_size": 3, "world_size": 2}, "BATCH_SIZE_INCONSISTENT"),
    ({"batch_size": 2, "world_size": 4}, "BATCH_SIZE_INCONSISTENT"),
    ({"block": 0}, "BATCH_SIZE_INCONSISTENT"),
    ({"block": 0, "stage": "eval"}, "BATCH_SIZE_INCONSISTENT"),
    ({"n": 2**33, "block": 2**32 + 1}, "CONTRACT_VIOLATION"),
    ({"n": 2**33, "block": 2**32 + 1, "stage": "eval"}, "CONTRACT_VIOLATION"),
    ({"stage": "x"}, "INVALID_STAGE_TYPE"),
    ({"stage": ""}, "INVALID_STAGE_TYPE"),
    ({"stage": "TRAIN"}, "INVALID_STAGE_TYPE"),
    ({"accountant_subsampling_mode": "NONE"}, "CONTRACT_VIOLATION"),
    ({"accountant_subsampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT", "stage": "eval"}, "CONTRACT_VIOLATION"),
    ({"drop_last": True, "batch_size": 11}, "BATCH_SIZE_INCONSISTENT"),
    ({"index": 10}, "GLOBAL_POSITION_EXCEEDS_CARDINALITY"),
    ({"index": MAX_UINT64, "stage": "infer"}, "GLOBAL_POSITION_EXCEEDS_CARDINALITY"),
    ({"epoch": MAX_UINT64}, "COUNTER_OVERFLOW"),
    ({"batch_size": MAX_UINT64, "index": 1}, "COUNTER_OVERFLOW"),
]


@pytest.mark.parametrize(("changes", "code"), PAIRS)
def test_the_first_of_two_faults_decides(changes: dict[str, Any], code: str) -> None:
    assert failure_of(NEXT_BATCH, batch_params(**changes))["failure_code"] == code


@pytest.mark.parametrize(("changes", "code"), ALONE)
def test_each_fault_is_refused_alone(changes: dict[str, Any], code: str) -> None:
    assert failure_of(NEXT_BATCH, batch_params(**changes))["failure_code"] == code


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset_registry": {DATASET_HASH.hex(): 10}},
        {"batch_size": 4, "world_size": 4, "rank": 3},
        {"n": 2**33, "block": 2**32, "stage": "eval"},
        {"n": 10, "block": MAX_UINT64},
        {"drop_last": True, "batch_size": 10},
        {"drop_last": True, "batch_size": 11, "stage": "eval"},
        {"batch_size": 11},
        {"index": 9},
        {"epoch": MAX_UINT64 - 1},
        {"stage": "eval", "n": MAX_UINT64, "index": MAX_UINT64 - 4, "block": 3},
    ],
)
def test_the_last_value_that_a_guard_accepts(changes: dict[str, Any]) -> None:
    assert call_batch(**changes)["cursor_next"] != {"epoch": changes.get("epoch", 0), "global_index": 0}


def test_the_failure_record_is_whole_even_before_the_cursor_is_judged() -> None:
    record = failure_of(NEXT_BATCH, batch_params(key="q", t=5, index=99, world_size=0))
    assert set(record) == {"t", "failure_code", "failure_operator", "dataset_key", "data_replay_t"}
    assert record["t"] == 5
    assert record["failure_operator"] == NEXT_BATCH
    assert record["dataset_key"] == "q"


def test_the_failure_record_holds_the_replay_token_of_the_inputs_as_given() -> None:
    record = failure_of(NEXT_BATCH, batch_params(index=8, world_size=4, rank=3, batch_size=6))
    expected = "c63e9859f5f862efd3bac1f406a622b3b26406926c4765af2d2588e67003d8b0"
    assert record["data_replay_t"].hex() == expected
