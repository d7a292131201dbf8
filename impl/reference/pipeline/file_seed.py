"""The random numbers of one batch file: the same for the same seed, split and seq, in every process."""

from random import Random
from typing import Any, Final
from zlib import crc32

from impl.reference.pipeline.arrays import library

MODULUS: Final = 2**64
_MULTIPLIER: Final = 1000003


def file_seed(seed: int, split: str, seq: int) -> int:
    """Return the uint64 seed of a file (requirement Q13; ruling QA02); hash() would differ from process to process."""
    return ((seed * _MULTIPLIER) ^ crc32(split.encode("utf-8")) ^ seq) % MODULUS


class FileRandom(Random):
    """Draw the random numbers of one file; `file_seed` seeds any other generator (ruling QA03).

    `batch_index` is the number of the batch that is being sampled, from 0.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.file_seed = seed
        self.batch_index = 0

    def below(self, limit: int) -> int:
        """Draw an integer from 0 to limit - 1 from one double, which no version of Python draws otherwise."""
        return int(self.random() * limit)

    def generator(self) -> Any:
        """Return a `torch.Generator` with the file's seed; two calls give two equal ones."""
        return library("torch").Generator().manual_seed(self.file_seed)
