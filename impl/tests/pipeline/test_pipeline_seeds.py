"""The random numbers of one file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from impl.reference.pipeline.provider import FileRandom, file_seed

PINNED = [
    (1337, "train", 0, 332917576),
    (1337, "train", 1, 332917577),
    (1337, "val", 0, 3631134094),
    (2**64 - 1, "train", 0, 18446744072159123742),
]


@pytest.mark.parametrize(("seed", "split", "seq", "expected"), PINNED)
def test_a_file_has_the_pinned_seed(seed: int, split: str, seq: int, expected: int) -> None:
    assert file_seed(seed, split, seq) == expected


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_a_file_has_the_same_seed_in_every_process(hash_seed: str) -> None:
    code = "from impl.reference.pipeline.provider import file_seed; print(file_seed(1337, 'val', 0))"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[3])}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "3631134094"


def test_equal_seeds_draw_equal_numbers() -> None:
    assert [FileRandom(5).below(100) for _ in range(3)] == [FileRandom(5).below(100)] * 3
    assert [FileRandom(seed).below(2**32) for seed in (1, 2)] == [577090034, 4106135931]
