"""The next batch of sample indices, from a cursor that the caller owns."""

from dataclasses import dataclass
from typing import Final

from impl.failure import ContractFailure
from impl.reference.data.batch_request import (
    BatchRequest,
    Manifest,
    first_fault,
    is_shuffled,
    resolve_block_size,
    resolve_drop_last,
    sampling_mode,
    subsampling_mode,
)
from impl.reference.data.cursors import Cursor
from impl.reference.data.summarize_run import (
    derive_data_replay_t,
    derive_epoch_seed,
    hash_epoch_seed,
    hash_sampler_config,
)
from impl.reference.data.virtual_order import SamplingMetadata, TraceRecord, plan_blocks, shuffled_indices
from impl.types import bytes32, uint32, uint64

OPERATOR: Final = "UML_OS.Data.NextBatch_v2"


@dataclass(frozen=True, slots=True)
class NextBatch:
    """Hold this rank's sample indices, the cursor after the call, and what the call says about itself."""

    batch_sample_indices: list[uint64]
    cursor_next: Cursor
    sampling_metadata: SamplingMetadata
    trace_record: TraceRecord


def next_batch(
    *,
    manifest: Manifest,
    dataset_key: str,
    world_size: uint32,
    rank: uint32,
    stage_type: str,
    cursor_in: Cursor,
    kernel_replay_token: bytes32,
    manifest_hash: bytes32,
    t: uint64,
    dataset_registry: dict[str, uint64] | None = None,
    accountant_subsampling_mode: str | None = None,
) -> NextBatch:
    """Return the rank's slice of the next global batch and the advanced cursor.

    The concatenation of all ranks' slices does not depend on the world size. Fails with a code of seed 000 §0.K,
    CONTRACT_VIOLATION or COUNTER_OVERFLOW, and a record of five fields (seed 000 §6; ruling NA13).
    """
    data_replay_t = derive_data_replay_t(kernel_replay_token, dataset_key, cursor_in, world_size, rank)
    fault = first_fault(
        BatchRequest(
            manifest,
            dataset_key,
            world_size,
            rank,
            stage_type,
            cursor_in,
            dataset_registry,
            accountant_subsampling_mode,
        )
    )
    if fault is not None:
        raise ContractFailure(
            fault,
            {
                "t": t,
                "failure_code": fault,
                "failure_operator": OPERATOR,
                "dataset_key": dataset_key,
                "data_replay_t": data_replay_t,
            },
        )

    n = manifest.datasets[dataset_key].cardinality
    global_batch_size = manifest.global_batch_size
    sampler_block_size = resolve_block_size(manifest)
    drop_last = resolve_drop_last(manifest)
    shuffled = is_shuffled(stage_type)
    epoch_seed = derive_epoch_seed(kernel_replay_token, manifest_hash, dataset_key, cursor_in.epoch)

    # The last batch of an epoch is cut at the limit and never wraps, in eval and infer as well (ruling NA01).
    epoch_limit = n
    if shuffled and drop_last:
        epoch_limit = n // global_batch_size * global_batch_size
    remaining = max(0, epoch_limit - cursor_in.global_index)
    produced_count = min(global_batch_size, remaining)

    # Late ranks of a short batch hold few indices or none (ruling NA22).
    micro_batch_size = global_batch_size // world_size
    rank_start = cursor_in.global_index + rank * micro_batch_size
    rank_end = min(rank_start + micro_batch_size, epoch_limit)
    positions = range(rank_start, rank_end)

    blocks_materialized = 0
    if shuffled:
        plan = plan_blocks(n, sampler_block_size, epoch_seed)
        blocks_materialized = plan.num_full_blocks
        batch_sample_indices = shuffled_indices(plan, positions)
    else:
        batch_sample_indices = list(positions)

    cursor_next = advance(cursor_in, produced_count, epoch_limit)

    # Two roundings before the division, as the seed's float64(B) / float64(N) says (requirement N29).
    effective_q = float(global_batch_size) / float(n)
    sampler_config_hash = hash_sampler_config(sampling_mode(stage_type), sampler_block_size, drop_last)

    sampling_metadata = SamplingMetadata(
        epoch=cursor_in.epoch,
        global_position=cursor_in.global_index,
        is_shuffled=shuffled,
        effective_batch_size=global_batch_size,
        produced_count=produced_count,
        blocks_materialized=blocks_materialized,
        subsampling_mode=subsampling_mode(stage_type),
        sampling_mode=sampling_mode(stage_type),
        effective_q=effective_q,
        sampler_block_size=sampler_block_size,
        sampler_config_hash=sampler_config_hash,
    )
    trace_record = TraceRecord(
        t=t,
        epoch=cursor_in.epoch,
        global_position=cursor_in.global_index,
        is_shuffled=shuffled,
        micro_batch_size=micro_batch_size,
        global_batch_size=global_batch_size,
        subsampling_mode=subsampling_mode(stage_type),
        sampling_mode=sampling_mode(stage_type),
        sampler_config_hash=sampler_config_hash,
        effective_q=effective_q,
        epoch_seed_hash=hash_epoch_seed(epoch_seed),
        data_replay_t=data_replay_t,
        cursor_before=cursor_in,
        cursor_after=cursor_next,
        produced_count=produced_count,
    )
    return NextBatch(batch_sample_indices, cursor_next, sampling_metadata, trace_record)


def advance(cursor: Cursor, produced_count: int, epoch_limit: int) -> Cursor:
    """Return the cursor after a batch: at the epoch's limit it starts the next epoch (seed 000 §6.12, §6.13)."""
    global_index = cursor.global_index + produced_count
    if global_index >= epoch_limit:
        return Cursor(epoch=cursor.epoch + 1, global_index=0)
    return Cursor(epoch=cursor.epoch, global_index=global_index)
