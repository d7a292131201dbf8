"""The provider whose rows anybody can compute, so that two providers in two languages fill equal files."""

from collections.abc import Mapping
from math import prod
from typing import Any, Final
from zlib import crc32

from impl.reference.pipeline.file_seed import FileRandom
from impl.reference.pipeline.meta import schema_in
from impl.reference.pipeline.provider import DataProviderBase
from impl.reference.pipeline.tensors import packed
from impl.types import Tensor

# A prime that every dtype can hold: no count is lost in a cast, float16 and int8 included.
MODULUS: Final = 127


def counts(seed: int, field: str, start: int, count: int) -> list[int]:
    """Return elements start.. of a field of a file: (file seed + crc32(name) + k) mod 127."""
    first = seed + crc32(field.encode("utf-8"))
    return [(first + k) % MODULUS for k in range(start, start + count)]


class CountingProvider(DataProviderBase):
    """Fill every field with counts, in C order over the file's tensor."""

    def __init__(self, data_dir: str, meta: Any, **config: Any) -> None:
        super().__init__(data_dir, **config)
        self._meta = meta

    def build_meta(self) -> dict[str, Any]:
        """Return the metadata that it was given."""
        meta: dict[str, Any] = self._meta
        return meta

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Tensor]:
        """Count on from where the file's last batch ended."""
        batch = {}
        for field in schema_in(self._meta):
            size = self.config.batch_size * prod(field.shape)
            numbers = counts(rng.file_seed, field.name, rng.batch_index * size, size)
            batch[field.name] = packed(field.dtype, (self.config.batch_size, *field.shape), numbers)
        return batch
