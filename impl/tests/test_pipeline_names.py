"""Names of batch files: what is visible, in which order."""

import pytest

from impl.reference.pipeline.queue_folder import (
    final_name,
    is_split,
    is_temporary,
    parse_batch_name,
    temporary_name,
)


def order(*texts: str) -> list[str]:
    names = [name for text in texts if (name := parse_batch_name(f"{text}.npz", ".npz"))]
    return [name.text.removesuffix(".npz") for name in sorted(names, key=lambda name: name.order)]


def test_files_stand_in_the_order_of_their_numbers() -> None:
    assert order("10-000000-1", "9-000001-1") == ["9-000001-1", "10-000000-1"]
    assert order("5-1000000-1", "5-999999-1") == ["5-999999-1", "5-1000000-1"]


def test_equal_numbers_stand_in_the_order_of_their_bytes() -> None:
    assert order("5-1-2", "5-01-3", "05-1-1") == ["05-1-1", "5-01-3", "5-1-2"]


@pytest.mark.parametrize(
    "text",
    [
        "a.npz",
        "1-2.npz",
        "1-2-3-4.npz",
        "1-2-3.pt",
        "1-2-3.npz.npz",
        "1-2-3.npz\n",
        ".tmp-1-2.npz",
        "1--3.npz",
        "١-2-3.npz",
    ],
)
def test_only_three_decimal_numbers_and_the_ending_are_visible(text: str) -> None:
    assert parse_batch_name(text, ".npz") is None


def test_names_have_the_form_of_the_seed() -> None:
    assert final_name(1700000000000, 7, 100, ".pt") == "1700000000000-000007-100.pt"
    assert final_name(1, 1234567, 1, ".npz") == "1-1234567-1.npz"
    assert temporary_name(1700000000000, 7, ".pt") == ".tmp-1700000000000-000007.pt"
    assert is_temporary(".tmp-1-000000.npz")


def test_a_split_is_train_or_val_or_a_rank_of_either() -> None:
    assert all(is_split(text) for text in ("train", "val", "train_rank0", "val_rank12"))
    assert not any(
        is_split(text) for text in ("quarantine", "", "..", "train/x", "train_rank", "train_rank01", "Train")
    )
