"""Sampling for language models: a span of tokens, and the tokens that follow each of it."""

from collections.abc import Iterable, Sequence

from impl.reference.pipeline.file_seed import FileRandom
from impl.reference.pipeline.refusal import Refusal


def require_spans(texts: Iterable[Sequence[int]], block_size: int, target_size: int | None = None) -> None:
    """Refuse sizes that one of the texts is too short for: CONFIG_INVALID, before anything is sampled."""
    fewest = min(len(tokens) for tokens in texts)
    longest = max(block_size, 1 + (block_size if target_size is None else target_size))
    if longest > fewest:
        raise Refusal("CONFIG_INVALID", f"a text of {fewest} tokens has no span of {longest}")


def next_span(
    tokens: Sequence[int], block_size: int, rng: FileRandom, target_size: int | None = None
) -> tuple[list[int], list[int]]:
    """Return a random span and the one that begins one token later, which is `target_size` long (default block_size).

    ValueError where the tokens are too few for one span.
    """
    target_size = block_size if target_size is None else target_size
    starts = 1 + len(tokens) - max(block_size, 1 + target_size)
    if starts < 1:
        raise ValueError(f"{len(tokens)} tokens have no span of {block_size} and what follows it")
    start = rng.below(starts)
    return list(tokens[start : start + block_size]), list(tokens[start + 1 : start + 1 + target_size])
