"""BERT-style masked language model over words: 15 % of the tokens are to be found again, the other labels are -100."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from example_text import text_of

from tallystick import DataProvider
from tallystick.queue import FileRandom, Refusal, mask_tokens

SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[MASK]"]
PAD, CLS, SEP, MASK = range(4)


class BertProvider(DataProvider):
    """Sample sentences as [CLS] words [SEP], padded to `block_size`."""

    def __init__(self, *arguments: Any, **config: Any) -> None:
        super().__init__(*arguments, **config)
        if self.config.block_size == 1:
            raise Refusal("CONFIG_INVALID", "a block of one token has no room for [CLS] and [SEP]")
        words = sorted(set((text_of("train") + text_of("val")).replace(".", " .").split()))
        self.stoi = {word: number for number, word in enumerate([*SPECIAL, *words])}
        self.sentences = {split: text_of(split).splitlines() for split in ("train", "val")}

    def build_meta(self) -> dict[str, Any]:
        shape = [self.config.block_size]
        return {
            "dataset_name": "bert_mlm",
            "training_type": "MLM",
            "vocab_size": len(self.stoi),
            "target_size": self.config.block_size,
            "batch_schema": [
                {"name": "input_ids", "dtype": "int64", "shape": shape, "role": "input"},
                {"name": "attention_mask", "dtype": "int8", "shape": shape, "role": "mask"},
                {"name": "labels", "dtype": "int64", "shape": shape, "role": "target"},
            ],
            "split_info": {split: {"sentences": len(made)} for split, made in self.sentences.items()},
            "stoi": self.stoi,
            "pad_token_id": PAD,
            "cls_token_id": CLS,
            "mask_token_id": MASK,
        }

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        sentences = self.sentences[split.partition("_")[0]]
        chosen = [self.tokens(sentences[rng.below(len(sentences))]) for _ in range(self.config.batch_size)]
        masked = [
            mask_tokens(row, mask_token_id=MASK, vocab_size=len(self.stoi), rng=rng, special={PAD, CLS, SEP})
            for row in chosen
        ]
        return {
            "input_ids": np.array([ids for ids, _ in masked]),
            "attention_mask": (np.array(chosen) != PAD).astype(np.int8),
            "labels": np.array([labels for _, labels in masked]),
        }

    def tokens(self, sentence: str) -> list[int]:
        """Return a sentence as block_size tokens; what does not fit is cut."""
        size = self.config.block_size or 0
        words = [self.stoi[word] for word in sentence.replace(".", " .").split()][: size - 2]
        row = [CLS, *words, SEP]
        return row + [PAD] * (size - len(row))
