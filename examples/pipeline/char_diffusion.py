"""Character diffusion: x is a corrupted span, y the span; how much is corrupted goes by stages."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from example_text import text_of

from tallystick import DataProvider
from tallystick.queue import CharTokenizer, FileRandom, mask_tokens, next_span, require_spans


@dataclass(frozen=True, slots=True)
class Stage:
    """Hold how often a stage is chosen, and the range of its masking probability."""

    weight: float
    least: float
    most: float


STAGES = (Stage(0.5, 0.05, 0.2), Stage(0.3, 0.2, 0.5), Stage(0.2, 0.5, 0.9))


class CharDiffusionProvider(DataProvider):
    """Choose a stage for every batch and a masking probability for every span; targets are the whole spans."""

    def __init__(self, *arguments: Any, **config: Any) -> None:
        super().__init__(*arguments, **config)
        self.tokenizer = CharTokenizer(text_of("train") + text_of("val"), extra=["[MASK]"])
        self.tokens = {split: self.tokenizer.encode(text_of(split)) for split in ("train", "val")}
        if self.config.block_size is not None:
            require_spans(self.tokens.values(), self.config.block_size)
        self.mask_token_id = self.tokenizer.stoi["[MASK]"]

    def build_meta(self) -> dict[str, Any]:
        shape = [self.config.block_size]
        return {
            "dataset_name": "char_diffusion",
            "training_type": "MLM",
            "vocab_size": self.tokenizer.vocab_size,
            "target_size": self.config.block_size,
            "batch_schema": [
                {"name": "x", "dtype": "int64", "shape": shape, "role": "input"},
                {"name": "y", "dtype": "int64", "shape": shape, "role": "target"},
            ],
            "split_info": {split: {"tokens": len(tokens)} for split, tokens in self.tokens.items()},
            "mask_token_id": self.mask_token_id,
            "stages": [asdict(stage) for stage in STAGES],
            "stoi": self.tokenizer.stoi,
            "itos": self.tokenizer.itos,
        }

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        stage = chosen_stage(rng)
        tokens = self.tokens[split.partition("_")[0]]
        corrupted, targets = [], []
        for _ in range(self.config.batch_size):
            span, _ = next_span(tokens, self.config.block_size or 0, rng)
            probability = stage.least + rng.random() * (stage.most - stage.least)
            masked, _ = mask_tokens(
                span,
                mask_token_id=self.mask_token_id,
                vocab_size=self.mask_token_id,  # never a mask by chance
                rng=rng,
                probability=probability,
            )
            corrupted.append(masked)
            targets.append(span)
        return {"x": np.array(corrupted), "y": np.array(targets)}


def chosen_stage(rng: FileRandom) -> Stage:
    """Draw a stage by its weight."""
    point = rng.random() * sum(stage.weight for stage in STAGES)
    for stage in STAGES:
        point -= stage.weight
        if point < 0:
            return stage
    return STAGES[-1]
