"""Dynamic masking for masked language models: new masks for every batch."""

from collections.abc import Collection, Sequence
from typing import Final

from impl.reference.pipeline.file_seed import FileRandom

IGNORED: Final = -100
_AS_MASK: Final = 0.8
_AS_ANY: Final = 0.9


def mask_tokens(
    tokens: Sequence[int],
    *,
    mask_token_id: int,
    vocab_size: int,
    rng: FileRandom,
    probability: float = 0.15,
    special: Collection[int] = (),
) -> tuple[list[int], list[int]]:
    """Return input ids and labels: each token is chosen with the probability, special ones never.

    Of the chosen, 80 % become the mask, 10 % any token, 10 % stay; labels hold the chosen tokens, else -100.
    """
    input_ids, labels = [], []
    for token in tokens:
        if token in special or rng.random() >= probability:
            input_ids.append(token)
            labels.append(IGNORED)
            continue
        fate = rng.random()
        if fate < _AS_MASK:
            input_ids.append(mask_token_id)
        elif fate < _AS_ANY:
            input_ids.append(rng.below(vocab_size))
        else:
            input_ids.append(token)
        labels.append(token)
    return input_ids, labels
