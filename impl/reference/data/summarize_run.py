"""The head and the end of a run's trace."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from impl.failure import default_failure
from impl.reference.canonical_cbor import encode_canonical
from impl.reference.data.batch_request import STAGES, is_shuffled
from impl.reference.data.cursors import Cursor
from impl.reference.data.virtual_order import TraceRecord
from impl.types import uint64


def derive_epoch_seed(kernel_replay_token: bytes, manifest_hash: bytes, dataset_key: str, epoch: int) -> bytes:
    """Return the 16 bytes that seed an epoch, from the cursor's epoch on every call (seed 000 §3.3; ruling NA06)."""
    preimage = ["nextbatch_epoch_seed_v2", kernel_replay_token, manifest_hash, dataset_key, epoch]
    return sha256(encode_canonical(preimage)).digest()[0:16]


def hash_epoch_seed(epoch_seed: bytes) -> bytes:
    """Return the hash that a trace shows in place of the epoch seed (ruling NA25)."""
    return sha256(encode_canonical(epoch_seed)).digest()


def derive_data_replay_t(
    kernel_replay_token: bytes, dataset_key: str, cursor: Cursor, world_size: int, rank: int
) -> bytes:
    """Return the call's contribution to the replay token (seed 000 §0.B; requirement N27)."""
    preimage = [
        "nextbatch_v2",
        kernel_replay_token,
        dataset_key,
        cursor.epoch,
        cursor.global_index,
        world_size,
        rank,
    ]
    return sha256(encode_canonical(preimage)).digest()


def hash_sampler_config(sampling_mode: str, sampler_block_size: int, drop_last: bool) -> bytes:
    """Return the hash of all that shapes the sequence apart from the seed (seed 000 §0.I; requirement N28)."""
    preimage = [
        sampling_mode,
        sampler_block_size,
        drop_last,
        "epoch_seed_rule_v2",
        "intra_block_affine_coprime_v1",
        "rank_contiguous_shard_v1",
    ]
    return sha256(encode_canonical(preimage)).digest()


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
