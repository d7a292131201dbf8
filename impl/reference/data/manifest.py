"""The parts of a manifest that the sampler reads."""

from dataclasses import dataclass
from typing import Final

from impl.types import bytes32, uint64

DEFAULT_BLOCK_SIZE: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class Dataset:
    """Describe one dataset (seed 000 §0.F)."""

    id: str
    version: str
    hash: bytes32
    cardinality: uint64


@dataclass(frozen=True, slots=True)
class DataSection:
    """Hold the sampler's settings; both may be absent (ruling NA27)."""

    sampler_block_size: uint64 | None = None
    drop_last: bool | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Hold the datasets, the global batch size in samples, and the sampler's settings."""

    datasets: dict[str, Dataset]
    global_batch_size: uint64
    data: DataSection | None = None


def resolve_block_size(manifest: Manifest) -> int:
    """Return the sampler's block size in samples: only an absent one is the default (rulings NA09, NA27)."""
    section = manifest.data or DataSection()
    if section.sampler_block_size is None:
        return DEFAULT_BLOCK_SIZE
    return section.sampler_block_size


def resolve_drop_last(manifest: Manifest) -> bool:
    """Return whether a train epoch drops its short last batch: false where absent (ruling NA27)."""
    section = manifest.data or DataSection()
    if section.drop_last is None:
        return False
    return section.drop_last
