"""What datasets share: spans, masks, strata, tokenizers, and the way onto a device."""

from collections import Counter
from typing import Any

import pytest

from impl.reference.pipeline.codecs import on_device
from impl.reference.pipeline.provider import FileRandom
from impl.reference.pipeline.samples import (
    IGNORED,
    CachedTokenizer,
    CharTokenizer,
    class_counts,
    mask_tokens,
    next_span,
    stratified_indices,
)


@pytest.mark.parametrize(("block", "target"), [(4, None), (4, 4), (4, 1), (4, 6), (1, 1)])
def test_a_target_is_what_follows_its_span(block: int, target: int | None) -> None:
    tokens = list(range(100, 110))
    rng, begun = FileRandom(3), set()
    for _ in range(200):
        x, y = next_span(tokens, block, rng, target)
        assert x == list(range(x[0], x[0] + block))
        assert y == list(range(x[0] + 1, x[0] + 1 + (block if target is None else target)))
        begun.add(x[0])
    # Every place from which span and target fit is drawn, the last one as well.
    assert begun == set(range(100, 110 - max(block, 1 + (block if target is None else target)) + 1))


def test_too_few_tokens_have_no_span() -> None:
    assert next_span([1, 2], 1, FileRandom(0)) == ([1], [2])
    with pytest.raises(ValueError, match="2 tokens"):
        next_span([1, 2], 2, FileRandom(0))


def test_fifteen_in_a_hundred_tokens_are_masked_as_bert_does() -> None:
    tokens = [5 + k % 90 for k in range(40_000)]
    ids, labels = mask_tokens(tokens, mask_token_id=1, vocab_size=100, rng=FileRandom(8), special={5})
    chosen = [k for k, label in enumerate(labels) if label != IGNORED]
    assert all(labels[k] == tokens[k] for k in chosen)
    assert all(ids[k] == tokens[k] for k in range(len(tokens)) if labels[k] == IGNORED)
    assert not any(tokens[k] == 5 for k in chosen)
    assert len(chosen) / len(tokens) == pytest.approx(0.15, abs=0.01)
    fates = Counter("mask" if ids[k] == 1 else "same" if ids[k] == tokens[k] else "any" for k in chosen)
    assert [fates[fate] / len(chosen) for fate in ("mask", "any", "same")] == pytest.approx([0.8, 0.1, 0.1], abs=0.02)


def test_masks_are_new_for_every_draw_and_the_same_for_every_seed() -> None:
    def masked(rng: FileRandom) -> list[int]:
        return mask_tokens(range(50), mask_token_id=99, vocab_size=50, rng=rng, probability=0.5)[0]

    rng = FileRandom(1)
    first, second = masked(rng), masked(rng)
    assert first != second
    assert masked(FileRandom(1)) == first
    assert mask_tokens([7], mask_token_id=9, vocab_size=9, rng=rng, probability=0) == ([7], [IGNORED])


@pytest.mark.parametrize(
    ("sizes", "count", "shares"),
    [([3, 1], 4, [3, 1]), ([1, 1, 1], 4, [2, 1, 1]), ([90, 9, 1], 10, [9, 1, 0]), ([5], 7, [7]), ([2, 3], 0, [0, 0])],
)
def test_classes_are_shared_out_by_the_largest_remainders(sizes: list[int], count: int, shares: list[int]) -> None:
    assert class_counts(sizes, count) == shares


def test_every_batch_has_the_classes_in_their_proportions() -> None:
    labels = ["a"] * 30 + ["b"] * 10
    rng = FileRandom(2)
    orders = set()
    for _ in range(20):
        drawn = stratified_indices(labels, 8, rng)
        assert Counter(labels[index] for index in drawn) == {"a": 6, "b": 2}
        orders.add(tuple(labels[index] for index in drawn))
    assert len(orders) > 5
    with pytest.raises(ValueError, match="nothing"):
        stratified_indices([], 1, rng)


def test_characters_are_numbered_in_order_and_extra_tokens_behind_them() -> None:
    tokenizer = CharTokenizer("banana", extra=["[MASK]"])
    assert tokenizer.stoi == {"a": 0, "b": 1, "n": 2, "[MASK]": 3}
    assert (tokenizer.encode("nab"), tokenizer.decode([1, 3, 0]), tokenizer.vocab_size) == ([2, 0, 1], "b[MASK]a", 4)
    with pytest.raises(KeyError):
        tokenizer.encode("x")


def test_a_cached_text_is_encoded_once_and_only_so_many_are_kept() -> None:
    asked: list[str] = []

    class Noting(CharTokenizer):
        def encode(self, text: str) -> list[int]:
            asked.append(text)
            return super().encode(text)

    tokenizer = CachedTokenizer(Noting("abc"), most_texts=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        tokenizer.encode(text).append(9)
    assert asked == ["a", "b", "c", "b"]
    assert (tokenizer.encode("b"), tokenizer.decode([0]), tokenizer.vocab_size) == ([1], "a", 3)


class Pinnable:
    """A tensor that notes what is done to it."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    def pin_memory(self) -> "Pinnable":
        self.done.append("pinned")
        return self

    def to(self, device: str, non_blocking: bool = False) -> "Pinnable":
        self.done.append((device, non_blocking))
        return self


def test_tensors_go_to_cuda_from_pinned_memory_without_waiting() -> None:
    assert on_device(Pinnable(), "cuda:1").done == ["pinned", ("cuda:1", True)]
    assert on_device(Pinnable(), "cpu").done == [("cpu", False)]
