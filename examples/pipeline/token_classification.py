"""Classification of every word of a sentence: subject, verb, object, manner; padding has the label -100."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from example_text import MOODS, OBJECTS, SUBJECTS, VERBS, sentences

from tallystick import DataProvider
from tallystick.queue import IGNORED, FileRandom

PAD = 0
LABELS = ["SUBJECT", "VERB", "OBJECT", "MANNER"]
PARTS = [SUBJECTS, VERBS, OBJECTS, [manner for mood in MOODS.values() for manner in mood]]


class TokenClassificationProvider(DataProvider):
    """Sample sentences of at most `block_size` words, with one label for each."""

    def __init__(self, *arguments: Any, **config: Any) -> None:
        super().__init__(*arguments, **config)
        made = [labelled(sentence) for sentence, _ in sentences(400)]
        self.samples = {"train": made[:360], "val": made[360:]}
        words = sorted({word for sample in made for word, _ in sample})
        self.stoi = {word: number for number, word in enumerate(["[PAD]", *words])}

    def build_meta(self) -> dict[str, Any]:
        shape = [self.config.block_size]
        return {
            "dataset_name": "token_classification",
            "training_type": "TOKEN_CLASSIFICATION",
            "vocab_size": len(self.stoi),
            "batch_schema": [
                {"name": "input_ids", "dtype": "int64", "shape": shape, "role": "input"},
                {"name": "attention_mask", "dtype": "int8", "shape": shape, "role": "mask"},
                {"name": "labels", "dtype": "int64", "shape": shape, "role": "target"},
            ],
            "split_info": {split: {"sentences": len(made)} for split, made in self.samples.items()},
            "label_map": dict(enumerate(LABELS)),
            "stoi": self.stoi,
            "pad_token_id": PAD,
        }

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        samples = self.samples[split.partition("_")[0]]
        shape = (self.config.batch_size, self.config.block_size or 0)
        ids, labels = np.full(shape, PAD, dtype=np.int64), np.full(shape, IGNORED, dtype=np.int64)
        for k in range(self.config.batch_size):
            sample = samples[rng.below(len(samples))][: shape[1]]
            ids[k, : len(sample)] = [self.stoi[word] for word, _ in sample]
            labels[k, : len(sample)] = [label for _, label in sample]
        return {"input_ids": ids, "attention_mask": (ids != PAD).astype(np.int8), "labels": labels}


def labelled(sentence: str) -> list[tuple[str, int]]:
    """Return the words of a sentence with the part that each belongs to."""
    rest = sentence.removesuffix(".")
    found = []
    for label, phrases in enumerate(PARTS):
        phrase = max((phrase for phrase in phrases if rest.startswith(phrase)), key=len)
        found += [(word, label) for word in phrase.split()]
        rest = rest[len(phrase) :].lstrip()
    return found
