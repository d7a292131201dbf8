"""The machine `Pipeline.Provider`: counting providers by their handles."""

from dataclasses import dataclass
from typing import Final, Literal

from impl.reference.pipeline.counting import CountingProvider
from impl.reference.pipeline.handles import Handles, given, refusals
from impl.reference.pipeline.meta import SPLITS
from impl.types import Value, float64, uint64

OPEN: Final = "Pipeline.Provider.Open"
PRODUCE: Final = "Pipeline.Provider.Produce"
CLOSE: Final = "Pipeline.Provider.Close"
SIZES: Final = ("batch_size", "block_size", "target_size", "batches_per_file", "max_backlog_files")
CONSTRUCTOR: Final = (*SIZES, "sleep_seconds", "seed", "verbose", "codec")


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Hold the constructor's names; `meta` is what build_meta returns, `sampler` what sample_batch counts.

    What is absent has the constructor's default.
    """

    batch_size: uint64
    codec: Literal["npz", "pt"]
    meta: Value
    sampler: Literal["counting"]
    block_size: uint64 | None = None
    target_size: uint64 | None = None
    batches_per_file: uint64 | None = None
    max_backlog_files: uint64 | None = None
    sleep_seconds: float64 | None = None
    seed: uint64 | None = None
    verbose: bool | None = None
    splits: list[str] | None = None


@dataclass(frozen=True, slots=True)
class OpenedProvider:
    """Hold the handle of a new provider."""

    handle: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Hold what one turn of the loop did: `path` is relative to the root."""

    produced: bool
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ClosedProvider:
    """Say that a provider is closed."""


class ProviderMachine:
    """Hold the providers that are open."""

    def __init__(self) -> None:
        self._providers: Handles[CountingProvider] = Handles()

    def open(self, *, root: str, config: ProviderSettings) -> OpenedProvider:
        """Make the folders, write or judge meta.pkl and find each split's next seq; CONFIG_INVALID, META_INVALID."""
        with refusals(OPEN):
            provider = CountingProvider(root, native(config.meta), **given(config, CONSTRUCTOR))
            provider.open(SPLITS if config.splits is None else config.splits)
        return OpenedProvider(self._providers.keep(provider))

    def produce(self, *, handle: str, split: str, now_ms: uint64) -> Turn:
        """Write at most one file; CONFIG_INVALID for a split of no provider, COUNTER_OVERFLOW, CONTRACT_VIOLATION."""
        provider = self._providers.find(handle, PRODUCE)
        with refusals(PRODUCE):
            path = provider.turn(split, now_ms)
        if path is None:
            return Turn(produced=False)
        return Turn(produced=True, path=path.relative_to(provider.root).as_posix())

    def close(self, *, handle: str) -> ClosedProvider:
        """Forget a provider; its files stay."""
        self._providers.close(handle, CLOSE)
        return ClosedProvider()


def native(value: Value) -> object:
    """Return a value as metadata holds it: a map with keys that are no texts becomes a dict as well."""
    match value:
        case list():
            return [native(item) for item in value]
        case dict():
            return {key: native(item) for key, item in value.items()}
        case tuple():
            return _map_of(value)
    return value


def _map_of(pairs: tuple[tuple[object, object], ...]) -> object:
    try:
        return {native(key): native(item) for key, item in pairs}
    except TypeError:
        # A key that is a list or a map: no metadata, and refused as such.
        return pairs
