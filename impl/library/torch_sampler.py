"""The deterministic sampler as the batch sampler of a PyTorch DataLoader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any, Final

from impl.arguments import Judge
from impl.vectorized.preimages import octets
from impl.vectorized.records import OPERATOR, Cursor
from impl.vectorized.sampler import Sampler

try:
    from torch.utils.data import Sampler as TorchSampler
except ModuleNotFoundError as missing:
    said = "tallystick.torch needs PyTorch: pip install 'tallystick[torch]'"
    raise ModuleNotFoundError(said, name="torch") from missing

_ARGUMENTS: Final = Judge(OPERATOR)
# What may be another one when a run goes on: where it is, and how many ranks share the work.
_FREE: Final = frozenset(("rank", "world_size", "cursor"))
_STATE: Final = ("epoch", "global_index", "settings")


class BatchSampler(TorchSampler[list[int]]):
    """Give a DataLoader the batches of one rank as lists of Python integers, one epoch in each iteration.

    `sampler` is a tallystick.Sampler of this rank. Iterating begins at its cursor and ends with the epoch; the next
    iteration is the next epoch. One that is not finished begins again. `len` counts the batches of an iteration. A
    short last batch may leave a rank without samples, which `default_collate` does not take: give the sampler
    `drop_last=True`.

    `state_dict()` is the place after the last batch that was given out. A DataLoader with workers asks for
    `prefetch_factor` times `num_workers` batches ahead: give `state_dict(consumed)` the number of batches that the
    training loop has taken in this iteration. `load_state_dict` goes on there, also in the middle of an epoch, with any
    world size that divides the batch size.

    Raises ContractFailure with REPLAY_DIVERGENCE for the state of another dataset, seed, batch size or block size, and
    with CONTRACT_VIOLATION for what is no state. Source: seed 000 §6, §10; contract `UML_OS.Data.NextBatch_v2`.

    >>> import tallystick
    >>> from tallystick.torch import BatchSampler
    >>> from torch.utils.data import DataLoader
    >>> sampler = tallystick.Sampler(cardinality=10, global_batch_size=4, seed_token=bytes(32))
    >>> loader = DataLoader([10 * n for n in range(10)], batch_sampler=BatchSampler(sampler))
    >>> [batch.tolist() for batch in loader]
    [[70, 40, 10, 80], [50, 20, 90, 60], [30, 0]]
    """

    def __init__(self, sampler: Sampler) -> None:
        _ARGUMENTS.instance("sampler", sampler, Sampler, "a tallystick.Sampler")
        self.sampler = sampler
        # Where the next iteration begins, where the present one began, and after which batch it is.
        self._begin = self._origin = self._place = sampler.cursor

    def __iter__(self) -> Iterator[list[int]]:
        self._origin = self._place = self._begin
        for batch in self.sampler.batches(self._origin):
            self._place = batch.cursor_next
            if self._place.epoch > self._origin.epoch:
                # Before the last batch is out: a loop that counts the batches does not ask for another one.
                self._begin = self._place
            yield list(batch)

    def __len__(self) -> int:
        return len(replace(self.sampler, cursor=self._begin))

    def state_dict(self, consumed: int | None = None) -> dict[str, Any]:
        """Return the place as plain values: after `consumed` batches of this iteration, or after the last given out."""
        cursor = self._place
        if consumed is not None:
            cursor = self._origin
            for _ in range(_ARGUMENTS.integer("consumed", consumed)):
                cursor = self.sampler.cursor_after(cursor)
        return {"epoch": cursor.epoch, "global_index": cursor.global_index, "settings": self._settings()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on at a place, where it is one of the same order of samples; otherwise nothing changes."""
        judge = _ARGUMENTS
        state = judge.mapping("state_dict", state_dict, "a mapping, as state_dict returns it")
        if state.keys() != set(_STATE):
            raise judge.failure(f"state_dict must have the keys {', '.join(_STATE)}: got {sorted(state)}")
        given, own = judge.mapping("settings", state["settings"], "a mapping"), self._settings()
        for name in own:
            if given.get(name) != own[name]:
                what = f"{name} must be that of the saved run: got {own[name]!r}, saved was {given.get(name)!r}"
                raise judge.failure(f"{what}; its batches would be other ones", code="REPLAY_DIVERGENCE")
        cursor = Cursor(state["epoch"], state["global_index"])
        # A place of this dataset, or a refusal.
        self._begin = self._origin = self._place = replace(self.sampler, cursor=cursor).cursor

    def _settings(self) -> dict[str, Any]:
        """Return what decides the order of the samples, as plain values; of the seeds only their hash."""
        of_samples = [one.name for one in fields(Sampler) if one.init and one.name not in _FREE]
        settings = {name: getattr(self.sampler, name) for name in of_samples}
        seeds = octets(settings.pop("seed_token")) + octets(settings.pop("manifest_hash"))
        return {**settings, "seed": sha256(seeds).hexdigest()}
