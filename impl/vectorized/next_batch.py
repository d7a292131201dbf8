"""The sampler: the rank's slice of the next global batch, and what the call says about itself."""

from typing import Final

import numpy as np

from impl.failure import ContractFailure
from impl.types import bytes32, uint32, uint64
from impl.vectorized import preimages
from impl.vectorized.arrays import Recent
from impl.vectorized.block_order import Epoch, Placement
from impl.vectorized.records import (
    OPERATOR,
    Batch,
    Cursor,
    DataSection,
    Manifest,
    SamplingMetadata,
    TraceRecord,
    refusal,
)

DEFAULT_BLOCK_SIZE: Final = 1 << 20
ABSENT: Final = DataSection()
HASHES_KEPT: Final = 256

# Shuffled or not -> subsampling_mode, sampling_mode (seed 000 §0.I).
MODES: Final = {
    True: ("SHUFFLE_WITHOUT_REPLACEMENT", "SHUFFLE_WITHOUT_REPLACEMENT_BLOCK_AFFINE_V1"),
    False: ("NONE", "SEQUENTIAL_V1"),
}


class NextBatch:
    """Answer calls of the sampler, remembering hashes; an answer depends on the arguments alone (requirement N25)."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._epochs: Recent[tuple[bytes, bytes, str, int, int, int], tuple[Epoch, bytes]] = Recent(HASHES_KEPT, _one)
        self._configs: Recent[tuple[str, int, bool], bytes] = Recent(HASHES_KEPT, _one)

    def next_batch(
        self,
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
    ) -> Batch:
        """Return the rank's indices, the next cursor, the metadata and the trace record.

        Indices have shape (samples of this rank,), possibly empty. Raises ContractFailure with the five-field record
        for every fault of ruling NA13, in its order (seed 000 §6; rulings NA01, NA09, NA11, NA22, NA28).
        """
        section = manifest.data or ABSENT
        block_size = DEFAULT_BLOCK_SIZE if section.sampler_block_size is None else section.sampler_block_size
        drop_last = bool(section.drop_last)
        batch_size = manifest.global_batch_size
        shuffled = stage_type == "train"
        subsampling_mode, sampling_mode = MODES[shuffled]
        dataset = manifest.datasets.get(dataset_key)
        epoch, position = cursor_in.epoch, cursor_in.global_index
        replay = preimages.data_replay_t(kernel_replay_token, dataset_key, epoch, position, world_size, rank)
        refused = refusal(
            dataset_key=dataset_key,
            dataset=dataset,
            registry=dataset_registry,
            world_size=world_size,
            rank=rank,
            global_batch_size=batch_size,
            block_size=block_size,
            drop_last=drop_last,
            stage_type=stage_type,
            declared_mode=accountant_subsampling_mode,
            emitted_mode=subsampling_mode,
            cursor=cursor_in,
        )
        if refused is not None:
            raise failure(*refused, t, dataset_key, replay)
        assert dataset is not None  # the first thing that is refused

        cardinality = dataset.cardinality
        limit = cardinality - cardinality % batch_size if shuffled and drop_last else cardinality
        produced = max(0, min(batch_size, limit - position))
        micro_batch_size = batch_size // world_size
        first = position + rank * micro_batch_size
        stop = min(first + micro_batch_size, limit)
        order, seed_hash = self._epoch(kernel_replay_token, manifest_hash, dataset_key, epoch, cardinality, block_size)
        if shuffled:
            blocks = order.full_blocks
            indices = self._placement.indices(order, first, stop)
        else:
            blocks = 0
            indices = np.arange(min(first, stop), stop, dtype=np.uint64)
        after = position + produced
        cursor_next = Cursor(epoch, after) if after < limit else Cursor(epoch + 1, 0)
        config_hash = self._config_hash(sampling_mode, block_size, drop_last)
        effective_q = float(batch_size) / float(cardinality)
        return Batch(
            indices,
            cursor_next,
            SamplingMetadata(
                epoch, position, shuffled, batch_size, produced, blocks,
                subsampling_mode, sampling_mode, effective_q, block_size, config_hash,
            ),
            TraceRecord(
                t, epoch, position, shuffled, micro_batch_size, batch_size,
                subsampling_mode, sampling_mode, config_hash, effective_q, seed_hash, replay,
                cursor_in, cursor_next, produced,
            ),
        )  # fmt: skip

    def _epoch(
        self, token: bytes, manifest_hash: bytes, dataset_key: str, number: int, cardinality: int, block_size: int
    ) -> tuple[Epoch, bytes]:
        """Return the epoch and the hash of its seed."""
        key = (token, manifest_hash, dataset_key, number, cardinality, block_size)
        found = self._epochs.get(key)
        if found is None:
            seed = preimages.epoch_seed(token, manifest_hash, dataset_key, number)
            found = self._epochs.keep(key, (Epoch(seed, cardinality, block_size), preimages.epoch_seed_hash(seed)))
        return found

    def _config_hash(self, sampling_mode: str, block_size: int, drop_last: bool) -> bytes:
        key = (sampling_mode, block_size, drop_last)
        found = self._configs.get(key)
        if found is None:
            found = self._configs.keep(key, preimages.sampler_config_hash(*key))
        return found


def failure(code: str, sentence: str, t: int, dataset_key: str, replay: bytes) -> ContractFailure:
    """Return the failure of a call, with its five-field record (ruling NA13)."""
    return ContractFailure(
        code,
        {
            "t": t,
            "failure_code": code,
            "failure_operator": OPERATOR,
            "dataset_key": dataset_key,
            "data_replay_t": replay,
        },
        sentence,
    )


def _one(_: object) -> int:
    return 1
