"""From global virtual positions of a train epoch to sample indices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from impl.vectorized.affine import AffineBlock, Evaluation, affine_block, affine_blocks
from impl.vectorized.arrays import Positions, Recent, Words
from impl.vectorized.philox import stream_draws


def shuffled_blocks(num_blocks: int, seed: bytes) -> Words:
    """Return the shuffled block ids, shape (num_blocks,), num_blocks >= 1 (seed 000 §5; ruling NA04)."""
    targets = _targets(num_blocks, seed)
    previous = _previous_same_target(targets)
    held = _held_before_own_step(targets)
    order = np.where(previous < 0, targets, held.take(previous, mode="wrap"))
    return order.astype(np.uint64)


def _targets(num_blocks: int, seed: bytes) -> Positions:
    """Return j for every step; the last place has no step of its own and counts as exchanged with itself."""
    steps = np.arange(num_blocks, dtype=np.uint64)
    targets = stream_draws(seed, num_blocks - 1)
    targets %= np.uint64(num_blocks) - steps[:-1]
    targets += steps[:-1]
    return np.append(targets, steps[-1:]).astype(np.intp)


def _previous_same_target(targets: Positions) -> Positions:
    """Return for every step the latest earlier step with the same target, or -1.

    An assignment through repeated indices keeps the last value, so one scatter finds the last step of every target;
    without those steps a second scatter finds their predecessors, and so on.
    """
    previous = np.full(targets.size, -1, np.intp)
    latest = np.empty(targets.size, np.intp)
    steps = np.arange(targets.size, dtype=np.intp)
    latest[targets] = steps
    while True:
        owner = latest.take(targets)
        earlier = np.flatnonzero(owner != steps)
        if not earlier.size:
            return previous
        steps, targets = steps.take(earlier), targets.take(earlier)
        previous[owner.take(earlier)] = steps
        latest[targets] = steps


def _held_before_own_step(targets: Positions) -> Positions:
    """Return for every place t the block id that it held just before step t."""
    held = np.arange(targets.size, dtype=np.intp)
    moving = np.flatnonzero(targets != held)
    held[targets.take(moving)] = moving
    while True:
        further = held.take(held)
        if np.array_equal(further, held):
            return held
        held = further


# All blocks at once cost about 130 us more than one block, each block alone about 15 us.
MANY_BLOCKS: Final = 8

ORDERS_BYTES: Final = 4 << 20
MAPS_KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class Epoch:
    """Name one train epoch: its seed, the number of samples and the size of the full blocks.

    `full_blocks` counts the blocks that the shuffle moves; a short tail stays last (requirement N12).
    """

    seed: bytes
    cardinality: int
    block_size: int
    full_blocks: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Count the full blocks once."""
        object.__setattr__(self, "full_blocks", self.cardinality // self.block_size)


class Placement:
    """Compute the indices of consecutive positions, remembering block orders and block maps."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._orders: Recent[tuple[bytes, int], Words] = Recent(ORDERS_BYTES, lambda order: order.nbytes)
        self._maps: Recent[tuple[bytes, int, int, int], AffineBlock] = Recent(MAPS_KEPT, lambda _: 1)

    def block_order(self, seed: bytes, num_blocks: int) -> Words:
        """Return the shuffled block ids, read-only, shape (num_blocks,), num_blocks >= 1 (seed 000 §5)."""
        order = self._orders.get((seed, num_blocks))
        if order is None:
            order = self._orders.keep((seed, num_blocks), shuffled_blocks(num_blocks, seed))
            order.flags.writeable = False
        return order

    def block_map(self, epoch: Epoch, block_id: int) -> AffineBlock:
        """Return the affine map of one block, whose start is below the cardinality (seed 000 §5)."""
        key = (epoch.seed, block_id, epoch.block_size, epoch.cardinality)
        found = self._maps.get(key)
        if found is None:
            found = affine_block(block_id, epoch.block_size, epoch.seed, epoch.cardinality)
            self._maps.keep(key, found)
        return found

    def indices(self, epoch: Epoch, first: int, stop: int) -> Words:
        """Return the indices of the positions first <= p < stop <= cardinality, shape (stop - first,) (seed 000 §6)."""
        out = np.empty(max(stop - first, 0), np.uint64)
        block_size, full_blocks = epoch.block_size, epoch.full_blocks
        at = 0
        if full_blocks and out.size // block_size >= MANY_BLOCKS:
            at = max(0, min(stop, full_blocks * block_size) - first)
            self._fill_blocks(epoch, first, out[:at])
        while at < out.size:
            place, local = divmod(first + at, block_size)
            block_id = int(self.block_order(epoch.seed, full_blocks)[place]) if place < full_blocks else place
            block = self.block_map(epoch, block_id)
            count = min(out.size - at, block.length - local)
            self._evaluation.fill(block, local, out[at : at + count])
            at += count
        return out

    def _fill_blocks(self, epoch: Epoch, first: int, out: Words) -> None:
        """Set `out` to the indices of positions that all lie in full blocks: one row per block, ends cut off."""
        block_size = epoch.block_size
        place, local = divmod(first, block_size)
        places = -(-(local + out.size) // block_size)
        block_ids = self.block_order(epoch.seed, epoch.full_blocks)[place : place + places]
        multipliers, offsets = affine_blocks(block_ids, block_size, epoch.seed)
        rows: Words = np.multiply.outer(multipliers, np.arange(block_size, dtype=np.uint64))
        rows += offsets[:, None]
        if block_size & (block_size - 1) == 0:
            rows &= np.uint64(block_size - 1)
        else:
            rows %= np.uint64(block_size)
        rows += (block_ids * np.uint64(block_size))[:, None]
        out[:] = rows.reshape(-1)[local : local + out.size]
