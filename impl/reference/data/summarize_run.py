"""The head and the end of a run's trace."""

from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.data.sampling import TraceRecord
from impl.reference.data.stage import STAGES, is_shuffled
from impl.types import uint64

OPERATOR: Final = "UML_OS.Data.SummarizeRun_v1"
MAX_UINT64: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class RunHeader:
    """Describe what a run samples (seed 000 §7)."""

    dataset_key: str
    cardinality: uint64
    sampler_block_size: uint64
    is_shuffled_per_stage: dict[str, bool]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """Total a run: the epoch it ended in and the number of samples over all its calls (seed 000 §7)."""

    final_epoch: uint64
    total_samples_seen: uint64


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Hold the two outer records of a run's trace."""

    run_header: RunHeader
    run_end: RunEnd


def summarize_run(
    *, dataset_key: str, cardinality: uint64, sampler_block_size: uint64, trace_records: list[TraceRecord]
) -> RunSummary:
    """Summarize the trace records of a run; a total above 2^64 - 1 is COUNTER_OVERFLOW (seed 000 §7)."""
    final_epoch = 0
    total_samples_seen = 0
    for record in trace_records:
        final_epoch = record.cursor_after.epoch
        total_samples_seen += record.produced_count
    if total_samples_seen > MAX_UINT64:
        raise default_failure("COUNTER_OVERFLOW", OPERATOR)
    is_shuffled_per_stage = {stage: is_shuffled(stage) for stage in STAGES}
    return RunSummary(
        run_header=RunHeader(dataset_key, cardinality, sampler_block_size, is_shuffled_per_stage),
        run_end=RunEnd(final_epoch, total_samples_seen),
    )
