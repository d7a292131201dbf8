"""Every operator that the vectorized backend answers for, and the helpers, which are small."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from impl.arguments import MAX_UINT64
from impl.failure import default_failure
from impl.types import bytes16, uint64
from impl.vectorized.affine import MAX_BLOCK_LENGTH, Evaluation, Rows
from impl.vectorized.batch.operators import BATCH_OPERATORS
from impl.vectorized.block_order import Epoch, Placement
from impl.vectorized.emit import emit
from impl.vectorized.next_batch import NextBatch
from impl.vectorized.preimages import decode_cursors, encode_cursors
from impl.vectorized.records import BlockOrder, OriginalIndex, RunEnd, RunHeader, RunSummary, TraceRecord

PERMUTE: Final = "UML_OS.Data.SeededBlockPermute_v1"
MAP: Final = "UML_OS.Data.SeededIntraBlockMap_v1"
SEED_LENGTH: Final = 16


class Helpers:
    """Answer calls of the helpers; the answer depends on the arguments alone."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    def seeded_block_permute(self, *, num_blocks: uint64, epoch_seed: bytes16) -> BlockOrder:
        """Return the shuffled block ids, shape (num_blocks,).

        num_blocks = 0, or a seed that is not 16 bytes, is CONTRACT_VIOLATION (seed 000 §5; completion N14/N16).
        """
        if num_blocks == 0 or len(epoch_seed) != SEED_LENGTH:
            raise default_failure("CONTRACT_VIOLATION", PERMUTE)
        return BlockOrder(self._placement.block_order(epoch_seed, num_blocks).copy())

    def seeded_intra_block_map(
        self, *, block_id: uint64, local_pos: uint64, block_size: uint64, epoch_seed: bytes16, cardinality: uint64
    ) -> OriginalIndex:
        """Return the sample index of a position inside a block.

        A block outside the cardinality or longer than 2^32, or a position outside the block, is CONTRACT_VIOLATION,
        also where the block has one element (seed 000 §5; ruling NA18, completion N14/N16).
        """
        start = block_id * block_size
        length = min(block_size, cardinality - start)
        if not (0 < length <= MAX_BLOCK_LENGTH and local_pos < length and len(epoch_seed) == SEED_LENGTH):
            raise default_failure("CONTRACT_VIOLATION", MAP)
        block = self._placement.block_map(Epoch(epoch_seed, cardinality, block_size), block_id)
        return OriginalIndex(start + (block.multiplier * local_pos + block.offset) % length)


OPERATOR: Final = "UML_OS.Data.SummarizeRun_v1"


def summarize_run(
    *, dataset_key: str, cardinality: uint64, sampler_block_size: uint64, trace_records: list[TraceRecord]
) -> RunSummary:
    """Return the run header and the run end; a total above 2^64-1 is COUNTER_OVERFLOW (seed 000 §7; N33)."""
    total = sum(record.produced_count for record in trace_records)
    if total > MAX_UINT64:
        raise default_failure("COUNTER_OVERFLOW", OPERATOR)
    final_epoch = trace_records[-1].cursor_after.epoch if trace_records else 0
    per_stage = {stage: stage == "train" for stage in ("train", "eval", "infer")}
    return RunSummary(RunHeader(dataset_key, cardinality, sampler_block_size, per_stage), RunEnd(final_epoch, total))


def operators(evaluation: Evaluation | None = None) -> Mapping[str, Callable[..., Any]]:
    """Return a fresh table of operators with a memory of its own; by default blocks are evaluated by rows."""
    placement = Placement(evaluation or Rows())
    helpers = Helpers(placement)
    return MappingProxyType(
        {
            "UML_OS.Data.NextBatch_v2": NextBatch(placement).next_batch,
            "UML_OS.Data.SeededBlockPermute_v1": helpers.seeded_block_permute,
            "UML_OS.Data.SeededIntraBlockMap_v1": helpers.seeded_intra_block_map,
            "UML_OS.Data.SummarizeRun_v1": summarize_run,
            "UML_OS.Data.EncodeCursors_v1": encode_cursors,
            "UML_OS.Data.DecodeCursors_v1": decode_cursors,
            "UML_OS.Error.Emit_v1": emit,
            **BATCH_OPERATORS,
        }
    )
