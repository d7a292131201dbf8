"""The numbers of a provider, judged before it does anything."""

from dataclasses import dataclass
from sys import float_info

from impl.reference.pipeline.file_seed import MODULUS
from impl.reference.pipeline.meta import is_size
from impl.reference.pipeline.plain_value import shown
from impl.reference.pipeline.refusal import Refusal


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """Hold the constructor's numbers; everything but `sleep_seconds` is a count (seed 001, DataProvider Base API)."""

    batch_size: int
    block_size: int | None
    target_size: int | None
    batches_per_file: int
    max_backlog_files: int
    sleep_seconds: float
    seed: int

    def __post_init__(self) -> None:
        """Refuse a number that no provider can work with: CONFIG_INVALID (requirement Q18)."""
        for name in ("batch_size", "batches_per_file", "max_backlog_files"):
            if not is_size(getattr(self, name)):
                raise _invalid(name, getattr(self, name))
        for name in ("block_size", "target_size"):
            if getattr(self, name) is not None and not is_size(getattr(self, name)):
                raise _invalid(name, getattr(self, name))
        if type(self.sleep_seconds) not in (int, float) or not 0 < self.sleep_seconds <= float_info.max:
            raise _invalid("sleep_seconds", self.sleep_seconds)
        if type(self.seed) is not int or not 0 <= self.seed < MODULUS:
            raise _invalid("seed", self.seed)


def _invalid(name: str, number: object) -> Refusal:
    return Refusal("CONFIG_INVALID", f"{name} cannot be {shown(number)}")
