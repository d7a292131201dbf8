"""The two ends of a run's trace."""

from typing import Final

from impl.failure import default_failure
from impl.types import uint64
from impl.vectorized.guards import UINT64_MAX
from impl.vectorized.records import RunEnd, RunHeader, RunSummary, TraceRecord

OPERATOR: Final = "UML_OS.Data.SummarizeRun_v1"


def summarize_run(
    *, dataset_key: str, cardinality: uint64, sampler_block_size: uint64, trace_records: list[TraceRecord]
) -> RunSummary:
    """Return the run header and the run end; a total above 2^64-1 is COUNTER_OVERFLOW (seed 000 §7; N33)."""
    total = sum(record.produced_count for record in trace_records)
    if total > UINT64_MAX:
        raise default_failure("COUNTER_OVERFLOW", OPERATOR)
    final_epoch = trace_records[-1].cursor_after.epoch if trace_records else 0
    per_stage = {stage: stage == "train" for stage in ("train", "eval", "infer")}
    return RunSummary(RunHeader(dataset_key, cardinality, sampler_block_size, per_stage), RunEnd(final_epoch, total))
