"""Classification of whole sentences: every batch has the classes in the proportions of the whole."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from example_text import sentences

from tallystick import DataProvider
from tallystick.queue import CachedTokenizer, CharTokenizer, FileRandom, stratified_indices

PAD = 0


class ClassificationProvider(DataProvider):
    """Sample sentences with their mood; the input is as long as `block_size`, or 64 characters."""

    def __init__(self, *arguments: Any, **config: Any) -> None:
        super().__init__(*arguments, **config)
        made = sentences(400)
        self.samples = {"train": made[:360], "val": made[360:]}
        self.labels = sorted({mood for _, mood in made})
        self.tokenizer = CachedTokenizer(CharTokenizer("".join(sentence for sentence, _ in made)))
        self.length = self.config.block_size or 64

    def build_meta(self) -> dict[str, Any]:
        return {
            "dataset_name": "classification",
            "training_type": "CLASSIFICATION",
            "batch_schema": [
                {"name": "input_ids", "dtype": "int64", "shape": [self.length], "role": "input"},
                {"name": "label", "dtype": "int64", "shape": [], "role": "target"},
            ],
            "split_info": {split: {"sentences": len(made)} for split, made in self.samples.items()},
            "label_map": dict(enumerate(self.labels)),
            "pad_token_id": PAD,
        }

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        samples = self.samples[split.partition("_")[0]]
        chosen = stratified_indices([mood for _, mood in samples], self.config.batch_size, rng)
        rows = np.full((len(chosen), self.length), PAD, dtype=np.int64)
        for row, index in zip(rows, chosen, strict=True):
            tokens = [1 + token for token in self.tokenizer.encode(samples[index][0])][: self.length]
            row[: len(tokens)] = tokens
        return {"input_ids": rows, "label": np.array([self.labels.index(samples[index][1]) for index in chosen])}
