"""The three stages and the names that each gives to its way of sampling."""

from typing import Final

TRAIN: Final = "train"
EVAL: Final = "eval"
INFER: Final = "infer"
STAGES: Final = (TRAIN, EVAL, INFER)


def is_shuffled(stage_type: str) -> bool:
    """Return whether a stage shuffles: only train does (seed 000 §6.8)."""
    return stage_type == TRAIN


def subsampling_mode(stage_type: str) -> str:
    """Return the mode that a privacy accountant must assume (seed 000 §0.I)."""
    return "SHUFFLE_WITHOUT_REPLACEMENT" if is_shuffled(stage_type) else "NONE"


def sampling_mode(stage_type: str) -> str:
    """Return the versioned name of the sampling rule (seed 000 §0.I)."""
    return "SHUFFLE_WITHOUT_REPLACEMENT_BLOCK_AFFINE_V1" if is_shuffled(stage_type) else "SEQUENTIAL_V1"
