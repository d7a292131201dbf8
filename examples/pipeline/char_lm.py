"""Character-level language model: x is a span of the text, y the same span one character later."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from example_text import text_of

from tallystick import DataProvider
from tallystick.queue import CharTokenizer, FileRandom, next_span, require_spans


class CharProvider(DataProvider):
    """Sample spans of `block_size` characters; `--block_size` and `--target_size` are required."""

    def __init__(self, *arguments: Any, **config: Any) -> None:
        super().__init__(*arguments, **config)
        self.tokenizer = CharTokenizer(text_of("train") + text_of("val"))
        self.tokens = {split: self.tokenizer.encode(text_of(split)) for split in ("train", "val")}
        if self.config.block_size is not None:
            require_spans(self.tokens.values(), self.config.block_size, self.config.target_size)

    def build_meta(self) -> dict[str, Any]:
        return {
            "dataset_name": "char_lm",
            "training_type": "LM",
            "vocab_size": self.tokenizer.vocab_size,
            "batch_schema": [
                {"name": "x", "dtype": "int64", "shape": [self.config.block_size], "role": "input"},
                {"name": "y", "dtype": "int64", "shape": [self.config.target_size], "role": "target"},
            ],
            "split_info": {split: {"tokens": len(tokens)} for split, tokens in self.tokens.items()},
            "stoi": self.tokenizer.stoi,
            "itos": self.tokenizer.itos,
        }

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        block, target = self.config.block_size or 0, self.config.target_size
        tokens = self.tokens[split.partition("_")[0]]
        spans = [next_span(tokens, block, rng, target) for _ in range(self.config.batch_size)]
        return {"x": np.array([x for x, _ in spans]), "y": np.array([y for _, y in spans])}
