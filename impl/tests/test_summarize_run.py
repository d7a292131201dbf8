"""SummarizeRun: what a run sampled, where it ended, and how many samples it saw."""

from typing import Any

from impl.reference import backend
from impl.tests.batch_calls import call_batch, failure_of

METHOD = "UML_OS.Data.SummarizeRun_v1"


def params(trace_records: list[dict[str, Any]]) -> dict[str, Any]:
    return {"dataset_key": "d", "cardinality": 10, "sampler_block_size": 3, "trace_records": trace_records}


def traces(*positions: tuple[int, int]) -> list[dict[str, Any]]:
    return [call_batch(epoch=epoch, index=index)["trace_record"] for epoch, index in positions]


def test_summary_of_a_run_over_the_end_of_an_epoch() -> None:
    assert backend.call(METHOD, params(traces((0, 0), (0, 4), (0, 8), (1, 0)))) == {
        "run_header": {
            "dataset_key": "d",
            "cardinality": 10,
            "sampler_block_size": 3,
            "is_shuffled_per_stage": {"train": True, "eval": False, "infer": False},
        },
        "run_end": {"final_epoch": 1, "total_samples_seen": 14},
    }


def test_the_final_epoch_is_that_of_the_last_record() -> None:
    end = backend.call(METHOD, params(traces((3, 8), (1, 0))))["run_end"]
    assert end == {"final_epoch": 1, "total_samples_seen": 6}


def test_a_run_without_a_call_ends_in_epoch_0() -> None:
    assert backend.call(METHOD, params([]))["run_end"] == {"final_epoch": 0, "total_samples_seen": 0}


def test_a_total_above_64_bits_is_refused_and_the_largest_is_not() -> None:
    (one,) = traces((0, 0))
    half, other_half = {**one, "produced_count": 2**63}, {**one, "produced_count": 2**63 - 1}
    end = backend.call(METHOD, params([half, other_half]))["run_end"]
    assert end["total_samples_seen"] == 2**64 - 1
    assert failure_of(METHOD, params([half, half])) == {
        "failure_code": "COUNTER_OVERFLOW",
        "failure_operator": METHOD,
    }
